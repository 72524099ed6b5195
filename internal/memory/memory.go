// SPDX-License-Identifier: Apache-2.0

// Package memory raises the garbage collection target while the operator reconciles, and returns the memory to
// the operating system when it is idle.
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
	// workingHeap is the heap size, in bytes, up to which no garbage is collected during work, and garbage is
	// the garbage to allow at least. Building templates and creating objects produces much garbage and retains
	// little: with the 50 percent of a small heap that is allowed when idle, a quarter to a third of the CPU
	// time is spent on garbage collection (BenchmarkFirstRender, docs/user/scale.md). Garbage fragments the
	// live heap: with 40 MiB of it, 10,000 Memcacheds took 165 MiB a minute after their creation, 155 with 16, and 151 with 10;
	// less made no difference.
	workingHeap = 80 << 20
	garbage     = 10 << 20
	// lightGarbage is the garbage to allow at least while work is on One, such as an edit of one of 10,000 Memcacheds: little of it is
	// retained then, and collections of a large heap take the cores from the edits.
	lightGarbage = 24 << 20
	// idleGarbage is the garbage to allow when idle, in bytes, if that is less than GOGC gives. Little is
	// allocated then, so that garbage collections are rare all the same.
	idleGarbage = 2 << 20
	// minPercent is the minimum of GOGC when idle, which keeps collections of a large heap rare.
	minPercent = 2
	// minHeap is the minimum live heap to assume, in bytes. The Go runtime collects no garbage below this size
	// times GOGC.
	minHeap = 4 << 20
	// rest is the idle time after which the garbage is returned.
	rest = 10 * time.Second
)

// process is the work of the process, which has one garbage collector.
var process work

// One and Many are what work is on: a Memcached, or the templates and the caches.
const (
	One  = 1
	Many = 2
)

// Begin records that work on One or Many begins. It must be followed by End with the same.
func Begin(on int) { process.begin(on) }

// End records that work ended.
func End(on int) { process.end(on) }

// work counts the work in progress.
type work struct {
	mu    sync.Mutex
	count int
	timer *time.Timer
	// raised reports that more garbage is allowed than when idle, and raises counts how often that
	// began. percent is GOGC when idle, before idleGarbage.
	raised  bool
	raises  int
	percent int
}

func (w *work) begin(on int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count += on
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.raised || os.Getenv("GOGC") != "" {
		return
	}
	w.raised = true
	w.raises++
	if w.percent == 0 { // It is lower when idle.
		w.percent = debug.SetGCPercent(100)
	}
	w.adapt()
}

func (w *work) end(on int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count -= on
	if w.count == 0 && w.raised {
		w.timer = time.AfterFunc(rest, w.giveBack)
	}
}

// cycle is an unreferenced object, which the next garbage collection finalizes.
type cycle struct {
	*work
	raises int
}

// adapt sets GOGC for the live heap, now and after each garbage collection until giveBack: the live heap grows
// while the caches sync.
func (w *work) adapt() {
	live, least := liveHeap(), garbage
	if w.count <= One {
		least = lightGarbage
	}
	debug.SetGCPercent(100 * max(workingHeap-live, least) / live)
	runtime.SetFinalizer(&cycle{w, w.raises}, func(c *cycle) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.raised && c.raises == c.work.raises {
			c.adapt()
		}
	})
}

// liveHeap returns the live heap at the last garbage collection, at least minHeap, in bytes.
func liveHeap() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int(max(live[0].Value.Uint64(), minHeap))
}

// giveBack restores GOGC and returns the garbage, unless there is new work.
func (w *work) giveBack() {
	w.mu.Lock()
	if w.count > 0 || !w.raised {
		w.mu.Unlock()
		return
	}
	w.raised = false
	debug.SetGCPercent(w.percent)
	w.mu.Unlock() // Work may begin during the collection.
	debug.FreeOSMemory()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.raised {
		debug.SetGCPercent(min(w.percent, max(minPercent, 100*idleGarbage/liveHeap())))
	}
}
