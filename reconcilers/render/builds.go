// SPDX-License-Identifier: Apache-2.0

package render

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

const (
	// schemaIdle is how long kustomize's OpenAPI schema stays in memory after its last use.
	schemaIdle = 30 * time.Second
	// buildGarbage is how much garbage there may be during builds, in bytes, if that is more
	// than at other times. A build makes several times as much and keeps little: with the
	// 50 percent of a small heap that the operator has at other times, a third of a build's
	// CPU time goes to collecting it (BenchmarkFirstRender).
	buildGarbage = 32 << 20
	// minHeap is how much in use is reckoned with at least, in bytes: less than a program
	// with the templates in memory ever has.
	minHeap = 1 << 20
)

// builds are the builds that are under way. They share what the process has one of.
var builds buildCount

// buildCount counts builds. While there are any, kustomize's OpenAPI schema is parsed, and
// garbage is collected less often, unless the variable GOGC says how often. The schema, some
// 4 MiB, is freed after schemaIdle without builds; parsing it again takes 10 to 20 ms.
type buildCount struct {
	mu    sync.Mutex
	count int
	free  *time.Timer
	// percent is Go's percentage of garbage at other times.
	percent int
}

// begin parses the schema if need be, so that builds side by side only read it.
func (b *buildCount) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free != nil {
		b.free.Stop()
	}
	b.count++
	if b.count == 1 {
		b.percent = debug.SetGCPercent(100)
	}
	// Also when there are other builds: what is in use may have grown since they began.
	debug.SetGCPercent(b.garbage())
	openapi.Schema()
}

func (b *buildCount) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count--
	if b.count == 0 {
		debug.SetGCPercent(b.percent)
		b.free = time.AfterFunc(schemaIdle, b.freeSchema)
	}
}

// freeSchema frees the schema unless a build uses it.
func (b *buildCount) freeSchema() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == 0 {
		openapi.ResetOpenAPI()
	}
}

// garbage returns how much garbage to allow now, in percent of what is in use.
func (b *buildCount) garbage() int {
	if b.percent < 0 || os.Getenv("GOGC") != "" {
		return b.percent
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return max(b.percent, int(100*buildGarbage/max(live[0].Value.Uint64(), minHeap)))
}
