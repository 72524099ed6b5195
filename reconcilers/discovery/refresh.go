// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Refresh asks the API server which optional kinds it serves, updates the watches, and puts other Templates into use if
// anything changed, which it reports. What could not be discovered keeps its previous state, and is in the error.
func (w *Watcher) Refresh(ctx context.Context) (changed bool, err error) {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	next := w.begin()
	err = w.discover(ctx, next)
	return w.publish(next), err
}

// Reload watches the kinds of renderer, for which preflight.Check returned found, discovers the optional ones, and puts these
// templates into use. After an error those of before stay in use. It is an error if permissions are missing in a namespace that
// is served so far.
//
// Kinds that are no longer in the templates are watched until the operator ends: their objects have to be pruned.
func (w *Watcher) Reload(ctx context.Context, renderer *render.Renderer, found *preflight.Result) error {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	before := w.begin()
	if err := w.checkNamespaces(ctx, before); err != nil {
		return err
	}
	for namespace, rules := range found.Denied {
		if !before.IsDenied(namespace) {
			return errors.New(rules)
		}
	}
	for _, kind := range found.Kinds {
		if err := w.watches.Watch(ctx, kind); err != nil {
			return err
		}
	}
	next := NewTemplates(renderer.ForOpenShift(before.Renderer.IsForOpenShift()), found)
	isKnown := func(kind schema.GroupVersionKind) bool { return slices.Contains(renderer.Kinds(), kind) }
	next.stale = slices.DeleteFunc(before.Kinds(), isKnown)
	for kind := range next.unavailable {
		if reason, known := before.unavailable[kind]; known {
			next.unavailable[kind] = reason
		}
	}
	if err := w.discover(ctx, next); err != nil {
		w.trigger() // The watches may be those of next.
		return err
	}
	w.publish(next)
	return nil
}

// findStale looks for kinds that earlier templates contained, and watches them.
func (w *Watcher) findStale(ctx context.Context) (changed bool, err error) {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	next := w.begin()
	found, err := next.Found.Stale.Find(ctx, append(next.Kinds(), next.optional()...))
	if err != nil {
		return false, err
	}
	for _, kind := range found {
		if err := w.watches.Watch(ctx, kind); err != nil {
			return false, err
		}
	}
	next.stale = append(slices.Clone(next.stale), found...)
	return w.publish(next), nil
}

// begin returns a copy of the templates in use. Until the next publish, Gone remembers what it found.
func (w *Watcher) begin() *Templates {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.gone)
	return w.current.clone()
}

// publish puts next into use, unless it equals what is, and reports whether it did.
func (w *Watcher) publish(next *Templates) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind := range w.gone {
		if _, known := next.unavailable[kind]; known {
			next.unavailable[kind] = NotServed
		}
	}
	if next.equal(w.current) {
		return false
	}
	w.current = next
	w.use(next)
	return true
}

// discover asks the API server whether it is OpenShift's and which optional kinds of t it serves, and changes t and the watches
// accordingly.
func (w *Watcher) discover(ctx context.Context, t *Templates) error {
	// This answers a trigger that came before it.
	select {
	case <-w.triggered:
	default:
	}
	api := client{t.Found}
	errs := []error{w.checkNamespaces(ctx, t)}
	if !t.Renderer.IsForOpenShift() {
		is, err := IsOpenShift(ctx, api.Discovery.RESTClient())
		errs = append(errs, err)
		if is {
			t.Renderer = t.Renderer.ForOpenShift(true)
			log.FromContext(ctx).Info("Detected OpenShift")
		}
	}
	versions := map[schema.GroupVersion]map[string]metav1.APIResource{}
	for _, kind := range t.optional() {
		resources, known := versions[kind.GroupVersion()]
		if !known {
			var err error
			if resources, err = api.resources(ctx, kind.GroupVersion()); err != nil {
				errs = append(errs, err)
				continue
			}
			versions[kind.GroupVersion()] = resources
		}
		errs = append(errs, w.discoverKind(ctx, t, kind, resources))
	}
	return errors.Join(errs...)
}

// checkNamespaces looks for the watched namespaces in which permissions are missing, and reports them. They do not trigger a
// refresh: one that lacks them for good would delay those that other reasons trigger.
func (w *Watcher) checkNamespaces(ctx context.Context, t *Templates) error {
	if slices.Contains(t.Found.Access.Namespaces(nil), metav1.NamespaceAll) {
		return nil // What is granted in all namespaces takes a request for each verb.
	}
	denied, err := t.Found.Access.Check(ctx)
	if err != nil {
		return err
	}
	t.denied = denied
	w.denied(denied)
	return nil
}

// discoverKind updates the availability of kind in t, and its watch. resources are those of its version.
func (w *Watcher) discoverKind(ctx context.Context, t *Templates, kind schema.GroupVersionKind, resources map[string]metav1.APIResource) error {
	resource, served := resources[kind.Kind]
	if w.watched[kind] && served && t.unavailable[kind] == Available {
		return nil
	}
	if w.watched[kind] {
		// Also when the kind is served again: its informer holds objects of before.
		set(ctx, t, kind, NotServed, "")
		if err := w.watches.Unwatch(ctx, kind); err != nil {
			return fmt.Errorf("stopping the watch on %s objects: %w", kind.Kind, err)
		}
		w.watched[kind] = false
	}
	if !served {
		set(ctx, t, kind, NotServed, "")
		return nil
	}
	reason, remedy, err := client{t.Found}.check(ctx, kind, resource, t.denied)
	if err != nil {
		return err
	}
	if reason == NotPublished {
		w.trigger()
	}
	if reason == Available {
		if err := w.watches.Watch(ctx, kind); err != nil {
			return err
		}
		w.watched[kind] = true
	}
	set(ctx, t, kind, reason, remedy)
	return nil
}

// set changes the availability of kind in t, and logs the change.
func set(ctx context.Context, t *Templates, kind schema.GroupVersionKind, reason Unavailability, remedy string) {
	if t.unavailable[kind] == reason {
		return
	}
	t.unavailable[kind] = reason
	if reason == Available {
		log.FromContext(ctx).Info("Optional API available", "kind", kind.String())
	} else {
		log.FromContext(ctx).Info("Optional API unavailable; skipping its objects", "kind", kind.String(), "reason", reason, "remedy", remedy)
	}
}
