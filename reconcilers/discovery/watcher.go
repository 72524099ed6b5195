// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const (
	// defaultInterval is the interval between two refreshes.
	defaultInterval = 5 * time.Minute
	// firstRetryDivisor divides the interval to give the delay before the first triggered
	// refresh. The delay doubles with each further one until the next regular refresh.
	firstRetryDivisor = 60
)

// Kinds starts and stops the watches on kinds of objects.
type Kinds interface {
	// Watch caches and watches objects of kind. Once the caches have started it returns when
	// the cache is synced.
	Watch(ctx context.Context, kind schema.GroupVersionKind) error
	// Unwatch stops the watch on kind and drops its objects from the cache.
	Unwatch(ctx context.Context, kind schema.GroupVersionKind) error
	// CachesStarted is called once, when the caches have started.
	CachesStarted()
}

// Watcher keeps the templates in use up to date: it knows which optional kinds are available, and detects OpenShift, which
// changes what is rendered. Create it with New and call Refresh once before adding it to a manager.
type Watcher struct {
	watches  Kinds
	use      func(*Templates)
	denied   func(map[string]string)
	interval time.Duration
	changed  chan event.GenericEvent
	// triggered asks for a refresh before the interval has passed.
	triggered chan struct{}

	// refreshing is held by Refresh and Reload, which use watched. No reconcile waits for it.
	refreshing sync.Mutex
	watched    map[schema.GroupVersionKind]bool

	// mu is held to put other templates into use.
	mu      sync.Mutex
	current *Templates
	// gone holds the kinds that Gone has found since the last refresh began.
	gone map[schema.GroupVersionKind]bool

	// logged is the last error that was logged. Only Start uses it.
	logged string
}

// New returns a Watcher whose first templates are current. It calls use with each that takes their place; use must not block.
// It calls denied, after each look, with the RBAC rules that are missing in some of the watched namespaces, by namespace.
// The zero interval means five minutes.
func New(current *Templates, use func(*Templates), denied func(map[string]string), watches Kinds, interval time.Duration) *Watcher {
	return &Watcher{
		watches:   watches,
		use:       use,
		denied:    denied,
		interval:  cmp.Or(interval, defaultInterval),
		changed:   make(chan event.GenericEvent),
		triggered: make(chan struct{}, 1),
		watched:   map[schema.GroupVersionKind]bool{},
		current:   current,
		gone:      map[schema.GroupVersionKind]bool{},
	}
}

// Changed returns a channel that receives an event when every Memcached has to be reconciled
// since a kind became available or unavailable.
func (w *Watcher) Changed() <-chan event.GenericEvent { return w.changed }

// Gone reports whether err, returned by a write of an object of kind with t, means that the API server
// no longer serves kind. The kind is then unavailable until a refresh, which Gone triggers.
func (w *Watcher) Gone(ctx context.Context, t *Templates, kind schema.GroupVersionKind, err error) bool {
	if !t.Renderer.IsOptional(kind) {
		return false
	}
	var unwatched *cache.ErrResourceNotCached
	switch {
	case apierrors.IsNotFound(err):
		// The object or its namespace may be what is not found.
		resources, err := client{t.Found}.resources(ctx, kind.GroupVersion())
		if _, served := resources[kind.Kind]; served || err != nil {
			return false
		}
	case apierrors.IsMethodNotSupported(err), meta.IsNoMatchError(err), errors.As(err, &unwatched):
		// A kind whose CustomResourceDefinition is being deleted is served without create.
	default:
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[kind] = true
	if reason, known := w.current.unavailable[kind]; known && reason == Available {
		w.current = w.current.clone()
		set(ctx, w.current, kind, NotServed, "")
		w.use(w.current)
	}
	w.trigger()
	return true
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Every replica watches and renders
// as the leader does, so that it is ready to become the leader.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It refreshes until ctx is done.
func (w *Watcher) Start(ctx context.Context) error {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("discovery"))
	// The manager starts caches before other runnables.
	w.watches.CachesStarted()
	retry := w.interval / firstRetryDivisor
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.interval):
			retry = w.interval / firstRetryDivisor
		case <-w.triggered:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(retry):
			}
			retry = min(2*retry, w.interval)
		}
		changed, err := w.Refresh(ctx)
		if err != nil {
			w.trigger()
		}
		w.logOnce(ctx, err)
		if changed {
			w.notify(ctx)
		}
	}
}

// Lead looks for kinds that earlier templates contained, until that succeeds. It is a runnable of the leader, since a leader of
// another version may have applied objects until a moment before.
func (w *Watcher) Lead(ctx context.Context) error {
	for retry := w.interval / firstRetryDivisor; ctx.Err() == nil; retry = min(2*retry, w.interval) {
		changed, err := w.findStale(ctx)
		if changed {
			w.notify(ctx)
		}
		if err == nil {
			break
		}
		log.FromContext(ctx).Info("Looking for objects of earlier templates failed; retrying", "error", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
	return nil
}

// notify has every Memcached reconciled.
func (w *Watcher) notify(ctx context.Context) {
	select {
	case <-ctx.Done():
	case w.changed <- event.GenericEvent{Object: &cachev1alpha1.Memcached{}}:
	}
}

// trigger asks Start for a refresh before the interval has passed.
func (w *Watcher) trigger() {
	select {
	case w.triggered <- struct{}{}:
	default: // One is pending.
	}
}

// logOnce logs err unless the last call logged the same error.
func (w *Watcher) logOnce(ctx context.Context, err error) {
	if err == nil {
		w.logged = ""
		return
	}
	if ctx.Err() == nil && w.logged != err.Error() {
		w.logged = err.Error()
		log.FromContext(ctx).Info("Discovering optional APIs failed; retrying", "error", w.logged)
	}
}
