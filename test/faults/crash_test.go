// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// killGoal is how many kills each form makes at least.
var killGoal = map[bool]int{true: 12, false: 200}

func TestCrash_AtEveryWrite(t *testing.T) {
	figure := measure(t, "R1 crash at every write: same end state, same creates and deletes")
	o := startOperator(t)
	kills, runs := 0, 0
	for _, s := range stories[:form(len(stories), 1)] {
		want := undisturbed(t, o, s)
		for n := 1; n <= form(want.most(), 2); n++ {
			for _, before := range []bool{true, false} {
				if testing.Short() && kills >= killGoal[true] {
					continue
				}
				t.Run(fmt.Sprintf("%s/write %d/before %v", s.name, n, before), func(t *testing.T) {
					l := &life{story: s, operator: o, crash: crash{write: n, before: before}}
					l.run(t, want)
					kills += l.kills
					runs++
				})
				figure.set("%d kills in %d lives", kills, runs)
				if t.Failed() {
					return
				}
			}
		}
	}
	if goal := killGoal[testing.Short()]; kills < goal {
		t.Errorf("%d kills, want at least %d", kills, goal)
	}
}

// life is a run of a story, in a namespace of its own.
type life struct {
	story
	crash
	operator  *operator
	namespace string
	mc        *cachev1alpha1.Memcached
	states    []testenv.State
	writes    []int
	// made counts the objects created, and deleted the deletions, by resource and name.
	made, deleted map[string]int
}

// undisturbed runs a story without crashes.
func undisturbed(t *testing.T, o *operator, s story) *life {
	t.Helper()
	l := &life{story: s, operator: o}
	l.run(t, nil)
	return l
}

// most returns the most writes of a phase.
func (l *life) most() int {
	most := 0
	for _, n := range l.writes {
		most = max(most, n)
	}
	return most
}

// run runs the phases; each has to end in the state that it has in want, which is nil for the
// undisturbed run.
func (l *life) run(t *testing.T, want *life) {
	t.Helper()
	l.namespace = suite.NewNamespace(t)
	for i, phase := range phases {
		before := len(l.operator.writesIn(l.namespace))
		l.crash.arm(l.operator, l.namespace)
		l.change(t, phase)
		if want == nil {
			l.states = append(l.states, l.stable(t, phase))
		} else {
			l.recover(t, phase, want.states[i])
		}
		l.writes = append(l.writes, len(l.operator.writesIn(l.namespace))-before)
	}
	l.operator.SetHooks(proxy.Hooks{})
	l.count()
	if want == nil {
		return
	}
	exceeds(t, "created", l.made, want.made)
	exceeds(t, "deleted", l.deleted, want.deleted)
}

// change makes the change of a phase.
func (l *life) change(t *testing.T, phase string) {
	t.Helper()
	switch phase {
	case "create":
		s := spec{Size: new(int32(0)), MinReadySeconds: new(int32(0))}
		l.base(&s)
		l.mc = newMemcached(t, l.namespace, s)
	case "scale":
		edit(t, l.mc, func(s *spec) {
			if s.NodeSelector == nil {
				s.Size = new(l.scale)
			} else {
				s.MaxConnections = new(int32(2048))
			}
		})
	case "patch":
		edit(t, l.mc, l.patch)
	case "omit":
		edit(t, l.mc, l.omit)
	case "delete":
		if l.crash.write > 0 && l.crash.before {
			l.crash.kill(l.operator)
		}
		testenv.NoError(t, client.IgnoreNotFound(suite.Client.Delete(t.Context(), l.mc)))
		if l.crash.write > 0 && !l.crash.before {
			l.crash.kill(l.operator)
		}
	}
}

// isDone reports whether the phase has come to its end.
func (l *life) isDone(ctx context.Context, phase string) (bool, error) {
	if phase == "delete" {
		return isEmpty(ctx, l.namespace)
	}
	return isSettled(ctx, l.mc)
}

// stable waits until the phase is done and the state has not changed for a second.
func (l *life) stable(t *testing.T, phase string) testenv.State {
	t.Helper()
	eventually(t, "phase "+phase+" should end", func(ctx context.Context) (bool, error) { return l.isDone(ctx, phase) })
	var last testenv.State
	since := time.Now()
	eventually(t, "the state should not change", func(ctx context.Context) (bool, error) {
		now, err := stateOf(ctx, l.namespace, true)
		if now.Diff(last) != "" {
			last, since = now, time.Now()
		}
		return time.Since(since) > time.Second, err
	})
	return last
}

// recover starts the operator again when it has been killed, and waits until the phase has the
// state want.
func (l *life) recover(t *testing.T, phase string, want testenv.State) {
	t.Helper()
	difference := ""
	t.Cleanup(func() {
		if t.Failed() && difference != "" {
			t.Logf("%s differs from the undisturbed run after %s:\n%s", l.namespace, phase, difference)
		}
	})
	eventually(t, "the state after "+phase+" should be that of an undisturbed run", func(ctx context.Context) (bool, error) {
		if l.operator.process.HasEnded() {
			l.operator.restart()
		}
		now, err := stateOf(ctx, l.namespace, true)
		if err != nil {
			return false, err
		}
		difference = now.Diff(want)
		return difference == "", nil
	})
	// The phase may have been done without the writes that come last.
	eventually(t, "phase "+phase+" should end", func(ctx context.Context) (bool, error) {
		if l.operator.process.HasEnded() {
			l.operator.restart()
		}
		return l.isDone(ctx, phase)
	})
}

// count counts what was created and deleted.
func (l *life) count() {
	l.made, l.deleted = map[string]int{}, map[string]int{}
	for _, r := range l.operator.writesIn(l.namespace) {
		name := r.Resource + " " + r.Name
		switch {
		case r.IsEvent():
		case r.Status == http.StatusCreated:
			l.made[name]++
		case r.Verb == "delete" && r.Succeeded():
			l.deleted[name]++
		}
	}
}

// exceeds reports what was done more often than wanted.
func exceeds(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	for name, n := range got {
		if n > want[name] {
			t.Errorf("%s %s %d times, want %d", what, name, n, want[name])
		}
	}
}

// crash kills the operator at a write.
type crash struct {
	// write counts from 1 in each phase; 0 means no crash.
	write  int
	before bool
	kills  int

	mu    sync.Mutex
	seen  map[*proxy.Request]int
	fired bool
}

// arm kills o at the next write of that number in namespace.
func (c *crash) arm(o *operator, namespace string) {
	c.mu.Lock()
	c.seen, c.fired = map[*proxy.Request]int{}, c.write == 0
	c.mu.Unlock()
	process := o.process
	fire := func(r *proxy.Request, before bool) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.Namespace != namespace || c.fired {
			return false
		}
		if before {
			c.seen[r] = len(c.seen) + 1
		}
		if c.before != before || c.seen[r] != c.write {
			return false
		}
		c.fired = true
		c.kills++
		process.Kill()
		return true
	}
	o.SetHooks(proxy.Hooks{
		Before: func(r *proxy.Request) bool { return !fire(r, true) },
		After:  func(r *proxy.Request) { fire(r, false) },
	})
}

// kill kills o now.
func (c *crash) kill(o *operator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fired = true
	c.kills++
	o.process.Kill()
}
