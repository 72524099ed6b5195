// SPDX-License-Identifier: Apache-2.0

package render

import (
	"os"
	"testing"

	"github.com/example/memcached-operator/internal/memory"
)

// TestMain allows as much garbage as the operator does while it reconciles: the tests build the templates many times.
func TestMain(m *testing.M) {
	memory.Begin(memory.Many)
	os.Exit(m.Run())
}
