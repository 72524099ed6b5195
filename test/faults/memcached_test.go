// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// editAnnotation is a pod annotation that counts the edits of a Memcached, so that a Deployment
// tells which edit it follows.
const editAnnotation = "example.com/edit"

// specOf returns the spec after that many edits. Each edit changes every child, and shortens or
// lengthens atomic lists.
func specOf(edit int) cachev1alpha1.MemcachedSpec {
	spec := cachev1alpha1.MemcachedSpec{
		Size:                new(int32(1 + edit%2)),
		MinReadySeconds:     new(int32(0)),
		PodMetadata:         &cachev1alpha1.PodMetadata{Annotations: cachev1alpha1.Annotations{editAnnotation: cachev1alpha1.AnnotationValue(strconv.Itoa(edit))}},
		Service:             &cachev1alpha1.Service{Annotations: cachev1alpha1.Annotations{editAnnotation: cachev1alpha1.AnnotationValue(strconv.Itoa(edit))}},
		PodDisruptionBudget: &cachev1alpha1.PodDisruptionBudget{MaxUnavailable: new(intstr.FromInt32(int32(1 + edit%3)))},
		NetworkPolicy:       &cachev1alpha1.NetworkPolicy{From: []cachev1alpha1.NetworkPolicyPeer{}},
	}
	for i := range 1 + edit%3 {
		spec.NetworkPolicy.From = append(spec.NetworkPolicy.From, peer(fmt.Sprintf("team-%d", i), edit%2 == 0))
		spec.Tolerations = append(spec.Tolerations, cachev1alpha1.Toleration{Key: cachev1alpha1.LabelKey(fmt.Sprintf("key-%d", i)), Operator: corev1.TolerationOpExists})
	}
	return spec
}

// peer returns a peer of a network policy: the pods of team, in all namespaces or in that of
// the Memcached.
func peer(team string, allNamespaces bool) cachev1alpha1.NetworkPolicyPeer {
	p := cachev1alpha1.NetworkPolicyPeer{PodSelector: &cachev1alpha1.LabelSelector{MatchLabels: map[string]cachev1alpha1.LabelValue{"team": cachev1alpha1.LabelValue(team)}}}
	if allNamespaces {
		p.NamespaceSelector = &cachev1alpha1.LabelSelector{}
	}
	return p
}

// newNamespaces makes n namespaces.
func newNamespaces(t *testing.T, n int) []string {
	t.Helper()
	var namespaces []string
	for range n {
		namespaces = append(namespaces, suite.NewNamespace(t))
	}
	return namespaces
}

// newMemcached creates a Memcached, which is deleted with the test.
func newMemcached(t *testing.T, namespace string, spec cachev1alpha1.MemcachedSpec) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"}, Spec: spec}
	testenv.NoError(t, suite.Client.Create(t.Context(), mc))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := suite.Client.Delete(ctx, mc); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return mc
}

// edit changes the spec of mc.
func edit(t *testing.T, mc *cachev1alpha1.Memcached, change func(*cachev1alpha1.MemcachedSpec)) {
	t.Helper()
	testenv.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
			return err
		}
		change(&mc.Spec)
		return suite.Client.Update(t.Context(), mc)
	}))
}

// editTo makes the spec of mc that after so many edits.
func editTo(t *testing.T, mc *cachev1alpha1.Memcached, edits int) {
	t.Helper()
	edit(t, mc, func(spec *cachev1alpha1.MemcachedSpec) { *spec = specOf(edits) })
}

// remove deletes mc, waits until it is gone, and returns when the API server answered.
func remove(t *testing.T, mc *cachev1alpha1.Memcached) (answered time.Time) {
	t.Helper()
	testenv.NoError(t, suite.Client.Delete(t.Context(), mc))
	answered = time.Now()
	eventually(t, "the Memcached should be gone", func(ctx context.Context) (bool, error) {
		now := &cachev1alpha1.Memcached{}
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), now)
		return apierrors.IsNotFound(err) || err == nil && now.UID != mc.UID, client.IgnoreNotFound(err)
	})
	return answered
}

// isSettled reads mc and reports whether it is ready in its present generation.
func isSettled(ctx context.Context, mc *cachev1alpha1.Memcached) (bool, error) {
	if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == mc.Generation &&
		mc.Status.ObservedGeneration == mc.Generation, nil
}

// settled waits until mc is ready in its present generation.
func settled(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s/%s: generation %d, status %+v", mc.Namespace, mc.Name, mc.Generation, mc.Status)
		}
	})
	eventually(t, "the Memcached should be ready", func(ctx context.Context) (bool, error) { return isSettled(ctx, mc) })
}

// deploymentShows waits until the Deployment of mc follows that edit.
func deploymentShows(t *testing.T, mc *cachev1alpha1.Memcached, edits int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the Deployment should follow edit %d", edits), func(ctx context.Context) (bool, error) {
		d := &appsv1.Deployment{}
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), d)
		return err == nil && d.Spec.Template.Annotations[editAnnotation] == strconv.Itoa(edits), client.IgnoreNotFound(err)
	})
}
