// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Owner is the owner of the objects to apply, as a reconcile read it from a cache. The cache may be out of
// date, so the owner is read from the API server before anything is written. Create it with Applier.Owner.
type Owner struct {
	client.Object
	// MayReplacePods, which may be nil, is called at most once in an Apply, before an object is changed whose
	// running pods would be replaced. outdated identifies the state of the live objects that would be changed; it
	// changes when another client changes one of them. If MayReplacePods returns false, none is changed now.
	MayReplacePods func(outdated string) bool
	// ChangeImages, which may be nil, is called when a change of the Deployment of the owner's name is about images.
	ChangeImages ChangeImages
	applier      *Applier
}

// StaleOwnerError reports that a reconcile read its owner from a cache that is out of date. The reconcile
// has to be repeated with a newer cache.
type StaleOwnerError struct {
	// Reason says how the cached owner differs from the live one.
	Reason string
}

func (e *StaleOwnerError) Error() string {
	return "the cached owner is out of date: " + e.Reason
}

// Owner returns object, which a reconcile read from the cache, as an Owner.
func (a *Applier) Owner(object client.Object) *Owner {
	return &Owner{Object: object, applier: a}
}

// Verify compares the owner with the live one, with one request. It returns a *StaleOwnerError when the
// owner was deleted, is being deleted, was replaced by another object of its name, or has another
// generation. Nothing may be written for it then.
func (o *Owner) Verify(ctx context.Context) error {
	kind, err := apiutil.GVKForObject(o.Object, o.applier.scheme)
	if err != nil {
		return err
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	err = o.applier.live.Get(ctx, client.ObjectKeyFromObject(o.Object), live)
	switch {
	case apierrors.IsNotFound(err):
		return &StaleOwnerError{"it was deleted"}
	case err != nil:
		return fmt.Errorf("reading %s %s: %w", kind.Kind, o.GetName(), err)
	case live.UID != o.GetUID():
		return &StaleOwnerError{"it was replaced"}
	case live.DeletionTimestamp != nil:
		return &StaleOwnerError{"it is being deleted"}
	case live.Generation != o.GetGeneration():
		return &StaleOwnerError{fmt.Sprintf("it has generation %d, not %d", live.Generation, o.GetGeneration())}
	}
	return nil
}
