// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// adopt applies rendered to the live object of its name if owner owns that, whichever client created it.
// It reads the object from the API server, since the cache holds neither every object nor all field
// managers.
func (a *Applier) adopt(ctx context.Context, owner *Owner, rendered *prepared) Result {
	live, err := NewObject(a.scheme, rendered.GroupVersionKind())
	if err != nil {
		return failed(rendered, err)
	}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(rendered), live); err != nil {
		return failed(rendered, fmt.Errorf("reading %s: %w", describe(rendered), err))
	}
	switch {
	case !isOwnedBy(live, owner):
		return a.conflict(rendered, live, owner)
	case live.GetDeletionTimestamp() != nil:
		return Result{Object: rendered.Unstructured, Action: Waiting, Live: live}
	}
	if err := a.upgradeManagedFields(ctx, live, owner); err != nil {
		return failed(rendered, fmt.Errorf("adopting %s: %w", describe(rendered), err))
	}
	return a.updateFrom(ctx, owner, rendered, live, live)
}

// upgradeManagedFields transfers the fields of the manager that created live for owner by Update to
// FieldManager, so that the next apply removes those that are not rendered. That manager is the one
// that owns the owner reference; fields of any other, such as kubectl annotate or an injector, keep
// their manager. It writes nothing when there is no such manager, and verifies owner
// after a write.
func (a *Applier) upgradeManagedFields(ctx context.Context, live client.Object, owner *Owner) error {
	reference := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "ownerReferences",
		fieldpath.KeyByFields("uid", string(owner.GetUID()))))
	managers := sets.New[string]()
	for _, entry := range csaupgrade.FindFieldsOwners(live.GetManagedFields(), metav1.ManagedFieldsOperationUpdate, reference) {
		managers.Insert(entry.Manager)
	}
	if managers.Len() == 0 {
		return nil
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, managers, FieldManager)
	if err != nil {
		return fmt.Errorf("upgrading managedFields: %w", err)
	}
	// The patch contains the resourceVersion, so that a concurrent change is a conflict.
	if err := a.client.Patch(ctx, live, client.RawPatch(ktypes.JSONPatchType, patch), client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	return owner.Verify(ctx)
}

// isOwnedBy reports whether owner is the controller of live, or live has no controller and FieldManager
// applied it, which means that the owner reference was removed.
func isOwnedBy(live client.Object, owner *Owner) bool {
	controller := metav1.GetControllerOf(live)
	if controller != nil {
		return controller.UID == owner.GetUID()
	}
	return isApplied(live)
}

// isApplied reports whether FieldManager has ever applied live.
func isApplied(live client.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), isManagedByUs)
}

// conflict returns a Conflict with live, which has another owner, or Waiting if that is a deleted
// object with owner's kind and name: the garbage collector will delete live.
func (a *Applier) conflict(rendered *prepared, live client.Object, owner *Owner) Result {
	err := &OwnershipConflictError{Kind: rendered.GetKind(), Name: rendered.GetName()}
	if controller := metav1.GetControllerOf(live); controller != nil {
		kind, _ := apiutil.GVKForObject(owner.Object, a.scheme)
		if IsOfKind(controller, kind.GroupKind()) && controller.Name == owner.GetName() {
			return Result{Object: rendered.Unstructured, Action: Waiting, Live: live}
		}
		err.Controller = controller.Kind + " " + controller.Name
	}
	return Result{Object: rendered.Unstructured, Action: Conflict, Err: err}
}
