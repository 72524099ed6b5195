// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// keysInPod is how many keys TestImages_ChangeInPlace sets in each pod.
const keysInPod = 200

// TestImages_ChangeInPlace changes the image of caches that are in use: the pods and their keys stay, also where the Deployment has a
// ReplicaSet of the new image from an earlier roll-out. The reloader runs the same image.
func TestImages_ChangeInPlace(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	users := newUsers(t, namespace, "secret")
	const size = 2
	mc := suite.NewMemcached(t, namespace, "warm", size, withImage(cluster.OldImage), func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Memory, spec.WarmRestart = new(resource.MustParse("256Mi")), &cachev1alpha1.WarmRestart{}
		spec.Auth = &cachev1alpha1.Auth{SecretName: cachev1alpha1.ObjectName(users.Name)}
	})
	suite.Ready(t, mc)
	changeInPlace(t, mc, cluster.OldImage, cluster.Image)

	// A roll-out to the first image, by a change of another field as well, and back to the second one in place.
	suite.Patch(t, mc, `{"spec":{"image":"`+cluster.OldImage+`","threads":2}}`)
	suite.Ready(t, mc)
	suite.Patch(t, mc, `{"spec":{"threads":null}}`)
	suite.Ready(t, mc)
	suite.NoneTerminates(t, namespace)
	changeInPlace(t, mc, cluster.OldImage, cluster.Image)
}

func changeInPlace(t *testing.T, mc *cachev1alpha1.Memcached, from, to string) {
	t.Helper()
	access := memcached.Access{User: user, Password: "secret"}
	before := suite.Pods(t, mc.Namespace, mc.Name)
	for _, pod := range before {
		cache := suite.Cache(t, mc.Namespace, pod.Name, access)
		if got := cache.Image(); got != from {
			t.Errorf("pod %s runs %s, want %s", pod.Name, got, from)
		}
		for i := range keysInPod {
			cache.Set(fmt.Sprint("key-", i), fmt.Sprint(pod.Name, i))
		}
	}
	fewest := suite.WatchFewest(t, mc.Namespace, mc.Name, len(before))
	suite.Patch(t, mc, `{"spec":{"image":"`+to+`"}}`)
	suite.NotReady(t, mc, "images are changed in the pods, one at a time", cachev1alpha1.ReasonRollingOut)
	suite.Ready(t, mc)

	after := suite.Pods(t, mc.Namespace, mc.Name)
	if was, is := cluster.Names(before), cluster.Names(after); !slices.Equal(was, is) {
		t.Fatalf("the pods were %v and are %v", was, is)
	}
	for i, pod := range after {
		if pod.UID != before[i].UID {
			t.Errorf("pod %s was replaced", pod.Name)
		}
		runsWithItsKeys(t, &pod, to, access)
	}
	if n := fewest(); n < len(before)-1 {
		t.Errorf("%d of %d pods were ready at a time", n, len(before))
	}
	noRollOut(t, mc, len(before), to)
}

// runsWithItsKeys fails unless every container of pod has the image, and memcached runs it with the keys that changeInPlace has set.
func runsWithItsKeys(t *testing.T, pod *corev1.Pod, image string, access memcached.Access) {
	t.Helper()
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if c.Image != image {
			t.Errorf("container %s of pod %s has the image %s, want %s", c.Name, pod.Name, c.Image, image)
		}
	}
	cache := suite.Cache(t, pod.Namespace, pod.Name, access)
	if got := cache.Image(); got != image {
		t.Errorf("pod %s runs %s, want %s", pod.Name, got, image)
	}
	for k := range keysInPod {
		if got := cache.Get(fmt.Sprint("key-", k)); got != fmt.Sprint(pod.Name, k) {
			t.Fatalf("pod %s has %q for key %d", pod.Name, got, k)
		}
	}
}

// noRollOut fails if a ReplicaSet has some of the count pods of mc, or the Deployment has not the image.
func noRollOut(t *testing.T, mc *cachev1alpha1.Memcached, count int, image string) {
	t.Helper()
	sets := &appsv1.ReplicaSetList{}
	testenv.NoError(t, suite.Client.List(t.Context(), sets, client.InNamespace(mc.Namespace)))
	for _, set := range sets.Items {
		if n := ptr.Deref(set.Spec.Replicas, 1); n > 0 && int(n) != count {
			t.Errorf("ReplicaSet %s has %d pods: there was a roll-out", set.Name, n)
		}
	}
	live := &appsv1.Deployment{}
	testenv.NoError(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), live))
	if live.Spec.Paused || !slices.ContainsFunc(live.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Image == image }) {
		t.Errorf("the Deployment is paused (%t), or has not the image %s", live.Spec.Paused, image)
	}
}
