// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// lookEvery is how often the API server is asked for what it did not serve, and for
	// what it did.
	lookEvery = 5 * time.Minute
	// soonest is the part of that after which a look is tried again that found something
	// unfinished; the next one waits twice as long, and so on.
	soonest = 60
)

// optional knows which of the templates' optional kinds can be used now. It looks at
// the start, every now and then, and soon after a reconcile met a kind that is gone.
// It sees to OpenShift too, which nobody has to tell us of either.
type optional struct {
	renderer *render.Renderer
	server   *preflight.Optional
	kinds    []schema.GroupVersionKind
	every    time.Duration
	// changed gets an event when every Memcached has to be looked at.
	changed chan event.GenericEvent
	// hurry says that the next look is not to wait for its time.
	hurry chan struct{}

	mu sync.RWMutex
	// absent has every one of kinds that cannot be used now.
	absent map[schema.GroupVersionKind]preflight.Absence

	// The rest is look's alone.
	watcher   *watcher
	watched   map[schema.GroupVersionKind]bool
	openShift bool
	complaint string
}

func newOptional(options Options) *optional {
	o := &optional{
		renderer: options.Renderer,
		server:   options.Found.Optional,
		every:    cmp.Or(options.LookEvery, lookEvery),
		changed:  make(chan event.GenericEvent),
		hurry:    make(chan struct{}, 1),
		absent:   map[schema.GroupVersionKind]preflight.Absence{},
		watched:  map[schema.GroupVersionKind]bool{},
	}
	for _, kind := range options.Renderer.Kinds() {
		if options.Renderer.IsOptional(kind) {
			o.kinds = append(o.kinds, kind)
			o.absent[kind] = preflight.NotServed
		}
	}
	return o
}

// absence is why kind cannot be used now; kinds that are not optional always can.
func (o *optional) absence(kind schema.GroupVersionKind) preflight.Absence {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.absent[kind]
}

// snapshot returns why each of the optional kinds cannot be used now. A reconcile renders and
// prunes by one snapshot: objects of a kind that becomes usable in between were not rendered,
// and must not be pruned.
func (o *optional) snapshot() map[schema.GroupVersionKind]preflight.Absence {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return maps.Clone(o.absent)
}

// set notes what is known of kind now, and tells whether that is news.
func (o *optional) set(ctx context.Context, kind schema.GroupVersionKind, absence preflight.Absence, remedy string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.absent[kind] == absence {
		return false
	}
	o.absent[kind] = absence
	if absence == preflight.Present {
		log.FromContext(ctx).Info("an optional kind is used from now on", "kind", kind.String())
	} else {
		log.FromContext(ctx).Info("objects of an optional kind are left out", "kind", kind.String(), "why", absence, "remedy", remedy)
	}
	return true
}

// isGone reports whether err, which a write of an object of kind met, means that the API
// server does not serve kind any more. Then its objects are skipped from now on, and a look
// soon finds out what is true.
func (o *optional) isGone(ctx context.Context, kind schema.GroupVersionKind, err error) bool {
	if !o.renderer.IsOptional(kind) {
		return false
	}
	var unwatched *cache.ErrResourceNotCached
	switch {
	case apierrors.IsNotFound(err):
		// It may as well be the object that is gone, or its namespace.
		resources, err := o.server.Resources(ctx, kind.GroupVersion())
		if _, served := resources[kind.Kind]; served || err != nil {
			return false
		}
	case apierrors.IsMethodNotSupported(err), meta.IsNoMatchError(err), errors.As(err, &unwatched):
		// A kind whose definition is being deleted still is served, less create.
	default:
		return false
	}
	o.set(ctx, kind, preflight.NotServed, "")
	o.lookSoon()
	return true
}

func (o *optional) lookSoon() {
	select {
	case o.hurry <- struct{}{}:
	default: // It is said already.
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: who leads next has to
// watch, and to render, as the leader does.
func (o *optional) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (o *optional) Start(ctx context.Context) error {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("optional"))
	// The caches have been started before.
	o.watcher.live = true
	retry := o.every / soonest
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.every):
			retry = o.every / soonest
		case <-o.hurry:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(retry):
			}
			retry = min(2*retry, o.every)
		}
		changed, err := o.look(ctx)
		o.complain(ctx, err)
		if changed {
			select {
			case <-ctx.Done():
				return nil
			case o.changed <- event.GenericEvent{Object: &cachev1alpha1.Memcached{}}:
			}
		}
	}
}

// complain logs err once, however often a look meets it, and has it tried again.
func (o *optional) complain(ctx context.Context, err error) {
	if err == nil {
		o.complaint = ""
		return
	}
	o.lookSoon()
	if ctx.Err() == nil && o.complaint != err.Error() {
		o.complaint = err.Error()
		log.FromContext(ctx).Info("looking for optional APIs failed; it is tried again", "why", o.complaint)
	}
}

// look asks the API server what it serves and tells whether anything is new. What it
// could not find out stays as it was known, and is an error.
func (o *optional) look(ctx context.Context) (changed bool, err error) {
	var errs []error
	// What is said before the look was, it answers.
	select {
	case <-o.hurry:
	default:
	}
	if !o.openShift {
		o.openShift, err = o.server.OpenShift(ctx)
		errs = append(errs, err)
		if o.openShift {
			o.renderer.SetOpenShift(true)
			log.FromContext(ctx).Info("this is OpenShift")
			changed = true
		}
	}
	versions := map[schema.GroupVersion]map[string]metav1.APIResource{}
	for _, kind := range o.kinds {
		version := kind.GroupVersion()
		resources, asked := versions[version]
		if !asked {
			if resources, err = o.server.Resources(ctx, version); err != nil {
				errs = append(errs, err)
				continue
			}
			versions[version] = resources
		}
		news, err := o.update(ctx, kind, resources)
		changed = changed || news
		errs = append(errs, err)
	}
	return changed, errors.Join(errs...)
}

// update makes what is known and watched of kind so as resources say.
func (o *optional) update(ctx context.Context, kind schema.GroupVersionKind, resources map[string]metav1.APIResource) (changed bool, err error) {
	resource, served := resources[kind.Kind]
	if o.watched[kind] && (!served || o.absence(kind) != preflight.Present) {
		// Even if it is served again: what its informer holds is of another time.
		o.set(ctx, kind, preflight.NotServed, "")
		if err := o.watcher.remove(ctx, kind); err != nil {
			return true, fmt.Errorf("ending to watch %s objects: %w", kind.Kind, err)
		}
		o.watched[kind], changed = false, true
	}
	if o.watched[kind] {
		return changed, nil
	}
	if !served {
		return o.set(ctx, kind, preflight.NotServed, "") || changed, nil
	}
	absence, remedy, err := o.server.Admit(ctx, kind, resource)
	if err != nil {
		return changed, err
	}
	if absence == preflight.NotPublished {
		o.lookSoon()
	}
	if absence == preflight.Present {
		if err := o.watcher.add(ctx, kind); err != nil {
			return changed, err
		}
		o.watched[kind] = true
	}
	return o.set(ctx, kind, absence, remedy) || changed, nil
}
