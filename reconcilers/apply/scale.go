// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scaled returns the replicas of the Deployment that deferred is about, if it can be scaled to them now.
func (a *Applier) scaled(owner *Owner, deferred Result) (replicas int64, ok bool) {
	live, isDeployment := deferred.Live.(*appsv1.Deployment)
	replicas, isRendered, _ := unstructured.NestedInt64(deferred.Object.Object, "spec", "replicas")
	if !isDeployment || !isRendered || !isApplied(live) || int64(ptr.Deref(live.Spec.Replicas, 1)) == replicas {
		return 0, false
	}
	return replicas, a.contention.Check(contendedObject(owner, deferred.Object), scaledTo(replicas)) == nil
}

// scaledTo is the state of an object that was scaled alone, for Contention.
func scaledTo(replicas int64) string { return fmt.Sprintf("%d replicas", replicas) }

// unscaled returns the digest of live, or the one of before it was scaled if nothing has changed since.
func (a *Applier) unscaled(live client.Object) digest {
	now := appliedTo(live)
	if last, _ := a.lastAnswer(live); last.scaled == now {
		return last.before
	}
	return now
}

// scale changes the replicas of the Deployment that deferred is about, and nothing else.
func (a *Applier) scale(ctx context.Context, owner *Owner, deferred Result, replicas int64) Result {
	rendered, before := deferred.Object, a.unscaled(deferred.Live)
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"replicas":%d}}`, deferred.Live.GetUID(), replicas)
	live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: rendered.GetNamespace(), Name: rendered.GetName()}}
	err := a.pendingWrites.Write(rendered, func() (client.Object, error) {
		if err := a.client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager)); err != nil {
			return nil, err
		}
		deferred.Live = a.reduce(live)
		return deferred.Live, nil
	})
	if err != nil {
		return Result{Object: rendered, Action: Failed, Err: fmt.Errorf("scaling %s: %w", describe(rendered), err)}
	}
	a.contention.Record(contendedObject(owner, rendered), scaledTo(replicas))
	a.answers.Add(live.GetUID(), answer{before: before, scaled: appliedTo(deferred.Live)})
	return deferred
}
