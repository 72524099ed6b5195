// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/testenv"
)

const (
	// returnLimit is how long a change may take to arrive once the API server is back.
	returnLimit = 5 * time.Second
	// linesPerMinute is how much the operator may log while the API server cannot be used, beside retries of a Memcached.
	linesPerMinute = 20
)

func TestOutage_ChangeArrivesAfterIt(t *testing.T) {
	figure := measure(t, "API server away: no exit, few lines, a change arrives within 5 s of its return")
	overlap(t)
	namespace := suite.NewNamespace(t)
	o := startIn(t, []string{namespace})
	mc := newMemcached(t, namespace, specOf(1))
	settled(t, mc)
	away := form(time.Minute, 15*time.Second)
	before := lines(o)
	o.Interrupt()
	editTo(t, mc, 2)
	last(t, away)
	if o.process.HasEnded() {
		t.Fatal("the operator exited")
	}
	logged := lines(o) - before
	testenv.NoError(t, o.Resume(t.Context()))
	start := time.Now()
	deploymentShows(t, mc, 2)
	took := time.Since(start)
	figure.set("%s away: %d lines logged, %.2f s to the change", away, logged, took.Seconds())
	withinGoal(t, "the change arrived", took, returnLimit)
	fewLines(t, o, logged, away)
	equalsFresh(t, o, mc)
}

// lines returns the number of lines that o has logged.
func lines(o *operator) int { return strings.Count(o.process.Log.String(), "\n") }

// fewLines checks the number of lines that were logged while nothing worked. A Memcached that was being reconciled is retried
// after 5 ms, 10 ms, and so on, and each time logs one.
func fewLines(t *testing.T, o *operator, logged int, duration time.Duration) {
	t.Helper()
	retries := 1 + int(math.Log2(float64(duration/(5*time.Millisecond))))
	if limit := retries + int(linesPerMinute*duration.Minutes()); logged > limit {
		t.Errorf("%d lines in %s, want at most %d; the last ones:\n%s", logged, duration, limit, tail(o, 10))
	}
}

// tail returns the last n lines of the log.
func tail(o *operator, n int) string {
	all := strings.Split(strings.TrimSpace(o.process.Log.String()), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
