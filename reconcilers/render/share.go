// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// parts are the maps, lists and paths of some prebuilts, by their content. Most sets of
// components have most of them in common, so that a set which shares them takes a
// fraction of the memory. They are safe for use by many goroutines.
type parts struct {
	mu     sync.Mutex
	values map[[sha256.Size]byte]any
	paths  map[string][]any
}

func newParts() *parts {
	return &parts{values: map[[sha256.Size]byte]any{}, paths: map[string][]any{}}
}

// add adds what p consists of.
func (s *parts) add(p *placeholders) { s.walk(p, true) }

// share puts those of s in place of equal parts of p, which is read-only from then on.
func (s *parts) share(p *placeholders) { s.walk(p, false) }

func (s *parts) walk(p *placeholders, add bool) {
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

func (s *parts) value(value any, add bool) any {
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

func (s *parts) path(path []any, add bool) []any {
	key := dotted(path)
	if known, ok := s.paths[key]; ok {
		return known
	}
	if add {
		s.paths[key] = path
	}
	return path
}
