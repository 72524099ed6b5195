// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

func TestRollout_ReplacesOnePodAtATime(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	const size = 3
	f := suite.Fill(t, namespace, "rolled", size, withImage(cluster.OldImage))
	for _, cache := range f.Caches {
		if got := cache.Image(); got != cluster.OldImage {
			t.Errorf("a pod runs %s, want %s", got, cluster.OldImage)
		}
	}
	fewest := suite.WatchFewest(t, namespace, "rolled", size)
	suite.Patch(t, f.Memcached, `{"spec":{"image":"`+cluster.Image+`"}}`)

	// With some of the old pods gone, the others must have their keys still.
	looked := 0
	testenv.Eventually(t, "the old pods should go one after the other", func(context.Context) (bool, string, error) {
		old := map[string]*cluster.Cache{}
		for _, pod := range suite.Pods(t, namespace, "rolled") {
			if cache := f.Caches[pod.UID]; cache != nil {
				old[pod.Name] = cache
			}
		}
		if len(old) == size {
			return false, "all old pods", nil
		}
		for pod, cache := range old {
			switch got, err := cache.TryGet("kept"); {
			case err != nil: // it is just going
			case got != pod:
				t.Errorf("pod %s was not replaced yet, and has %q for the key", pod, got)
			default:
				looked++
			}
		}
		return len(old) == 0, fmt.Sprintf("%d old pods", len(old)), nil
	})
	if looked == 0 {
		t.Error("no pod was asked for its key during the roll-out")
	}
	suite.Ready(t, f.Memcached)
	runImage(t, namespace, "rolled", cluster.Image)
	t.Logf("at least %d of %d pods answered all the time", fewest(), size)
}

// runImage fails unless all pods of a Memcached run an image.
func runImage(t *testing.T, namespace, name, image string) {
	t.Helper()
	for _, pod := range suite.Pods(t, namespace, name) {
		if got := suite.Cache(t, namespace, pod.Name, memcached.Access{}).Image(); got != image {
			t.Errorf("pod %s runs %s, want %s", pod.Name, got, image)
		}
	}
}

func TestRollout_KeepsOldPodsWhenTheImageCannotBePulled(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	const size = 2
	f := suite.Fill(t, namespace, "broken", size)
	fewest := suite.WatchFewest(t, namespace, "broken", size)
	suite.Patch(t, f.Memcached, `{"spec":{"image":"memcached:0.0.0-there-is-none"}}`)
	suite.NotReady(t, f.Memcached, "memcached:0.0.0-there-is-none", "ErrImagePull", "ImagePullBackOff")
	if serving := f.Kept(t); serving < size-1 {
		t.Errorf("%d of the %d old pods serve", serving, size)
	}
	suite.Patch(t, f.Memcached, `{"spec":{"image":null}}`)
	suite.Ready(t, f.Memcached)
	if got := fewest(); got < size-1 {
		t.Errorf("at the worst moment %d of %d pods answered", got, size)
	}
}
