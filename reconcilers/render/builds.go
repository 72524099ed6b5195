// SPDX-License-Identifier: Apache-2.0

package render

import (
	"sync"
	"time"

	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/example/memcached-operator/reconcilers/memory"
)

// schemaIdle is how long kustomize's OpenAPI schema stays in memory after its last use.
const schemaIdle = 30 * time.Second

// builds are the builds that are under way. They share what the process has one of.
var builds buildCount

// buildCount counts builds. While there are any, kustomize's OpenAPI schema is parsed. The
// schema, some 4 MiB, is freed after schemaIdle without builds; parsing it again takes 10 to
// 20 ms.
type buildCount struct {
	mu    sync.Mutex
	count int
	free  *time.Timer
}

// begin parses the schema if need be, so that builds side by side only read it.
func (b *buildCount) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free != nil {
		b.free.Stop()
	}
	b.count++
	memory.Begin()
	openapi.Schema()
}

func (b *buildCount) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count--
	memory.End()
	if b.count == 0 {
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
