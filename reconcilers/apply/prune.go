// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OwnerIndex is the name of the cache index by the UID of an object's controller. Objects with the name of
// their controller, which are most, are not in it; they are found by name.
const OwnerIndex = "metadata.controller.uid"

// OwnerIndexers are the indexers that the informer of each kind to prune must have. This is the index that
// client.FieldIndexer creates for OwnerIndex, without its entries for lists of all namespaces.
var OwnerIndexers = toolscache.Indexers{"field:" + OwnerIndex: indexOwner}

// indexOwner is the index function of OwnerIndex.
func indexOwner(object any) ([]string, error) {
	o, ok := object.(client.Object)
	if !ok {
		return nil, nil
	}
	if controller := metav1.GetControllerOfNoCopy(o); controller != nil && controller.Name != o.GetName() {
		return []string{o.GetNamespace() + "/" + string(controller.UID)}, nil
	}
	return nil, nil
}

// deletion is the state of an object that was pruned, for Contention.
const deletion = "deleted"

// Prune deletes the objects of kinds that owner controls and that are not in desired. It returns the
// deleted objects and the first error, which may be that of owner.Verify, or else a *ContentionError. Call it only when all of
// desired were applied, so that the replacement of an object exists before that is deleted.
func (a *Applier) Prune(ctx context.Context, owner *Owner, kinds []schema.GroupVersionKind, desired Desired) ([]client.Object, error) {
	keep := map[objectKey]bool{}
	for _, object := range desired {
		keep[a.pendingWrites.key(object, client.ObjectKeyFromObject(object))] = true
	}
	var pruned []client.Object
	var contended error
	for _, kind := range kinds {
		owned, err := a.owned(ctx, owner, kind, keep)
		if err != nil {
			return pruned, err
		}
		for _, object := range owned {
			object.GetObjectKind().SetGroupVersionKind(kind)
			if object.GetDeletionTimestamp() != nil || a.pendingWrites.IsDeleted(object) || keep[a.pendingWrites.key(object, client.ObjectKeyFromObject(object))] {
				continue
			}
			what := contendedObject(owner, object)
			if err := a.contention.Check(what, deletion); err != nil {
				contended = err
				continue
			}
			if err := owner.Verify(ctx); err != nil {
				return pruned, err
			}
			deleted, err := a.delete(ctx, object)
			if err != nil {
				return pruned, err
			}
			a.contention.Record(what, deletion)
			if deleted {
				pruned = append(pruned, object)
			}
		}
	}
	return pruned, contended
}

// Owned returns the newest known versions of the objects of kind that owner controls. The caller must not change them.
func (a *Applier) Owned(ctx context.Context, owner *Owner, kind schema.GroupVersionKind) ([]client.Object, error) {
	known, err := a.owned(ctx, owner, kind, nil)
	if err != nil {
		return nil, err
	}
	var newest []client.Object
	for _, object := range known {
		empty, err := NewCached(a.scheme, kind)
		if err != nil {
			return nil, err
		}
		switch object, err := a.pendingWrites.Get(ctx, a.client, client.ObjectKeyFromObject(object), empty); {
		case err == nil:
			newest = append(newest, object)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading %s objects: %w", kind.Kind, err)
		}
	}
	return newest, nil
}

// owned returns the objects of kind that owner controls, without the one of owner's name if keep has that.
// An object whose owner reference has owner's UID and another name is not returned; the garbage
// collector deletes it.
func (a *Applier) owned(ctx context.Context, owner *Owner, kind schema.GroupVersionKind, keep map[objectKey]bool) ([]client.Object, error) {
	// An object that was created a moment ago may not be in the cache. As in PendingWrites.Get, the cache is read second.
	pending := a.pendingWrites.Owned(owner.GetUID(), kind.GroupKind())
	var objects []client.Object
	if name := client.ObjectKeyFromObject(owner); !keep[objectKey{kind.GroupKind().String(), name}] {
		named, err := NewCached(a.scheme, kind)
		if err != nil {
			return nil, err
		}
		switch err := a.client.Get(ctx, name, named); {
		case client.IgnoreNotFound(err) != nil:
			return nil, fmt.Errorf("listing %s objects: %w", kind.Kind, err)
		case err == nil && metav1.IsControlledBy(named, owner):
			objects = append(objects, named)
		}
	}
	list, err := newCachedList(a.scheme, kind)
	if err != nil {
		return nil, err
	}
	err = a.client.List(ctx, list, client.InNamespace(owner.GetNamespace()), client.MatchingFields{OwnerIndex: string(owner.GetUID())})
	if err != nil {
		return nil, fmt.Errorf("listing %s objects: %w", kind.Kind, err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		objects = append(objects, item.(client.Object))
		return nil
	})
	for _, written := range pending {
		if !slices.ContainsFunc(objects, func(o client.Object) bool { return o.GetUID() == written.GetUID() }) {
			objects = append(objects, shallowCopy(written))
		}
	}
	return objects, err
}

// delete deletes object unless another object of its name has replaced it. It reports whether it deleted
// the object.
func (a *Applier) delete(ctx context.Context, object client.Object) (bool, error) {
	// The client of metadata alone fails for a custom resource that finalizers keep.
	named, err := NewObject(a.scheme, object.GetObjectKind().GroupVersionKind())
	if err != nil {
		return false, err
	}
	named.SetNamespace(object.GetNamespace())
	named.SetName(object.GetName())
	uid := object.GetUID()
	err = a.client.Delete(ctx, named, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	isGone := apierrors.IsNotFound(err) || apierrors.IsConflict(err)
	if err != nil && !isGone {
		return false, fmt.Errorf("pruning %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	a.pendingWrites.RecordDelete(object)
	return !isGone, nil
}
