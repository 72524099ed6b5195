// SPDX-License-Identifier: Apache-2.0

package render

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestBuildCount_RestoresGarbage runs itself in processes of their own, since the
// percentage of garbage is the process's.
func TestBuildCount_RestoresGarbage(t *testing.T) {
	if os.Getenv("BUILD_COUNT") != "" {
		before := gcPercent()
		runtime.GC()
		builds.begin()
		builds.begin()
		during := gcPercent()
		builds.end()
		if got := gcPercent(); got != during {
			t.Errorf("one of two builds ended: %d percent, want still %d", got, during)
		}
		builds.end()
		if got := gcPercent(); got != before {
			t.Errorf("after the builds: %d percent, want %d as before", got, before)
		}
		t.Logf("raised: %v", during > before)

		builds.begin()
		inUse := make([]byte, buildGarbage)
		runtime.GC()
		builds.begin()
		if got := gcPercent(); during > before && got >= during {
			t.Errorf("with %d bytes more in use: %d percent, want less than %d", len(inUse), got, during)
		}
		runtime.KeepAlive(inUse)
		return
	}
	for name, test := range map[string]struct{ variable, want string }{
		"more during a build":    {"GOGC=", "raised: true"},
		"as GOGC says":           {"GOGC=50", "raised: false"},
		"as GOGC says: no limit": {"GOGC=off", "raised: false"},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBuildCount_RestoresGarbage$", "-test.v")
			command.Env = append(os.Environ(), "BUILD_COUNT=1", test.variable)
			output, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(output), test.want) {
				t.Errorf("%v\n%s\nwant %q", err, output, test.want)
			}
		})
	}
}

// gcPercent returns the percentage of garbage.
func gcPercent() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}
