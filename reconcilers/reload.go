// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/discovery"
	"github.com/example/memcached-operator/reconcilers/pacing"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// templateSet is what a reconcile uses from begin to end. It never changes: another one takes its place.
type templateSet struct {
	*discovery.Templates

	applier *apply.Applier
	// pacing limits how many Memcacheds begin to use these templates at the same time.
	pacing *pacing.Limiter
}

// Reload replaces the templates by those of renderer, for which preflight.Check returned found, and reconciles all
// Memcacheds. It is called once the manager has started. After an error the templates are those of before. Reconciles in
// progress end with the templates that they began with.
func (r *Reconciler) Reload(ctx context.Context, renderer *render.Renderer, found *preflight.Result) error {
	if err := r.optional.Reload(ctx, renderer, found); err != nil {
		return err
	}
	keys, err := r.memcachedKeys(ctx)
	if err != nil {
		return fmt.Errorf("listing the Memcacheds: %w", err)
	}
	for _, key := range keys {
		r.enqueue(key)
	}
	return nil
}

// use puts templates into use. It is called by one goroutine at a time.
func (r *Reconciler) use(templates *discovery.Templates) {
	before := r.templates.Load()
	next := &templateSet{templates, before.applier, before.pacing}
	if templates.Found != before.Found {
		next.applier = r.newApplier(templates.Found.Types)
	}
	if templates.Renderer != before.Renderer {
		next.pacing = before.pacing.Next()
	}
	r.templates.Store(next)
}
