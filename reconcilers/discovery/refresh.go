// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Refresh asks the API server which optional kinds it serves and updates the watches. It reports
// whether anything changed. What could not be discovered keeps its previous state, and is in
// the error.
func (w *Watcher) Refresh(ctx context.Context) (changed bool, err error) {
	// This refresh answers a trigger that came before it.
	select {
	case <-w.triggered:
	default:
	}
	changed, err = w.detectOpenShift(ctx)
	errs := []error{err}
	versions := map[schema.GroupVersion]map[string]metav1.APIResource{}
	for _, kind := range w.kinds {
		version := kind.GroupVersion()
		resources, known := versions[version]
		if !known {
			if resources, err = w.client.resources(ctx, version); err != nil {
				errs = append(errs, err)
				continue
			}
			versions[version] = resources
		}
		kindChanged, err := w.refreshKind(ctx, kind, resources)
		changed = changed || kindChanged
		errs = append(errs, err)
	}
	return changed, errors.Join(errs...)
}

// detectOpenShift renders for OpenShift from the moment at which the API server is found to be
// OpenShift's.
func (w *Watcher) detectOpenShift(ctx context.Context) (changed bool, err error) {
	if w.openShift {
		return false, nil
	}
	w.openShift, err = IsOpenShift(ctx, w.client.Discovery.RESTClient())
	if w.openShift {
		w.renderer.SetOpenShift(true)
		log.FromContext(ctx).Info("Detected OpenShift")
	}
	return w.openShift, err
}

// refreshKind updates the availability and the watch of kind. resources are those of its version.
func (w *Watcher) refreshKind(ctx context.Context, kind schema.GroupVersionKind, resources map[string]metav1.APIResource) (changed bool, err error) {
	resource, served := resources[kind.Kind]
	if w.watched[kind] && (!served || !w.isAvailable(kind)) {
		// Also when the kind is served again: its informer holds objects of before.
		w.set(ctx, kind, NotServed, "")
		if err := w.watches.Unwatch(ctx, kind); err != nil {
			return true, fmt.Errorf("stopping the watch on %s objects: %w", kind.Kind, err)
		}
		w.watched[kind], changed = false, true
	}
	if w.watched[kind] {
		return changed, nil
	}
	if !served {
		return w.set(ctx, kind, NotServed, "") || changed, nil
	}
	reason, remedy, err := w.client.check(ctx, kind, resource)
	if err != nil {
		return changed, err
	}
	if reason == NotPublished {
		w.trigger()
	}
	if reason == Available {
		if err := w.watches.Watch(ctx, kind); err != nil {
			return changed, err
		}
		w.watched[kind] = true
	}
	return w.set(ctx, kind, reason, remedy) || changed, nil
}
