// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"

	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Reload replaces the templates by those of renderer, for which preflight.Check returned found, and reconciles all
// Memcacheds. It is called once the manager has started, and not concurrently. After an error the templates are
// those of before.
//
// Kinds that are no longer in the templates are watched until the operator ends: their objects have to be
// pruned.
func (r *Reconciler) Reload(ctx context.Context, renderer *render.Renderer, found *preflight.Result) error {
	for _, kind := range found.Kinds {
		if err := r.watches.Watch(ctx, kind); err != nil {
			return err
		}
	}
	if err := r.replaceTemplates(ctx, renderer, found); err != nil {
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

// replaceTemplates waits for the reconciles in progress and replaces the templates.
func (r *Reconciler) replaceTemplates(ctx context.Context, renderer *render.Renderer, found *preflight.Result) error {
	r.templates.Lock()
	defer r.templates.Unlock()
	if err := r.optional.Reload(ctx, renderer, found); err != nil {
		return err
	}
	r.renderer, r.applier, r.kinds = renderer, r.newApplier(found.Types), found.Kinds
	r.rollout.Restart()
	return nil
}
