// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestImages_ChangeInPlaceThoughTheOperatorIsKilled changes the image of three pods, and kills the operator when it has changed that of
// the first and of the second.
func TestImages_ChangeInPlaceThoughTheOperatorIsKilled(t *testing.T) {
	const size, keys = 3, 2000
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "warm", size, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Image, spec.Memory, spec.WarmRestart = new(cachev1alpha1.Image(cluster.OldImage)), new(resource.MustParse("256Mi")), &cachev1alpha1.WarmRestart{}
	}))
	before := suite.Pods(t, namespace, mc.Name)
	for _, pod := range before {
		cache := suite.Cache(t, namespace, pod.Name, memcached.Access{})
		for i := range keys {
			cache.Set(fmt.Sprint("key-", i), fmt.Sprint(pod.Name, i))
		}
	}
	fewest := suite.WatchFewest(t, namespace, mc.Name, size)
	suite.Patch(t, mc, `{"spec":{"image":"`+cluster.Image+`"}}`)
	for changed := range 2 {
		testenv.Eventually(t, "the image of the next pod should be changed", func(context.Context) (bool, error) {
			return hasImage(suite.Pods(t, namespace, mc.Name), cluster.Image) > changed, nil
		})
		o := suite.Installed()
		suite.Kubectl(t, "--namespace="+o.Namespace, "delete", "pod", "--force", "--grace-period=0", o.Leader(t))
		t.Logf("killed with %d of %d images changed", hasImage(suite.Pods(t, namespace, mc.Name), cluster.Image), size)
	}
	testenv.Eventually(t, "all images should be changed", func(context.Context) (bool, error) {
		return hasImage(suite.Pods(t, namespace, mc.Name), cluster.Image) == size, nil
	})
	suite.Get(t, mc)
	suite.Ready(t, mc)

	found := 0
	for i, pod := range suite.Pods(t, namespace, mc.Name) {
		if pod.UID != before[i].UID {
			t.Errorf("pod %s was replaced by %s", before[i].Name, pod.Name)
		}
		cache := suite.Cache(t, namespace, pod.Name, memcached.Access{})
		if got := cache.Image(); got != cluster.Image {
			t.Errorf("pod %s runs %s", pod.Name, got)
		}
		for k := range keys {
			if cache.Get(fmt.Sprint("key-", k)) == fmt.Sprint(pod.Name, k) {
				found++
			}
		}
	}
	least := fewest()
	t.Logf("%d of %d keys found, at least %d of %d pods ready at any time", found, size*keys, least, size)
	if found < size*keys*99/100 || least < size-1 {
		t.Errorf("that is too few")
	}
}

// hasImage returns how many of pods should run image.
func hasImage(pods []corev1.Pod, image string) (count int) {
	for _, pod := range pods {
		if pod.Spec.Containers[0].Image == image {
			count++
		}
	}
	return count
}
