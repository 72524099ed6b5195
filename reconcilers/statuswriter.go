// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	cachev1alpha1ac "github.com/example/memcached-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
)

// statusFieldManager is the field manager of the status of Memcacheds. Like apply.FieldManager, it
// must never change.
const statusFieldManager = apply.FieldManager + "-status"

// writeStatus applies next as the status of mc unless mc has it already. The request names the
// resourceVersion that was read. If the API server has another one, it rejects the request and
// the error is a StaleOwnerError.
func (r *Reconciler) writeStatus(ctx context.Context, mc *cachev1alpha1.Memcached, next cachev1alpha1.MemcachedStatus) error {
	if isSameStatus(mc.Status, next) {
		return nil
	}
	what := apply.Contended{Owner: mc.UID, Kind: cachev1alpha1.MemcachedKind.GroupKind(), Name: mc.Name}
	if err := r.contention.Check(what, withoutTimes(next)); err != nil {
		return err
	}
	object := cachev1alpha1ac.Memcached(mc.Name, mc.Namespace).
		WithResourceVersion(mc.ResourceVersion).
		WithStatus(statusConfiguration(next))
	err := r.pendingWrites.Write(mc, func() (client.Object, error) {
		err := r.client.Status().Apply(ctx, object, client.FieldOwner(statusFieldManager), client.ForceOwnership)
		// observe uses only the status and the version of a pending write.
		written := &cachev1alpha1.Memcached{Status: next}
		written.Namespace, written.Name, written.UID = mc.Namespace, mc.Name, mc.UID
		written.ResourceVersion = ptr.Deref(object.ResourceVersion, mc.ResourceVersion)
		return written, err
	})
	switch {
	case apierrors.IsNotFound(err):
		return &apply.StaleOwnerError{Reason: "it was deleted"}
	case apierrors.IsConflict(err):
		return &apply.StaleOwnerError{Reason: "it was changed or replaced"}
	case err != nil:
		return fmt.Errorf("writing the status: %w", err)
	}
	r.contention.Record(what, withoutTimes(next))
	return nil
}

// withoutTimes returns s as text without the times of its conditions, which change if another writer undoes it.
func withoutTimes(s cachev1alpha1.MemcachedStatus) string {
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	text, _ := json.Marshal(s) // It has no value that cannot be encoded.
	return string(text)
}

// isSameStatus reports whether status equals next, apart from conditions of types that the operator
// does not set.
func isSameStatus(status, next cachev1alpha1.MemcachedStatus) bool {
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool {
		return !slices.Contains(cachev1alpha1.ConditionTypes, c.Type)
	})
	byType := func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) }
	next.Conditions = slices.SortedFunc(slices.Values(next.Conditions), byType)
	slices.SortFunc(status.Conditions, byType)
	return equality.Semantic.DeepEqual(status, next)
}

// statusConfiguration returns s as an apply configuration.
func statusConfiguration(s cachev1alpha1.MemcachedStatus) *cachev1alpha1ac.MemcachedStatusApplyConfiguration {
	configuration := cachev1alpha1ac.MemcachedStatus().
		WithReplicas(ptr.Deref(s.Replicas, 0)).
		WithReadyReplicas(ptr.Deref(s.ReadyReplicas, 0)).
		WithPodsReady(s.PodsReady).
		WithEndpoint(s.Endpoint).
		WithObservedGeneration(s.ObservedGeneration).
		WithNodes(s.Nodes...).
		WithServers(s.Servers...)
	if s.Selector != "" {
		configuration.WithSelector(s.Selector)
	}
	if s.LastReadySpec != "" {
		configuration.WithLastReadySpec(s.LastReadySpec)
	}
	if s.Image != "" {
		configuration.WithImage(s.Image)
	}
	for _, c := range s.Conditions {
		configuration.WithConditions(metav1ac.Condition().
			WithType(c.Type).
			WithStatus(c.Status).
			WithObservedGeneration(c.ObservedGeneration).
			WithLastTransitionTime(c.LastTransitionTime).
			WithReason(c.Reason).
			WithMessage(c.Message))
	}
	return configuration
}
