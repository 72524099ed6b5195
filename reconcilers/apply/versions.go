// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EqualIgnoringVersion reports whether two versions of an object are equal in what the cache keeps. It is
// false for the same version, as in a resync.
func EqualIgnoringVersion(before, after client.Object) bool {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return false
	}
	same := shallowCopy(before)
	same.SetResourceVersion(after.GetResourceVersion())
	// Objects from a cache have no kind.
	same.GetObjectKind().SetGroupVersionKind(after.GetObjectKind().GroupVersionKind())
	return equality.Semantic.DeepEqual(same, after)
}

// isOlder reports whether a is an earlier version than b. It is false if they cannot be compared, so that
// the cache takes precedence.
func isOlder(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
