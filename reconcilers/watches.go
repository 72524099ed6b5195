// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/discovery"
)

// syncTimeout bounds the time that the cache may take to sync a kind that is watched after the
// start.
const syncTimeout = time.Minute

var _ discovery.Kinds = &watches{}

// watches starts and stops the controller's watches on kinds of the templates.
type watches struct {
	mgr           ctrl.Manager
	pendingWrites *apply.PendingWrites
	// controller is set by SetupWithManager.
	controller controller.Controller

	mu            sync.Mutex
	cachesStarted bool
	kinds         map[schema.GroupVersionKind]bool
}

// CachesStarted implements discovery.Kinds.
func (w *watches) CachesStarted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cachesStarted = true
}

// Watch implements discovery.Kinds: it indexes and watches the objects of kind, unless it already does.
func (w *watches) Watch(ctx context.Context, kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kinds[kind] {
		return nil
	}
	if err := w.watch(ctx, kind); err != nil {
		return err
	}
	w.kinds[kind] = true
	return nil
}

func (w *watches) watch(ctx context.Context, kind schema.GroupVersionKind) error {
	object, err := apply.NewCached(w.mgr.GetScheme(), kind)
	if err != nil {
		return err
	}
	informer, err := w.mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %s objects: %w", kind.Kind, err)
	}
	if err := informer.AddIndexers(apply.OwnerIndexers); err != nil {
		return fmt.Errorf("indexing %s objects: %w", kind.Kind, err)
	}
	if w.cachesStarted {
		if err := w.sync(ctx, object); err != nil {
			return errors.Join(err, w.unwatch(ctx, kind))
		}
	}
	owner := handler.EnqueueRequestForOwner(w.mgr.GetScheme(), w.mgr.GetRESTMapper(), &cachev1alpha1.Memcached{}, handler.OnlyControllerOwner())
	err = w.controller.Watch(source.Kind(w.mgr.GetCache(), object, batched(owner), changed(w.pendingWrites)))
	if err != nil {
		return fmt.Errorf("watching %s objects: %w", kind.Kind, err)
	}
	return nil
}

// sync waits until the cache holds the objects of object's kind.
func (w *watches) sync(ctx context.Context, object client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if _, err := w.mgr.GetCache().GetInformer(ctx, object); err != nil {
		return fmt.Errorf("listing %s objects: %w", object.GetObjectKind().GroupVersionKind().Kind, err)
	}
	return nil
}

// Unwatch implements discovery.Kinds.
func (w *watches) Unwatch(ctx context.Context, kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.kinds, kind)
	return w.unwatch(ctx, kind)
}

func (w *watches) unwatch(ctx context.Context, kind schema.GroupVersionKind) error {
	object, err := apply.NewCached(w.mgr.GetScheme(), kind)
	if err != nil {
		return err
	}
	return w.mgr.GetCache().RemoveInformer(ctx, object)
}
