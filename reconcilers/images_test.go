// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

func withWarmRestart(s *cachev1alpha1.MemcachedSpec) {
	s.WarmRestart, s.Memory = &cachev1alpha1.WarmRestart{}, new(resource.MustParse("256Mi"))
}

func uidsOf(pods []corev1.Pod) []types.UID {
	var uids []types.UID
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	slices.Sort(uids)
	return uids
}

// restart does what a kubelet does with the containers of pod, which no kubelet runs here.
func restart(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	restarted := pod.DeepCopy()
	for i := range restarted.Status.ContainerStatuses {
		restarted.Status.ContainerStatuses[i].ContainerID = fmt.Sprintf("containerd://%s-%s", pod.UID, pod.Spec.Containers[0].Image)
	}
	testenv.NoError(t, suite.Client.Status().Patch(t.Context(), restarted, client.MergeFrom(pod)))
}

// TestImages_ChangeInThePods: pods keep their names while operators come and go, and the Deployment makes no second ReplicaSet.
func TestImages_ChangeInThePods(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 2, withWarmRestart)
	suite.EventuallyReady(t, mc)
	before := podsIn(t, namespace)
	for i := range before {
		restart(t, &before[i])
	}
	suite.Patch(t, mc, `{"spec":{"image":"memcached:1.6.44"}}`)
	for done := range len(before) {
		o.stop()
		o = startOperator(t, namespace)
		testenv.Eventually(t, "the next pod should have the image", func(context.Context) (bool, string, error) {
			pods := podsIn(t, namespace)
			changed := slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.Containers[0].Image != "memcached:1.6.44" })
			return len(changed) == done+1, fmt.Sprint(len(changed)), nil
		})
		eventuallyIs(t, mc, cachev1alpha1.ConditionReconciling, cachev1alpha1.ReasonRollingOut)
		if d := suite.Deployment(t, namespace, "cache"); !d.Spec.Paused {
			t.Error("the Deployment is not paused")
		}
		for _, pod := range podsIn(t, namespace) {
			restart(t, &pod)
		}
	}
	suite.EventuallyReady(t, mc)
	if after := podsIn(t, namespace); !slices.Equal(uidsOf(before), uidsOf(after)) {
		t.Errorf("the pods were %v and are %v", uidsOf(before), uidsOf(after))
	}
	if d := suite.Deployment(t, namespace, "cache"); d.Spec.Paused || mc.Status.Image != "memcached:1.6.44" {
		t.Errorf("the Deployment is paused (%t), the image %s", d.Spec.Paused, mc.Status.Image)
	}
	sets := &appsv1.ReplicaSetList{}
	testenv.NoError(t, suite.Client.List(t.Context(), sets))
	sets.Items = slices.DeleteFunc(sets.Items, func(set appsv1.ReplicaSet) bool { return set.Namespace != namespace })
	if len(sets.Items) != 1 {
		t.Errorf("there are %d ReplicaSets", len(sets.Items))
	}
}

// TestImages_OfOthersReplaceThePods: what cannot be changed in place is rolled out, and an event says why.
func TestImages_OfOthersReplaceThePods(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "cache", 2, withWarmRestart)
	suite.EventuallyReady(t, mc)
	before := podsIn(t, namespace)
	mirrored := before[0].DeepCopy()
	mirrored.Spec.Containers[0].Image = "mirror.example.com/memcached:1.6.45"
	testenv.NoError(t, suite.Client.Patch(t.Context(), mirrored, client.StrategicMergeFrom(&before[0])))
	suite.Patch(t, mc, `{"spec":{"image":"memcached:1.6.44"}}`)
	eventuallyWarns(t, namespace, "ReplacesPods", "mirror.example.com/memcached:1.6.45", 1)
	eventually(t, deployment(namespace, "cache"), "it should replace the pods", func(d *appsv1.Deployment) bool {
		return !d.Spec.Paused && d.Status.UpdatedReplicas == 2 && d.Status.Replicas == 2
	})
	suite.EventuallyReady(t, mc)
	for _, pod := range podsIn(t, namespace) {
		if slices.ContainsFunc(before, func(old corev1.Pod) bool { return old.UID == pod.UID }) {
			t.Errorf("pod %s was not replaced", pod.Name)
		}
	}
}
