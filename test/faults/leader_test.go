// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// stopFor is how long a leader is stopped: longer than its lease of 15 s.
	stopFor = 20 * time.Second
	// handOverLimit is how long the lease may be without a holder after SIGTERM.
	handOverLimit = 2 * time.Second
)

// pair is two operators that elect a leader.
type pair struct {
	leader, standby *operator
}

// electing are the arguments of operators that elect a leader.
var electing = []string{"--leader-elect", "--leader-elect-namespace=" + controlplane.OperatorNamespace}

func startPair(t *testing.T, namespaces []string) *pair {
	t.Helper()
	p := &pair{leader: startIn(t, namespaces, electing...)}
	leads(t, p.leader, time.Time{}, settleTimeout)
	p.standby = startIn(t, namespaces, electing...)
	return p
}

// TestLeader_KeepsToItsLease has all tests of leaders, since they share the lease.
func TestLeader_KeepsToItsLease(t *testing.T) {
	overlap(t)
	t.Run("corrupt lease", corruptLeases)
	namespaces := newNamespaces(t, 5)
	p := startPair(t, namespaces)
	var caches []*cachev1alpha1.Memcached
	for _, namespace := range namespaces {
		mc := newMemcached(t, namespace, specOf(1))
		settled(t, mc)
		caches = append(caches, mc)
	}
	t.Run("SIGSTOP", func(t *testing.T) { stopLeaders(t, p, caches) })
	t.Run("SIGTERM", func(t *testing.T) { terminateLeaders(t, p, caches) })
}

// leads waits until o has written the lease after that moment, limit at most, and returns when
// that was answered.
func leads(t *testing.T, o *operator, after time.Time, limit time.Duration) time.Time {
	t.Helper()
	var at time.Time
	testenv.Within(t, limit, "the operator should lead", func(context.Context) (bool, error) {
		writes := o.Requests(func(r *proxy.Request) bool {
			return r.IsLease() && r.IsWrite() && r.Succeeded() && r.Received.After(after) && !r.Answered.IsZero()
		})
		if len(writes) > 0 {
			at = writes[0].Answered
		}
		return len(writes) > 0, nil
	})
	return at
}

// swap starts the operator that led again, as the standby.
func (p *pair) swap(t *testing.T) {
	t.Helper()
	p.leader, p.standby = p.standby, p.leader
	p.standby.restart()
	p.standby.process.Ready(t)
}

// stopLeaders stops the leader again and again.
func stopLeaders(t *testing.T, p *pair, caches []*cachev1alpha1.Memcached) {
	figure := measure(t, "R7 leader stopped for 20 s: no write without the lease")
	atWork, inRenewal := form(10, 1), form(3, 1)
	writes, longest := 0, time.Duration(0)
	for round := range atWork + inRenewal {
		name := fmt.Sprint("at work ", round)
		if round >= atWork {
			name = fmt.Sprint("in a renewal ", round-atWork)
		}
		t.Run(name, func(t *testing.T) {
			wrote, ended := stopLeader(t, p, caches, 2+2*round, round >= atWork)
			writes, longest = writes+wrote, max(longest, ended)
		})
		figure.set("%d stops, %d writes without the lease, ended %.1f s after SIGCONT at most", round+1, writes, longest.Seconds())
		if t.Failed() {
			return
		}
	}
}

// stopLeader stops the leader while Memcacheds are edited, or while it renews its lease, lets it go on, and
// returns how much it wrote then, and how soon it ended.
func stopLeader(t *testing.T, p *pair, caches []*cachev1alpha1.Memcached, edits int, inRenewal bool) (wrote int, ended time.Duration) {
	t.Helper()
	stopped := p.leader
	if inRenewal {
		stopInRenewal(t, stopped)
	} else {
		for _, mc := range caches {
			editTo(t, mc, edits)
		}
		testenv.NoError(t, stopped.process.Signal(syscall.SIGSTOP))
	}
	since := time.Now()
	for _, mc := range caches {
		editTo(t, mc, edits+1)
	}
	leads(t, p.standby, since, stopFor)
	last(t, time.Until(since.Add(stopFor)))
	resumed := time.Now()
	testenv.NoError(t, stopped.process.Signal(syscall.SIGCONT))
	if status := stopped.process.End(t); status == 0 {
		t.Errorf("the leader that lost its lease exits with %d", status)
	}
	ended = time.Since(resumed)
	// A renewal on its way when the leader was stopped is a conflict.
	after := stopped.Requests(func(r *proxy.Request) bool {
		return r.IsWrite() && (!r.IsLease() || r.Succeeded()) && r.Received.After(resumed)
	})
	for _, r := range after {
		t.Errorf("%s after SIGCONT, a leader without a lease: %s", r.Received.Sub(resumed), r.String())
	}
	eventually(t, "all should settle", func(ctx context.Context) (bool, error) { return allSettled(ctx, caches) })
	p.swap(t)
	return len(after), ended
}

// stopInRenewal stops o when its next renewal has arrived. That is never answered, so that o finds its time over
// when it goes on, without a look at who holds the lease.
func stopInRenewal(t *testing.T, o *operator) {
	t.Helper()
	arrived, end := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	o.SetHooks(proxy.Hooks{BeforeLease: func(*proxy.Request) {
		if held.CompareAndSwap(false, true) {
			close(arrived)
			<-end
		}
	}})
	t.Cleanup(func() {
		o.SetHooks(proxy.Hooks{})
		close(end)
	})
	eventually(t, "the leader should renew its lease", func(ctx context.Context) (bool, error) {
		select {
		case <-arrived:
			return true, nil
		default:
			return false, nil
		}
	})
	testenv.NoError(t, o.process.Signal(syscall.SIGSTOP))
}

// terminateLeaders terminates the leader again and again.
func terminateLeaders(t *testing.T, p *pair, caches []*cachev1alpha1.Memcached) {
	figure := measure(t, "R7 hand-over on SIGTERM within 2 s")
	var longest, write time.Duration
	rounds := form(10, 1)
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			led, wrote := handOver(t, p, caches, 100+round)
			longest, write = max(longest, led), max(write, wrote)
		})
		figure.set("%d hand-overs, at most %.2f s to the lease, %.2f s to the first write", round+1, longest.Seconds(), write.Seconds())
	}
}

// handOver terminates the leader and returns how long it took until the standby had the lease,
// and until it first wrote for an edit made meanwhile.
func handOver(t *testing.T, p *pair, caches []*cachev1alpha1.Memcached, edits int) (led, wrote time.Duration) {
	t.Helper()
	next := p.standby
	testenv.NoError(t, p.leader.process.Signal(syscall.SIGTERM))
	since := time.Now()
	editTo(t, caches[0], edits)
	led = leads(t, next, since, settleTimeout).Sub(since)
	withinGoal(t, "the next leader had the lease", led, handOverLimit)
	if status := p.leader.process.End(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	deploymentShows(t, caches[0], edits)
	for _, r := range next.writesIn(caches[0].Namespace) {
		if r.Received.After(since) {
			wrote = r.Received.Sub(since)
			break
		}
	}
	eventually(t, "all should settle", func(ctx context.Context) (bool, error) { return allSettled(ctx, caches) })
	p.swap(t)
	return led, wrote
}
