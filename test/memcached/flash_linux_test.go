// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// TestFlash_HoldsMoreThanMemory: all values are found, twice as many as memory holds.
func TestFlash_HoldsMoreThanMemory(t *testing.T) {
	t.Parallel()
	const keys = 120_000
	client := start(t, given{spec: "{memory: 64Mi, flash: {size: 1Gi}}"}).connect(t, nil)
	value := strings.Repeat("v", 1000)
	for i := range keys {
		testenv.NoError(t, client.Set(fmt.Sprint("key-", i), value))
	}
	for i := range keys {
		if got, err := client.Get(fmt.Sprint("key-", i)); err != nil || got != value {
			t.Fatalf("key %d of %d: %d bytes, %v", i, keys, len(got), err)
		}
	}
	stats, err := client.Stats()
	testenv.NoError(t, err)
	if stats["get_misses"] != "0" || stats["get_extstore"] == "0" || stats["evictions"] != "0" || stats["extstore_limit_maxbytes"] != "956301312" {
		t.Errorf("%s misses, %s reads from the disk, %s evictions, %s bytes on disk, want nine tenths of 1Gi in whole pages",
			stats["get_misses"], stats["get_extstore"], stats["evictions"], stats["extstore_limit_maxbytes"])
	}
}
