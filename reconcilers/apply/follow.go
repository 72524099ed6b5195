// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// followsPods reports whether object is an EndpointSlice: it is rendered from pods and from its own version of before, so it may
// be applied to that version only.
func followsPods(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind() == EndpointSliceKind
}

// FollowsSizeAnnotation is "true" on a rendered object that changes with the size of the Memcached alone, and by which no pod is
// replaced. It is changed when Deployments are scaled, also while they may not be changed otherwise.
const FollowsSizeAnnotation = "cache.example.com/follows-size"

// mayPrecedePods reports whether object is changed also while the pods may not be.
func mayPrecedePods(object client.Object) bool {
	return followsPods(object) || object.GetAnnotations()[FollowsSizeAnnotation] == "true"
}

// refetch returns the conflict of a creation of rendered, which exists, and keeps the live object for the next look at it, unless it
// is not owner's.
func (a *Applier) refetch(ctx context.Context, owner *Owner, rendered *prepared, conflict error) Result {
	live, err := NewObject(a.scheme, rendered.GroupVersionKind())
	if err != nil {
		return failed(rendered, err)
	}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(rendered), live); err != nil {
		return failed(rendered, fmt.Errorf("reading %s: %w", describe(rendered), err))
	}
	if !isOwnedBy(live, owner) {
		return a.conflict(rendered, live, owner)
	}
	_ = a.pendingWrites.Write(rendered, func() (client.Object, error) { return a.reduce(live), nil })
	return failed(rendered, conflict)
}
