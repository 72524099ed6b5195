// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

const warm = "{memory: 256Mi, warmRestart: {}, extraArgs: [--disable-flush-all, --extended=hashpower=18]"

// TestWarmRestart_KeepsTheCache stops a container as the kubelet does, and starts another one with the volumes of its pod.
func TestWarmRestart_KeepsTheCache(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		next  string // what the spec has in addition for the second container
		stop  func(t *testing.T, p *pod)
		found int // of 1,000 keys
	}{
		"after SIGTERM":                       {"", terminate, 1000},
		"after SIGTERM, with another setting": {", threads: 2, maxConnections: 2000", terminate, 1000},
		"after SIGKILL":                       {"", kill, 0},
		"with an index that is empty":         {"", damage(func([]byte) []byte { return nil }), 0},
		"with an index of another kind":       {"", damage(func([]byte) []byte { return []byte("something else\n") }), 0},
		"with an index that was cut off":      {"", damage(func(index []byte) []byte { return index[:len(index)/2] }), 0},
		"with an index of as many zero bytes": {"", damage(func(index []byte) []byte { return make([]byte, len(index)) }), 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, given{spec: warm + "}"})
			client := p.connect(t, nil)
			for i := range 1000 {
				testenv.NoError(t, client.Set(fmt.Sprint("key-", i), strings.Repeat("v", i+1)))
			}
			test.stop(t, p)

			p = start(t, given{spec: warm + test.next + "}", volumes: p.volumes})
			client = p.connect(t, nil)
			found := 0
			for i := range 1000 {
				if value, err := client.Get(fmt.Sprint("key-", i)); err == nil && value == strings.Repeat("v", i+1) {
					found++
				}
			}
			if found != test.found {
				t.Errorf("%d of 1,000 keys are found, want %d", found, test.found)
			}
			got, err := client.Stats("settings")
			testenv.NoError(t, err)
			if got["flush_enabled"] != "no" || got["hashpower_init"] != "18" || got["maxbytes"] != "268435456" {
				t.Errorf("memcached's settings are %v: want those of extraArgs and memory", got)
			}
			testenv.NoError(t, client.Set("key", "value"))
		})
	}
}

// TestWarmRestart_OfAFullCache: the volume holds the cache, and where its items are.
func TestWarmRestart_OfAFullCache(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("v", 400_000)
	const keys = 900 // 360 MB, more than the cache
	found := func(p *pod) (found int) {
		client := p.connect(t, nil)
		for i := range keys {
			got, err := client.Get(fmt.Sprint("key-", i))
			testenv.NoError(t, err)
			if got == value {
				found++
			}
		}
		return found
	}
	p := start(t, given{spec: warm + "}"})
	client := p.connect(t, nil)
	for i := range keys {
		testenv.NoError(t, client.Set(fmt.Sprint("key-", i), value))
	}
	before := found(p)
	if before == 0 || before == keys {
		t.Fatalf("%d of %d keys are found: the cache is not full", before, keys)
	}
	terminate(t, p)
	if after := found(start(t, given{spec: warm + "}", volumes: p.volumes})); after != before {
		t.Errorf("%d of %d keys are found after the restart", after, before)
	}
}

// terminate ends p as the kubelet does.
func terminate(t *testing.T, p *pod) {
	t.Helper()
	_, err := io.WriteString(p.stdin, "\n")
	testenv.NoError(t, err)
	<-p.ended
	if output := p.output.String(); !strings.Contains(output, "container memcached ended: <nil>") {
		t.Errorf("memcached did not end with code 0:\n%s", output)
	}
}

// kill ends p at once.
func kill(t *testing.T, p *pod) {
	t.Helper()
	testenv.NoError(t, p.stdin.Close())
	<-p.ended
}

// damage ends p as the kubelet does, and changes what memcached has written down.
func damage(change func([]byte) []byte) func(t *testing.T, p *pod) {
	return func(t *testing.T, p *pod) {
		t.Helper()
		terminate(t, p)
		index := filepath.Join(p.volumes["cache"].dir, "memory.meta")
		text, err := os.ReadFile(index)
		testenv.NoError(t, err)
		testenv.NoError(t, os.WriteFile(index, change(text), 0o600))
	}
}
