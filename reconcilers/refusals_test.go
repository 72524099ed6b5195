// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// A failure is what keeps the pods of a Memcached from running, and how the status reports it.
type failure struct {
	// patch is a JSON patch of the Deployment, if any.
	patch string
	// labels are those of the namespace.
	labels []string
	// noPods sets a quota of no pods.
	noPods bool

	condition, reason string
	words             []string
}

var podFailures = map[string]failure{
	"stalls for a Deployment that the API server rejects": {
		patch:     `[{"op": "add", "path": "/spec/template/spec/restartPolicy", "value": "Never"}]`,
		condition: cachev1alpha1.ConditionStalled, reason: cachev1alpha1.ReasonInvalidObject, words: []string{"restartPolicy", "Unsupported value"},
	},
	"reports pods that exceed a quota": {
		noPods:    true,
		condition: cachev1alpha1.ConditionReconciling, reason: "FailedCreate", words: []string{"exceeded quota", "no-pods"},
	},
	"reports pods that Pod Security rejects": {
		patch:     `[{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}]`,
		labels:    []string{"pod-security.kubernetes.io/enforce", "restricted"},
		condition: cachev1alpha1.ConditionReconciling, reason: "FailedCreate", words: []string{"violates PodSecurity", "hostNetwork"},
	},
	"reports pods that no node fits": {
		patch:     `[{"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {"nowhere": "true"}}]`,
		condition: cachev1alpha1.ConditionReconciling, reason: "Unschedulable", words: []string{"nodes are available", "pod stopped-"},
	},
}

func TestReconcile_ReportsWhyPodsAreNotRunning(t *testing.T) {
	t.Parallel()
	for name, test := range podFailures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := suite.NewNamespace(t, test.labels...)
			if test.noPods {
				forbidPods(t, namespace)
			}
			startWith(t, &suite, namespace, test.options())
			mc := suite.NewMemcached(t, namespace, "stopped", 1)
			eventually(t, mc, "Ready=False with the reason", func(mc *cachev1alpha1.Memcached) bool {
				return testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionFalse, test.reason) &&
					testenv.HasCondition(mc, test.condition, metav1.ConditionTrue, test.reason)
			})
			message := messageOf(mc, cachev1alpha1.ConditionReady)
			for _, word := range test.words {
				if !strings.Contains(message, word) {
					t.Errorf("the message lacks %q: %s", word, message)
				}
			}
			eventuallyWarns(t, namespace, test.reason, test.words[0], 1)
		})
	}
}

// options are those of an operator with templates that have the patch.
func (f failure) options() testenv.ManagerOptions {
	if f.patch == "" {
		return testenv.ManagerOptions{}
	}
	return testenv.ManagerOptions{Templates: map[string]string{
		"components/site/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Deployment}\n  patch: '" + f.patch + "'\n",
	}}
}

// forbidPods creates a quota of no pods, and waits until it counts.
func forbidPods(t *testing.T, namespace string) {
	t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-pods"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	suite.Create(t, quota)
	eventually(t, quota, "the quota counts", func(q *corev1.ResourceQuota) bool { return q.Status.Hard != nil })
}

func TestReconcile_RunsUnderRestrictedPodSecurity(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t, "pod-security.kubernetes.io/enforce", "restricted")
	startOperator(t, namespace)
	suite.EventuallyReady(t, suite.NewMemcached(t, namespace, "restricted", 2))
}

func TestReconcile_CreatesNothingDuringDeletion(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "going", 1)
	suite.EventuallyReady(t, mc)
	writes := len(o.Matching("PATCH"))
	// In the foreground the Memcached stays until its children are gone; nothing may
	// be made again meanwhile.
	testenv.NoError(t, suite.Client.Delete(t.Context(), mc, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	suite.EventuallyGone(t, mc)
	testenv.Eventually(t, "all children gone", func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := suite.Client.List(ctx, pods, client.InNamespace(namespace))
		return len(pods.Items) == 0, err
	})
	if now := o.Matching("PATCH"); len(now) != writes {
		t.Errorf("written while it was being deleted: %v", now[writes:])
	}
}
