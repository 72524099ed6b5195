// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/traffic"
)

// reach waits until l has lasted for so many seconds.
func reach(t *testing.T, l *traffic.Load, seconds int) {
	t.Helper()
	testenv.Eventually(t, "the traffic should go on", func() bool { return len(l.Seconds()) > seconds })
}

// TestTraffic_SeesWhatIsLost loads a memcached, which loses its items in the fourth second.
func TestTraffic_SeesWhatIsLost(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	address := net.JoinHostPort("127.0.0.1", port)
	s := startServer(t, "127.0.0.1", port)
	l := traffic.Start(t.Context(), traffic.Options{Keys: 20000, Timeout: patience, Dial: func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}})
	reach(t, l, 3)
	s.kill()
	change := len(l.Seconds()) - 1
	startServer(t, "127.0.0.1", port)
	reach(t, l, change+3)
	seconds := l.Stop()
	before, after := traffic.Total(seconds[:change]), traffic.Total(seconds[change:])
	// A row that was deleted is a miss once.
	if before.Ratio() < 0.9 || before.Errors > 0 || before.Stale > 0 || before.Lost > 0 || before.Hits < 100 {
		t.Errorf("before the loss it sees %+v, a ratio of %.3f", before, before.Ratio())
	}
	if dip := traffic.DipBelow(seconds[:change], seconds[change:]); after.Errors == 0 || after.Misses < 100 || after.Lost < 100 || after.Stale > 0 || dip.Points < 10 || dip.Seconds < 1 {
		t.Errorf("after the loss it sees %+v, and a dip of %+v, in %+v", after, dip, seconds)
	}
}

// TestTraffic_SeesOldValues has the application use another memcached for a while, and then the first again, whose items are old.
func TestTraffic_SeesOldValues(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[string]
	var addresses []string
	for range 2 {
		port := freePort(t)
		startServer(t, "127.0.0.1", port)
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", port))
	}
	current.Store(&addresses[0])
	connections := make(chan net.Conn, 100)
	l := traffic.Start(t.Context(), traffic.Options{Keys: 100, Workers: 2, Timeout: patience, Dial: func(ctx context.Context) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", *current.Load())
		if err == nil {
			connections <- conn
		}
		return conn, err
	}})
	switchTo := func(address string) {
		current.Store(&address)
		for range 2 {
			testenv.NoError(t, (<-connections).Close())
		}
	}
	reach(t, l, 1)
	if stale := traffic.Total(l.Seconds()).Stale; stale > 0 {
		t.Errorf("%d reads of one memcached are stale", stale)
	}
	switchTo(addresses[1])
	reach(t, l, 3)
	if stale := traffic.Total(l.Seconds()).Stale; stale > 0 {
		t.Errorf("%d reads of an empty memcached are stale", stale)
	}
	switchTo(addresses[0])
	reach(t, l, 4)
	if seen := traffic.Total(l.Stop()); seen.Stale == 0 {
		t.Errorf("of a memcached with old items no read is stale: %+v", seen)
	}
}
