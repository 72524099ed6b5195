// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func TestWhatStopsAMemcachedIsSaidInTheServersWords(t *testing.T) {
	t.Parallel()
	site := func(patch string) edit {
		return edit{"components/site/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment}
  patch: '` + patch + `'
`}
	}
	for name, test := range map[string]struct {
		edits     edit
		prepare   func(t *testing.T, namespace string)
		labels    []string
		condition string
		reason    string
		words     []string
	}{
		"a Deployment that the API server rejects is stalled": {
			edits:     site(`[{"op": "add", "path": "/spec/template/spec/restartPolicy", "value": "Never"}]`),
			condition: cachev1alpha1.ConditionStalled,
			reason:    cachev1alpha1.ReasonInvalidObject,
			words:     []string{"restartPolicy", "Unsupported value"},
		},
		"a quota that stops the pods": {
			prepare: func(t *testing.T, namespace string) {
				t.Helper()
				quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-pods"}}
				quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
				fatal(t, suite.Client.Create(t.Context(), quota))
				eventually(t, quota, "the quota counts", func(q *corev1.ResourceQuota) bool { return q.Status.Hard != nil })
			},
			condition: cachev1alpha1.ConditionReconciling,
			reason:    "FailedCreate",
			words:     []string{"exceeded quota", "no-pods"},
		},
		"Pod Security that stops the pods": {
			edits:     site(`[{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}]`),
			labels:    []string{"pod-security.kubernetes.io/enforce", "restricted"},
			condition: cachev1alpha1.ConditionReconciling,
			reason:    "FailedCreate",
			words:     []string{"violates PodSecurity", "hostNetwork"},
		},
		"pods that no node takes": {
			edits:     site(`[{"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {"nowhere": "true"}}]`),
			condition: cachev1alpha1.ConditionReconciling,
			reason:    "Unschedulable",
			words:     []string{"nodes are available", "pod stopped-"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t, test.labels...)
			if test.prepare != nil {
				test.prepare(t, namespace)
			}
			startOperator(t, suite.operator, namespace, test.edits)
			mc := newMemcached(t, namespace, "stopped", 1)
			eventually(t, mc, "Ready=False with the reason", func(mc *cachev1alpha1.Memcached) bool {
				return is(mc, cachev1alpha1.ConditionReady, metav1.ConditionFalse, test.reason) &&
					is(mc, test.condition, metav1.ConditionTrue, test.reason)
			})
			message := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady).Message
			for _, word := range test.words {
				if !strings.Contains(message, word) {
					t.Errorf("the message lacks %q: %s", word, message)
				}
			}
		})
	}
}

func TestTheShippedTemplatesRunUnderRestrictedPodSecurity(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "pod-security.kubernetes.io/enforce", "restricted")
	startOperator(t, suite.operator, namespace, nil)
	ready(t, newMemcached(t, namespace, "restricted", 2))
}

func TestDeletionIsNotFought(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	o := startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "going", 1)
	ready(t, mc)
	writes := len(o.matching("PATCH"))
	// In the foreground the Memcached stays until its children are gone; nothing may
	// be made again meanwhile.
	fatal(t, suite.Client.Delete(t.Context(), mc, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	gone(t, mc)
	poll(t, "all children gone", func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := suite.Client.List(ctx, pods, client.InNamespace(namespace))
		return len(pods.Items) == 0, err
	})
	if now := len(o.matching("PATCH")); now != writes {
		t.Errorf("written while it was being deleted: %v", o.matching("PATCH")[writes:])
	}
}
