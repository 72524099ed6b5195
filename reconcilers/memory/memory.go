// SPDX-License-Identifier: Apache-2.0

// Package memory lets the Go runtime keep more garbage while the operator works, and gives it
// back when it rests.
package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// garbage is how much garbage there may be during work, in bytes, if that is more than at
	// rest. Building templates and creating objects makes much garbage and keeps little: with
	// the 50 percent of a small heap that there may be at rest, a quarter to a third of the CPU
	// time goes to collecting it (BenchmarkFirstRender, docs/scale.md).
	garbage = 32 << 20
	// idleGarbage is how much garbage there may be at rest, in bytes, if that is less than Go's
	// percentage gives. Little is allocated then, so that collections are rare all the same.
	idleGarbage = 4 << 20
	// minPercent keeps the collections at rest few where much memory is in use.
	minPercent = 5
	// minHeap is how much in use is reckoned with at least, in bytes: less than a program with
	// the templates in memory ever has.
	minHeap = 1 << 20
	// rest is how long after the last work the garbage is given back.
	rest = 10 * time.Second
)

// process counts the work of the process, which has one garbage collector.
var process work

// Begin notes that work begins. It has to be followed by End.
func Begin() { process.begin() }

// End notes that work ended.
func End() { process.end() }

// work counts the pieces of work under way.
type work struct {
	mu    sync.Mutex
	count int
	timer *time.Timer
	// raised says that there may be more garbage than at rest, and raises counts how often that
	// began; percent is Go's percentage of garbage at rest, before idleGarbage.
	raised  bool
	raises  int
	percent int
}

func (w *work) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.raised || os.Getenv("GOGC") != "" {
		return
	}
	w.raised = true
	w.raises++
	if w.percent == 0 { // At rest it may be less.
		w.percent = debug.SetGCPercent(100)
	}
	w.adapt()
}

func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	if w.count == 0 && w.raised {
		w.timer = time.AfterFunc(rest, w.giveBack)
	}
}

// cycle is an object that nothing refers to, so that the next collection finalizes it.
type cycle struct {
	*work
	raises int
}

// adapt allows garbage beyond what is in use, now and after each collection until there is rest:
// what is in use grows while the caches are filled.
func (w *work) adapt() {
	debug.SetGCPercent(max(w.percent, percentOf(garbage)))
	runtime.SetFinalizer(&cycle{w, w.raises}, func(c *cycle) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.raised && c.raises == c.work.raises {
			c.adapt()
		}
	})
}

// percentOf returns what percentage of the memory in use size bytes are.
func percentOf(size int) int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return 100 * size / int(max(live[0].Value.Uint64(), minHeap))
}

// giveBack ends what begin allowed, unless there is work again.
func (w *work) giveBack() {
	w.mu.Lock()
	if w.count > 0 || !w.raised {
		w.mu.Unlock()
		return
	}
	w.raised = false
	debug.SetGCPercent(w.percent)
	w.mu.Unlock() // The collection takes time, and work may begin meanwhile.
	debug.FreeOSMemory()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.raised {
		debug.SetGCPercent(min(w.percent, max(minPercent, percentOf(idleGarbage))))
	}
}
