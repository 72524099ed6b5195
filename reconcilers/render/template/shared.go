// SPDX-License-Identifier: Apache-2.0

package template

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// sharedValues holds maps, lists and paths of some prebuilts, by their content. Most
// sets of components have most of them in common, and a set that shares them takes a
// fraction of the memory. It is safe for concurrent use.
type sharedValues struct {
	mu     sync.Mutex
	values map[[sha256.Size]byte]any
	paths  map[string][]any
}

func newSharedValues() *sharedValues {
	return &sharedValues{values: map[[sha256.Size]byte]any{}, paths: map[string][]any{}}
}

// add makes the parts of p available to other prebuilts.
func (s *sharedValues) add(p *placeholders) { s.intern(p, true) }

// share replaces parts of p by equal ones of s. p is read-only from then on.
func (s *sharedValues) share(p *placeholders) { s.intern(p, false) }

func (s *sharedValues) intern(p *placeholders, add bool) {
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, object := range p.objects {
		p.objects[i] = s.value(object, add).(map[string]any)
	}
	for i := range p.values {
		p.values[i].path = s.path(p.values[i].path, add)
	}
	for i := range p.texts {
		p.texts[i].path = s.path(p.texts[i].path, add)
	}
}

func (s *sharedValues) value(value any, add bool) any {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	key := sha256.Sum256(text)
	if known, ok := s.values[key]; ok {
		return known
	}
	switch v := value.(type) {
	case map[string]any:
		for name, item := range v {
			v[name] = s.value(item, add)
		}
	case []any:
		for i, item := range v {
			v[i] = s.value(item, add)
		}
	}
	if add {
		s.values[key] = value
	}
	return value
}

func (s *sharedValues) path(path []any, add bool) []any {
	key := Dotted(path)
	if known, ok := s.paths[key]; ok {
		return known
	}
	if add {
		s.paths[key] = path
	}
	return path
}
