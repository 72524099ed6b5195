// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
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

// Watcher knows which optional kinds of the templates are available, and detects OpenShift,
// which changes what is rendered. Create it with New and call Refresh once before adding it to a
// manager.
type Watcher struct {
	templates
	watches  Kinds
	interval time.Duration
	changed  chan event.GenericEvent
	// triggered asks for a refresh before the interval has passed.
	triggered chan struct{}

	mu          sync.RWMutex
	unavailable map[schema.GroupVersionKind]Unavailability

	// refreshing is held by Refresh and Reload, which use the fields below.
	refreshing sync.Mutex
	watched    map[schema.GroupVersionKind]bool
	openShift  bool

	// logged is the last error that was logged. Only Start uses it.
	logged string
}

// templates are the templates whose optional kinds a Watcher knows.
type templates struct {
	renderer *render.Renderer
	client   client
	// kinds are their optional kinds.
	kinds []schema.GroupVersionKind
}

func newTemplates(renderer *render.Renderer, found *preflight.Result) templates {
	isRequired := func(kind schema.GroupVersionKind) bool { return !renderer.IsOptional(kind) }
	return templates{renderer, client{found}, slices.DeleteFunc(slices.Clone(renderer.Kinds()), isRequired)}
}

// New returns a Watcher for the optional kinds of renderer, which are unavailable until the first
// Refresh. The zero interval means five minutes.
func New(renderer *render.Renderer, found *preflight.Result, watches Kinds, interval time.Duration) *Watcher {
	w := &Watcher{
		watches:   watches,
		interval:  cmp.Or(interval, defaultInterval),
		changed:   make(chan event.GenericEvent),
		triggered: make(chan struct{}, 1),
		watched:   map[schema.GroupVersionKind]bool{},
	}
	w.use(newTemplates(renderer, found))
	return w
}

// use makes t the templates. Optional kinds that the earlier ones did not have are unavailable until the next
// refresh.
func (w *Watcher) use(t templates) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.templates = t
	before := w.unavailable
	w.unavailable = map[schema.GroupVersionKind]Unavailability{}
	for _, kind := range t.kinds {
		w.unavailable[kind] = NotServed
		if reason, known := before[kind]; known {
			w.unavailable[kind] = reason
		}
	}
	if w.openShift {
		t.renderer.SetOpenShift(true)
	}
}

// Reload replaces the templates by those of renderer and refreshes. After an error they are those of before. No
// other method but Refresh may be called meanwhile.
func (w *Watcher) Reload(ctx context.Context, renderer *render.Renderer, found *preflight.Result) error {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	before, unavailable := w.templates, w.Snapshot()
	w.use(newTemplates(renderer, found))
	_, err := w.refresh(ctx)
	if err != nil {
		w.use(before)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unavailable = unavailable
	}
	return err
}

// Kinds returns the optional kinds of the templates.
func (w *Watcher) Kinds() []schema.GroupVersionKind { return w.kinds }

// Changed returns a channel that receives an event when every Memcached has to be reconciled
// since a kind became available or unavailable.
func (w *Watcher) Changed() <-chan event.GenericEvent { return w.changed }

// Snapshot returns why each optional kind is unavailable. A reconcile renders and prunes by one
// snapshot: objects of a kind that becomes available in between were not rendered and must not
// be pruned.
func (w *Watcher) Snapshot() map[schema.GroupVersionKind]Unavailability {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return maps.Clone(w.unavailable)
}

// IsGone reports whether err, returned by a write of an object of kind, means that the API server
// no longer serves kind. The kind is then unavailable until a refresh, which IsGone triggers.
func (w *Watcher) IsGone(ctx context.Context, kind schema.GroupVersionKind, err error) bool {
	if !w.renderer.IsOptional(kind) {
		return false
	}
	var unwatched *cache.ErrResourceNotCached
	switch {
	case apierrors.IsNotFound(err):
		// The object or its namespace may be what is not found.
		resources, err := w.client.resources(ctx, kind.GroupVersion())
		if _, served := resources[kind.Kind]; served || err != nil {
			return false
		}
	case apierrors.IsMethodNotSupported(err), meta.IsNoMatchError(err), errors.As(err, &unwatched):
		// A kind whose CustomResourceDefinition is being deleted is served without create.
	default:
		return false
	}
	w.set(ctx, kind, NotServed, "")
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
			select {
			case <-ctx.Done():
				return nil
			case w.changed <- event.GenericEvent{Object: &cachev1alpha1.Memcached{}}:
			}
		}
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

// set records whether kind is available, logs a change and reports whether there was one.
func (w *Watcher) set(ctx context.Context, kind schema.GroupVersionKind, reason Unavailability, remedy string) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unavailable[kind] == reason {
		return false
	}
	w.unavailable[kind] = reason
	if reason == Available {
		log.FromContext(ctx).Info("Optional API available", "kind", kind.String())
	} else {
		log.FromContext(ctx).Info("Optional API unavailable; skipping its objects", "kind", kind.String(), "reason", reason, "remedy", remedy)
	}
	return true
}

// isAvailable reports whether objects of kind can be applied.
func (w *Watcher) isAvailable(kind schema.GroupVersionKind) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.unavailable[kind] == Available
}
