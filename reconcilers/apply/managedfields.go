// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// appliedFields returns the fields that FieldManager applied, according to managedFields.
func appliedFields(live client.Object) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if !isManagedByUs(entry) || entry.FieldsV1 == nil {
			continue
		}
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("reading managedFields of %s: %w", live.GetName(), err)
		}
	}
	return fields, nil
}

// isManagedByUs reports whether entry records an apply of FieldManager.
func isManagedByUs(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// ourEntry returns the entry of object's managedFields that records an apply of FieldManager.
func ourEntry(object client.Object) (*metav1.ManagedFieldsEntry, bool) {
	for _, entry := range object.GetManagedFields() {
		if isManagedByUs(entry) && entry.FieldsV1 != nil {
			return &entry, true
		}
	}
	return nil, false
}
