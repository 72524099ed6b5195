// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/utils/keymutex"
	"k8s.io/utils/lru"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

const (
	// maxSets bounds the memory of the cached sets of components: the authors of Memcacheds choose
	// the sets.
	maxSets = 128
	// maxBuilders is the number of locks that the namespaces share, by a hash of their names.
	maxBuilders = 256
)

// sets caches the sets of components that were built. It is safe for concurrent use.
type sets struct {
	templates *template.Templates
	// fullBuilds is Defaults.FullBuilds.
	fullBuilds func(components []string, reason string)

	mu    sync.Mutex
	cache *lru.Cache
	// builders limits each namespace to one build at a time: a build takes up to 250 ms of
	// CPU, and a namespace with many sets must not starve the others.
	builders keymutex.KeyMutex
}

func newSets(templates *template.Templates, fullBuilds func(components []string, reason string)) *sets {
	return &sets{templates: templates, fullBuilds: fullBuilds, cache: lru.New(maxSets), builders: keymutex.NewHashed(maxBuilders)}
}

// get returns the set of the components that in, a Memcached in namespace, enables, and builds it
// on first use.
func (s *sets) get(in template.Input, namespace string) (*template.Set, error) {
	components := in.Active(s.templates.Components())
	set := s.set(components)
	if !set.built.Load() {
		s.builders.LockKey(namespace)
		defer func() { _ = s.builders.UnlockKey(namespace) }()
	}
	return set.build()
}

// set is a set of components.
type set struct {
	// build builds the set on the first call, and returns the same result afterwards.
	build func() (*template.Set, error)
	built atomic.Bool
}

// set returns the set of components that is cached, or caches a new one.
func (s *sets) set(components []string) *set {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(components, ",")
	if cached, ok := s.cache.Get(key); ok {
		return cached.(*set)
	}
	added := &set{}
	added.build = sync.OnceValues(func() (*template.Set, error) {
		defer added.built.Store(true)
		return s.build(components)
	})
	s.cache.Add(key, added)
	return added
}

func (s *sets) build(components []string) (*template.Set, error) {
	set, err := s.templates.Set(components)
	if err != nil {
		return nil, err
	}
	if reason := set.FullBuilds(); reason != "" && s.fullBuilds != nil {
		s.fullBuilds(components, reason)
	}
	return set, nil
}
