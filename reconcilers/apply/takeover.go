// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// adopt applies rendered to the object of its name if that is owner's, whoever
// made it. Only the server knows: the cache does not hold every object, nor the
// field managers of those that it holds.
func (a *Applier) adopt(ctx context.Context, owner *Owner, rendered *unstructured.Unstructured) Result {
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
		return Result{Object: rendered, Action: Waiting, Live: live}
	}
	if err := a.migrate(ctx, live, owner); err != nil {
		return failed(rendered, fmt.Errorf("taking over %s: %w", describe(rendered), err))
	}
	return a.update(ctx, owner, rendered, live)
}

// migrate hands the fields of the manager that made live for owner, by Update, over
// to FieldManager, so that fields which that manager set and we do not render go
// with the next apply. It is the manager that owns our owner reference; fields of
// any other (kubectl annotate, an injector) are not touched. It writes nothing when
// there is no such manager; after it has written, it verifies owner.
func (a *Applier) migrate(ctx context.Context, live client.Object, owner *Owner) error {
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
		return fmt.Errorf("migrating managedFields: %w", err)
	}
	// The patch carries the resourceVersion: a change in between is a conflict.
	if err := a.client.Patch(ctx, live, client.RawPatch(ktypes.JSONPatchType, patch), client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	return owner.Verify(ctx)
}
