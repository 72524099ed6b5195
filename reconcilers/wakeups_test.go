// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func TestStatusWriter_RevertsEditsOfOthers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "edited", 1)
	ready(t, mc)
	want := mc.Status.DeepCopy()
	for name, edit := range map[string]func(*cachev1alpha1.MemcachedStatus){
		"wiped":              func(s *cachev1alpha1.MemcachedStatus) { *s = cachev1alpha1.MemcachedStatus{} },
		"another generation": func(s *cachev1alpha1.MemcachedStatus) { s.ObservedGeneration = 99 },
		"a condition":        func(s *cachev1alpha1.MemcachedStatus) { s.Conditions[0].Status = metav1.ConditionFalse },
		"the nodes":          func(s *cachev1alpha1.MemcachedStatus) { s.Nodes = append(s.Nodes, "another") },
	} {
		t.Run(name, func(t *testing.T) {
			fatal(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc))
			edit(&mc.Status)
			fatal(t, suite.Client.Status().Update(t.Context(), mc, client.FieldOwner("somebody")))
			eventually(t, mc, "the status that it had", func(mc *cachev1alpha1.Memcached) bool {
				return isReady(mc) && is(mc, cachev1alpha1.ConditionAvailable, metav1.ConditionTrue, "") && len(mc.Status.Nodes) == 1 && mc.Status.Endpoint == want.Endpoint && mc.Status.ObservedGeneration == want.ObservedGeneration
			})
		})
	}
}

func TestStatusWriter_IgnoresConditionsOfOthers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	o := startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "shared", 0)
	ready(t, mc)
	foreign := metav1.Condition{Type: "BackedUp", Status: metav1.ConditionTrue, Reason: "Done", LastTransitionTime: metav1.Now()}
	meta.SetStatusCondition(&mc.Status.Conditions, foreign)
	before := len(o.matching("/memcacheds/shared/status"))
	fatal(t, suite.Client.Status().Update(t.Context(), mc, client.FieldOwner("backup")))
	// Reverting the Service changes nothing in the status. When it was reverted the second time,
	// the reconcile that did it the first time has ended.
	for range 2 {
		patch(t, service(namespace, "shared"), `{"spec":{"publishNotReadyAddresses":false}}`)
		eventually(t, service(namespace, "shared"), "the Service is reverted", func(s *corev1.Service) bool { return s.Spec.PublishNotReadyAddresses })
	}
	if writes := o.matching("/memcacheds/shared/status")[before:]; len(writes) > 0 {
		t.Errorf("writes of the status: %v", writes)
	}
	fatal(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc))
	if meta.FindStatusCondition(mc.Status.Conditions, foreign.Type) == nil {
		t.Errorf("the condition of others is gone: %+v", mc.Status.Conditions)
	}
}

// The Memcached changes after it was read and before its status is written.
func TestStatusWriter_RejectsStaleVersion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, mc *cachev1alpha1.Memcached){
		"edited": func(t *testing.T, mc *cachev1alpha1.Memcached) {
			t.Helper()
			patch(t, mc, `{"spec":{"minReadySeconds":7}}`)
		},
		"replaced": func(t *testing.T, mc *cachev1alpha1.Memcached) {
			t.Helper()
			fatal(t, suite.Client.Delete(t.Context(), mc))
			gone(t, mc)
			newMemcached(t, mc.Namespace, mc.Name, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			o := startOperator(t, suite.operator, namespace, nil)
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "changing"}}
			changing := mc.DeepCopy()
			o.onFirst("PATCH", "/memcacheds/changing/status", func(context.Context) { change(t, changing) })
			newMemcached(t, namespace, mc.Name, 0)
			ready(t, mc)
			if got := o.statuses("/memcacheds/changing/status"); got[0] != http.StatusConflict {
				t.Errorf("the status of the version before was answered by %d, want 409: %v", got[0], got)
			}
		})
	}
}

// A policy that denies answers 422, as if the object itself were invalid.
func TestReconcile_RetriesRejectedObject(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "example.com/denied", "true")
	denyingPolicy(t, namespace, "example.com/denied")
	startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "denied", 0)
	eventually(t, mc, "stalled", func(mc *cachev1alpha1.Memcached) bool {
		return is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonInvalidObject)
	})
	patch(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"example.com/denied":null}}}`)
	ready(t, mc)
}

// denyingPolicy makes the server reject Deployments in namespaces with label, and waits until
// it does.
func denyingPolicy(t *testing.T, namespace, label string) {
	t.Helper()
	for kind, spec := range map[string]map[string]any{
		"ValidatingAdmissionPolicy": {
			"matchConstraints": map[string]any{
				"namespaceSelector": map[string]any{"matchLabels": map[string]any{label: "true"}},
				"resourceRules": []any{map[string]any{
					"apiGroups": []any{"apps"}, "apiVersions": []any{"v1"}, "resources": []any{"deployments"}, "operations": []any{"CREATE", "UPDATE"},
				}},
			},
			"validations": []any{map[string]any{"expression": "false", "message": "not on Sundays"}},
		},
		"ValidatingAdmissionPolicyBinding": {"policyName": namespace, "validationActions": []any{"Deny"}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": namespace}, "spec": spec,
		}}
		fatal(t, suite.Apply(t.Context(), object))
		t.Cleanup(func() {
			if err := suite.Client.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Error(err)
			}
		})
	}
	probe := deployment(namespace, "probe")
	probe.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "probe"}}
	probe.Spec.Template.Labels = probe.Spec.Selector.MatchLabels
	probe.Spec.Template.Spec.Containers = []corev1.Container{{Name: "probe", Image: "example.com/probe"}}
	poll(t, "the policy should be at work", func(ctx context.Context) (bool, error) {
		err := suite.Client.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		return apierrors.IsInvalid(err), client.IgnoreAlreadyExists(ignoreInvalid(err))
	})
}

func ignoreInvalid(err error) error {
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}
