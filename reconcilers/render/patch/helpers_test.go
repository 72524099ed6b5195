// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"runtime"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func patchOf(kind, text string) cachev1alpha1.Patch {
	return cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: kind}, Patch: text}
}

// noError ends the test when err is not nil. It is that of testenv, which imports this package.
func noError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// allocated returns the number of bytes that function allocates. Nothing else may run meanwhile.
func allocated(function func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	function()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
