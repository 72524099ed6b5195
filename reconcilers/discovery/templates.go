// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Templates are templates and what the API server makes possible with them. They never change: others take their place, so
// that a reconcile renders, applies and prunes by those that it began with.
type Templates struct {
	Renderer *render.Renderer
	// Found is what preflight.Check found for Renderer.
	Found *preflight.Result

	unavailable map[schema.GroupVersionKind]Unavailability
	// stale are the kinds that earlier templates contained, of which there may be objects to prune.
	stale []schema.GroupVersionKind
	// denied holds the RBAC rules that are missing, by namespace.
	denied map[string]string
}

// NewTemplates returns the templates of renderer, for which preflight.Check returned found. Their optional kinds are
// unavailable until they are discovered.
func NewTemplates(renderer *render.Renderer, found *preflight.Result) *Templates {
	t := &Templates{Renderer: renderer, Found: found, unavailable: map[schema.GroupVersionKind]Unavailability{}, denied: found.Denied}
	for _, kind := range renderer.Kinds() {
		if renderer.IsOptional(kind) {
			t.unavailable[kind] = NotServed
		}
	}
	return t
}

// Unavailability returns why objects of kind cannot be applied; Available if they can.
func (t *Templates) Unavailability(kind schema.GroupVersionKind) Unavailability {
	return t.unavailable[kind]
}

// IsDenied reports whether the operator lacks permissions in namespace. What its cache holds of it may be old or incomplete.
func (t *Templates) IsDenied(namespace string) bool { return t.denied[namespace] != "" }

// Kinds returns the kinds of which there may be objects: those of Found, the optional ones that are available, and the ones that
// earlier templates contained.
func (t *Templates) Kinds() []schema.GroupVersionKind {
	kinds := slices.Concat(t.Found.Kinds, t.stale)
	for _, kind := range t.optional() {
		if t.unavailable[kind] == Available {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// optional returns the optional kinds, sorted.
func (t *Templates) optional() []schema.GroupVersionKind {
	return slices.SortedFunc(maps.Keys(t.unavailable), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
}

// equal reports whether t and other render, skip and prune the same objects.
func (t *Templates) equal(other *Templates) bool {
	return t.Renderer == other.Renderer && t.Found == other.Found && slices.Equal(t.stale, other.stale) &&
		maps.Equal(t.unavailable, other.unavailable) && maps.Equal(t.denied, other.denied)
}

// clone returns a copy that may be changed.
func (t *Templates) clone() *Templates {
	return &Templates{t.Renderer, t.Found, maps.Clone(t.unavailable), t.stale, t.denied}
}
