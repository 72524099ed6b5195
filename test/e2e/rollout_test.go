// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

func TestRollout_ReplacesOnePodAtATime(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	const size = 3
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "rolled", size, cluster.WithImage(cluster.OldImage)))
	caches := map[types.UID]*cluster.Cache{}
	for _, pod := range suite.Pods(t, namespace, "rolled") {
		cache := suite.Cache(t, namespace, pod.Name, cluster.Port)
		if got := "memcached:" + cache.Version(); got != cluster.OldImage {
			t.Errorf("pod %s runs %s, want %s", pod.Name, got, cluster.OldImage)
		}
		cache.Set("kept", pod.Name)
		caches[pod.UID] = cache
	}
	fewest := watchFewest(t, namespace, "rolled", size)
	suite.MergePatch(t, mc, `{"spec":{"image":"`+cluster.Image+`"}}`)

	// With some of the old pods gone, the others must have their keys still.
	looked := 0
	cluster.Eventually(t, "the old pods go one after the other", func(context.Context) (bool, string, error) {
		old := 0
		for _, pod := range suite.Pods(t, namespace, "rolled") {
			if caches[pod.UID] != nil {
				old++
			}
		}
		if old == 0 || old == size {
			return old == 0, fmt.Sprintf("%d old pods", old), nil
		}
		for _, pod := range suite.Pods(t, namespace, "rolled") {
			cache := caches[pod.UID]
			if cache == nil {
				continue
			}
			switch got, err := cache.TryGet("kept"); {
			case err != nil: // it is just going
			case got != pod.Name:
				t.Errorf("pod %s was not replaced yet, and has %q for the key", pod.Name, got)
			default:
				looked++
			}
		}
		return false, fmt.Sprintf("%d old pods", old), nil
	})
	if looked == 0 {
		t.Error("no pod was asked for its key during the roll-out")
	}
	suite.Ready(t, mc)
	for _, pod := range suite.Pods(t, namespace, "rolled") {
		if got := "memcached:" + suite.Cache(t, namespace, pod.Name, cluster.Port).Version(); got != cluster.Image {
			t.Errorf("pod %s runs %s, want %s", pod.Name, got, cluster.Image)
		}
	}
	t.Logf("at least %d of %d pods answered all the time", fewest(), size)
}

// watchFewest watches the pods of a Memcached. From now on at most one of size may not answer. The
// function that it returns ends that, and says how many answered at the worst moment.
func watchFewest(t *testing.T, namespace, name string, size int) func() int {
	t.Helper()
	var fewest atomic.Int64
	fewest.Store(int64(size))
	stop := suite.WatchPods(t, namespace, cluster.Selector(name), func(pods map[string]*corev1.Pod) {
		answering := int64(cluster.Answering(pods))
		if answering < int64(size)-1 && answering < fewest.Load() {
			t.Errorf("only %d of %d pods answer: %s", answering, size, states(pods))
		}
		fewest.Store(min(fewest.Load(), answering))
	})
	return func() int {
		stop()
		return int(fewest.Load())
	}
}

// states are pods in short.
func states(pods map[string]*corev1.Pod) string {
	var b strings.Builder
	for name, pod := range pods {
		fmt.Fprintf(&b, "%s phase=%s ready=%t deleted=%t; ", name, pod.Status.Phase, cluster.IsReady(pod), pod.DeletionTimestamp != nil)
	}
	return b.String()
}
