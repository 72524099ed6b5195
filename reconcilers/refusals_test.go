// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func TestReconcile_ReportsWhyPodsAreNotRunning(t *testing.T) {
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
		"stalls for a Deployment that the API server rejects": {
			edits:     site(`[{"op": "add", "path": "/spec/template/spec/restartPolicy", "value": "Never"}]`),
			condition: cachev1alpha1.ConditionStalled,
			reason:    cachev1alpha1.ReasonInvalidObject,
			words:     []string{"restartPolicy", "Unsupported value"},
		},
		"pods that exceed a quota": {
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
		"pods that Pod Security rejects": {
			edits:     site(`[{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}]`),
			labels:    []string{"pod-security.kubernetes.io/enforce", "restricted"},
			condition: cachev1alpha1.ConditionReconciling,
			reason:    "FailedCreate",
			words:     []string{"violates PodSecurity", "hostNetwork"},
		},
		"pods that no node fits": {
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
			warnedOnce(t, namespace, test.reason, test.words[0])
		})
	}
}

// warnedOnce waits for a Warning event of reason whose note contains word, and fails when there is
// more than one of reason.
func warnedOnce(t *testing.T, namespace, reason, word string) {
	t.Helper()
	poll(t, "a Warning event "+reason, func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		err := suite.Client.List(ctx, list, client.InNamespace(namespace))
		found := 0
		for _, event := range list.Items {
			if event.Regarding.Kind == "Memcached" && event.Type == corev1.EventTypeWarning && event.Reason == reason {
				found++
				if !strings.Contains(event.Note, word) {
					t.Errorf("the note of the event %s lacks %q: %s", reason, word, event.Note)
				}
			}
		}
		if found > 1 {
			t.Errorf("%d events %s", found, reason)
		}
		return found == 1, err
	})
}

func TestReconcile_RunsUnderRestrictedPodSecurity(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "pod-security.kubernetes.io/enforce", "restricted")
	startOperator(t, suite.operator, namespace, nil)
	ready(t, newMemcached(t, namespace, "restricted", 2))
}

func TestReconcile_CreatesNothingDuringDeletion(t *testing.T) {
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
