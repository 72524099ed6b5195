// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/utils/keymutex"
	"k8s.io/utils/lru"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

const (
	// maxSets bounds the memory of the cached sets of components, about 15 KB each: the
	// authors of Memcacheds choose the sets.
	maxSets = 1024
	// maxBuilders is the number of locks that the namespaces share, by a hash of their names.
	maxBuilders = 256
)

// sets caches the prebuilt sets of components. It is safe for concurrent use.
type sets struct {
	templates *template.Templates
	log       logr.Logger

	mu    sync.Mutex
	cache *lru.Cache
	// builders limits each namespace to one build at a time: a build takes up to 250 ms of
	// CPU, and a namespace with many sets must not starve the others.
	builders keymutex.KeyMutex
}

func newSets(templates *template.Templates, log logr.Logger) *sets {
	return &sets{templates: templates, log: log, cache: lru.New(maxSets), builders: keymutex.NewHashed(maxBuilders)}
}

// objects returns the objects for in, a Memcached in namespace, and the set that they are
// built from. size is an upper bound of their length as JSON, in bytes.
func (s *sets) objects(in template.Input, namespace string) (p *template.Prebuilt, objects []map[string]any, size int, err error) {
	var overrides []template.Override
	for {
		if p, err = s.get(in, namespace, overrides); err != nil {
			return nil, nil, 0, err
		}
		objects, size, err = p.Objects(in)
		mismatch, ok := errors.AsType[*template.TypeMismatchError](err)
		if !ok || slices.ContainsFunc(overrides, func(o template.Override) bool { return slices.Equal(o.Path, mismatch.Override.Path) }) {
			return p, objects, size, err
		}
		overrides = append(overrides, mismatch.Override)
	}
}

// get returns the set of the components that in enables, and builds it on first use.
func (s *sets) get(in template.Input, namespace string, overrides []template.Override) (*template.Prebuilt, error) {
	components := in.Active(s.templates.Components())
	key := slices.Clone(components)
	for _, o := range overrides {
		key = append(key, fmt.Sprintf("%s=%T", template.Dotted(o.Path), o.Value))
	}
	set := s.set(strings.Join(key, ","), func() (*template.Prebuilt, error) { return s.build(components, overrides) })
	if !set.built.Load() {
		s.builders.LockKey(namespace)
		defer func() { _ = s.builders.UnlockKey(namespace) }()
	}
	return set.prebuilt()
}

// set is a set of components.
type set struct {
	// prebuilt builds the set on the first call, and returns the same result afterwards.
	prebuilt func() (*template.Prebuilt, error)
	built    atomic.Bool
}

// set returns the set that is cached under key, or caches a new one that build builds.
func (s *sets) set(key string, build func() (*template.Prebuilt, error)) *set {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cached, ok := s.cache.Get(key); ok {
		return cached.(*set)
	}
	added := &set{}
	added.prebuilt = sync.OnceValues(func() (*template.Prebuilt, error) {
		defer added.built.Store(true)
		return build()
	})
	s.cache.Add(key, added)
	return added
}

func (s *sets) build(components []string, overrides []template.Override) (*template.Prebuilt, error) {
	p, err := s.templates.Prebuild(components, overrides)
	if err != nil {
		return nil, err
	}
	if p.TakesFullBuilds() {
		s.log.Info("Rendering by full builds, which take 10 to 100 times longer: a template modifies a value that a replacement filled in", "components", components)
	}
	return p, nil
}
