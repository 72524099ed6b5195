// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/testenv"
)

// figures are what was measured with one number of Memcacheds.
type figures struct {
	memcacheds int
	bare       bareFigures
	empty      startFigures
	start      startFigures
	edits      editFigures
	idle       idleFigures
	restart    restartFigures
	reload     reloadFigures
}

// startFigures are about a start of the operator's process.
type startFigures struct {
	// ready is from the start of the process to readiness.
	ready time.Duration
	// written is from the start of the process to the answer of its last write or event.
	written time.Duration
	// reconciles and requests are those until the operator had nothing left to do.
	reconciles int
	requests   counts
	used       usage
}

// idleFigures are about an operator with nothing to do.
type idleFigures struct {
	window   time.Duration
	requests counts
	used     usage
}

// cpu returns the CPU time of a Memcached: that of the process beyond the one of a start
// without any.
func (f *figures) cpu() time.Duration {
	return (f.start.used.cpu - f.empty.used.cpu) / time.Duration(f.memcacheds)
}

// ratio returns how many times as long as the bare client the operator took.
func (f *figures) ratio(bare time.Duration) float64 {
	return f.start.written.Seconds() / bare.Seconds()
}

// settledRSS returns the resident memory of an operator with nothing to do: the higher one
// of those after the first start and after the restart.
func (f *figures) settledRSS() int64 { return max(f.idle.used.rss, f.restart.used.rss) }

// maxRSS returns the highest resident memory of the two processes.
func (f *figures) maxRSS() int64 { return max(f.idle.used.maxRSS, f.restart.used.maxRSS) }

// TestScale_MeetsGoals measures the bare client and then the operator, each on a control plane
// of its own, with each of the given numbers of Memcacheds.
func TestScale_MeetsGoals(t *testing.T) {
	for _, count := range suite.sizes {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			f := &figures{memcacheds: count}
			if !t.Run("bare client", func(t *testing.T) { f.bare = measureBare(t, count) }) {
				return
			}
			if !t.Run("operator", func(t *testing.T) { measureOperator(t, f) }) {
				return
			}
			report(t, f)
		})
	}
}

// measureOperator fills in the figures of the operator.
func measureOperator(t *testing.T, f *figures) {
	t.Helper()
	e := newEnv(t)
	o := e.start(t)
	o.settleFor(t, 0, settleTime) // Its memory is judged.
	f.empty = o.measureStart(t, 0, counts{})
	o.saveProfiles(t, "0")
	o.stop(t)

	// Created beforehand, as for the bare client: the API server does nothing else meanwhile.
	all := e.createMemcacheds(t, f.memcacheds)
	before := e.proxy.counts()
	o = e.start(t)
	f.start = o.measureStart(t, f.memcacheds, before)
	e.checkReady(t, f.memcacheds)
	t.Logf("bare client %.1f s and %.1f s, operator %.1f s", f.bare.objects.Seconds(), f.bare.events.Seconds(), f.start.written.Seconds())
	o.saveProfiles(t, strconv.Itoa(f.memcacheds))

	f.edits = e.measureEdits(t, all)
	o.settle(t, 0)
	window := *idleFlag
	if f.memcacheds >= rssSize {
		window = max(window, eventsKept)
	}
	f.idle = o.measureIdle(t, window)
	o, f.restart = e.measureRestart(t, o, f.memcacheds)
	e.checkReady(t, f.memcacheds+1)
	o.saveProfiles(t, strconv.Itoa(f.memcacheds)+"-restarted")
	o, f.reload = e.measureReload(t, o, f.memcacheds+1)
	o.stop(t)
}

// measureStart waits until o, just started, has reconciled count Memcacheds and settled.
// Requests are counted from before on.
func (o *operator) measureStart(t *testing.T, count int, before counts) startFigures {
	t.Helper()
	figures := startFigures{ready: o.ready(t)}
	o.settle(t, count)
	figures.used = o.usage(t)
	figures.written = o.env.proxy.lastWrite().Sub(o.started)
	figures.reconciles = o.reconciles(t)
	figures.requests = o.env.proxy.counts().since(before)
	return figures
}

// measureIdle counts the requests of o, which has settled, for the time of window.
func (o *operator) measureIdle(t *testing.T, window time.Duration) idleFigures {
	t.Helper()
	before := o.env.proxy.counts()
	select {
	case <-time.After(window): // it is the time itself that is measured
	case <-o.Ended:
		t.Fatal("the operator ended")
	}
	return idleFigures{window: window, requests: o.env.proxy.counts().since(before), used: o.usage(t)}
}

// saveProfiles writes profiles of o to the directory of -profiles, when that is given: of CPU
// time since the last ones, and of the heap.
func (o *operator) saveProfiles(t *testing.T, name string) {
	t.Helper()
	if *profilesFlag == "" {
		return
	}
	testenv.NoError(t, o.Signal(syscall.SIGUSR1))
	// The heap's comes last.
	for _, kind := range []string{".heap", ".cpu"} {
		testenv.Within(t, time.Minute, "the operator should write a profile", func() bool {
			_, err := os.Stat(o.profile + kind)
			return err == nil
		})
		content, err := os.ReadFile(o.profile + kind)
		testenv.NoError(t, err)
		testenv.NoError(t, os.Remove(o.profile+kind))
		testenv.NoError(t, os.WriteFile(filepath.Join(*profilesFlag, name+kind), content, 0o600))
	}
	used := o.usage(t)
	t.Logf("profiles %s: %d MiB resident, %d MiB at most", name, used.rss>>20, used.maxRSS>>20)
}
