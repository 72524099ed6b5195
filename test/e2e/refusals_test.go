// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

func TestRollout_KeepsOldPodsWhenTheImageCannotBePulled(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	const size = 2
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "broken", size))
	caches := map[types.UID]*cluster.Cache{}
	for _, pod := range suite.Pods(t, namespace, "broken") {
		caches[pod.UID] = suite.Cache(t, namespace, pod.Name, cluster.Port)
		caches[pod.UID].Set("kept", pod.Name)
	}
	fewest := watchFewest(t, namespace, "broken", size)
	suite.MergePatch(t, mc, `{"spec":{"image":"memcached:0.0.0-there-is-none"}}`)
	suite.NotReady(t, mc, []string{"ErrImagePull", "ImagePullBackOff"}, "memcached:0.0.0-there-is-none")

	serving := 0
	for _, pod := range suite.Pods(t, namespace, "broken") {
		if cache := caches[pod.UID]; cache != nil {
			serving++
			if got := cache.Get("kept"); got != pod.Name {
				t.Errorf("pod %s has %q for its key", pod.Name, got)
			}
		}
	}
	if serving < size-1 {
		t.Errorf("%d of the %d old pods serve", serving, size)
	}
	suite.MergePatch(t, mc, `{"spec":{"image":null}}`)
	suite.Ready(t, mc)
	if got := fewest(); got < size-1 {
		t.Errorf("at the worst moment %d of %d pods answered", got, size)
	}
}
