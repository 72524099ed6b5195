// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWork_AllowsGarbage runs itself in processes of their own, since the percentage of garbage
// is the process's.
func TestWork_AllowsGarbage(t *testing.T) {
	if os.Getenv("WORK") != "" {
		synctest.Test(t, raiseAndRestore)
		return
	}
	for name, test := range map[string]struct{ variable, want string }{
		"more during work":       {"GOGC=", "raised: true"},
		"as GOGC says":           {"GOGC=50", "raised: false"},
		"as GOGC says: no limit": {"GOGC=off", "raised: false"},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWork_AllowsGarbage$", "-test.v")
			command.Env = append(os.Environ(), "WORK=1", test.variable)
			output, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(output), test.want) {
				t.Errorf("%v\n%s\nwant %q", err, output, test.want)
			}
		})
	}
}

func raiseAndRestore(t *testing.T) {
	w := &work{}
	before := gcPercent()
	runtime.GC()
	w.begin(One)
	w.begin(One)
	during := gcPercent()
	check := func(when string, want int) {
		t.Helper()
		if got := gcPercent(); got != want {
			t.Errorf("%s: %d percent, want %d", when, got, want)
		}
	}
	w.end(One)
	time.Sleep(2 * rest)
	check("one of two ended", during)
	w.end(One)
	time.Sleep(rest - time.Second)
	check("shortly after the work", during)
	w.begin(One)
	w.end(One)
	time.Sleep(rest - time.Second)
	check("shortly after more work", during)
	time.Sleep(2 * time.Second)
	check("at rest", min(before, 100*idleGarbage/liveHeap()))
	raises := during > before
	t.Logf("raised: %v", raises)

	// The percentage follows the memory in use. The runtime finalizes some time after a collection.
	w.begin(One)
	first := gcPercent()
	inUse := make([]byte, garbage)
	for range 1000 {
		runtime.GC()
		if gcPercent() < first {
			break
		}
	}
	if got := gcPercent(); first > before && got >= first {
		t.Errorf("with %d bytes more in use: %d percent, want less than %d", len(inUse), got, first)
	}
	w.end(One)
	time.Sleep(2 * rest)
	runtime.GC()
	if got, want := gcPercent(), 100*idleGarbage/liveHeap(); raises && (got >= before || got > want+1) {
		t.Errorf("at rest with %d bytes in use: %d percent, want less than %d, about %d", len(inUse), got, before, want)
	}
	w.begin(One)
	if raises && w.percent != before {
		t.Errorf("the percentage at rest is now %d, want %d", w.percent, before)
	}
	w.end(One)
	time.Sleep(2 * rest)
	runtime.KeepAlive(inUse)
	if raises {
		allowMoreForOne(t, w)
	}
}

// allowMoreForOne has more in use than the heap of work: what is allowed beyond depends on what the work is on.
func allowMoreForOne(t *testing.T, w *work) {
	t.Helper()
	inUse := make([]byte, workingHeap)
	runtime.GC()
	w.begin(One)
	one := gcPercent()
	w.begin(Many)
	for range 1000 {
		runtime.GC()
		if gcPercent() < one {
			break
		}
	}
	if many := gcPercent(); many > one/2 {
		t.Errorf("with %d bytes in use: %d percent for many, and %d for one", len(inUse), many, one)
	}
	w.end(Many)
	w.end(One)
	time.Sleep(2 * rest)
	runtime.KeepAlive(inUse)
}

// gcPercent returns the percentage of garbage.
func gcPercent() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}
