// SPDX-License-Identifier: Apache-2.0

package template

import (
	"sync"
	"time"

	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/example/memcached-operator/reconcilers/memory"
)

// schemaIdle is how long kustomize's OpenAPI schema stays in memory after its last use.
const schemaIdle = 30 * time.Second

// openAPISchema is kustomize's OpenAPI schema, which is global to the process.
var openAPISchema schemaUse

// schemaUse counts the users of kustomize's OpenAPI schema. The schema takes some 4 MiB
// and is freed schemaIdle after the last use; parsing it again takes 10 to 20 ms.
type schemaUse struct {
	mu    sync.Mutex
	users int
	free  *time.Timer
}

// HoldSchema parses kustomize's OpenAPI schema if necessary, so that concurrent builds
// only read it, and keeps it until release is called.
func HoldSchema() (release func()) {
	openAPISchema.begin()
	return openAPISchema.end
}

// FreeSchema frees kustomize's OpenAPI schema unless something uses it.
func FreeSchema() {
	openAPISchema.mu.Lock()
	defer openAPISchema.mu.Unlock()
	if openAPISchema.users == 0 {
		openapi.ResetOpenAPI()
	}
}

func (s *schemaUse) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free != nil {
		s.free.Stop()
	}
	s.users++
	memory.Begin()
	openapi.Schema()
}

func (s *schemaUse) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	memory.End()
	if s.users == 0 {
		s.free = time.AfterFunc(schemaIdle, FreeSchema)
	}
}
