// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/example/memcached-operator/test/testenv"
)

// WatchPods calls see with the pods of a Memcached, now and after each change, until the test ends or the function that it
// returns is called. No state is left out, and see is never called twice at once.
func (c *Cluster) WatchPods(t testing.TB, namespace, name string, see func(pods map[string]*corev1.Pod)) (stop func()) {
	t.Helper()
	options := metav1.ListOptions{LabelSelector: selector(name)}
	list, err := c.Clients.CoreV1().Pods(namespace).List(t.Context(), options)
	testenv.NoError(t, err)
	options.ResourceVersion = list.ResourceVersion
	// Not the test's own context: it ends before the cleanup that stops the watch.
	watcher, err := c.Clients.CoreV1().Pods(namespace).Watch(context.WithoutCancel(t.Context()), options)
	testenv.NoError(t, err)
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	var stopping atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		see(pods)
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			switch {
			case !ok: // what a watch that is stopped says last is of no interest
				if !stopping.Load() {
					t.Errorf("watching pods: %v", apierrors.FromObject(event.Object))
				}
				return
			case event.Type == watch.Deleted:
				delete(pods, pod.Name)
			default:
				pods[pod.Name] = pod
			}
			see(pods)
		}
		if !stopping.Load() {
			t.Error("the watch of pods ended before the test")
		}
	}()
	stop = sync.OnceFunc(func() {
		stopping.Store(true)
		watcher.Stop()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

// WatchFewest watches the pods of a Memcached. From now on at most one of size may not answer. The
// function that it returns ends that, and says how many answered at the worst moment.
func (c *Cluster) WatchFewest(t *testing.T, namespace, name string, size int) func() int {
	t.Helper()
	var fewest atomic.Int64
	fewest.Store(int64(size))
	stop := c.WatchPods(t, namespace, name, func(pods map[string]*corev1.Pod) {
		answering := int64(0)
		var states strings.Builder
		for name, pod := range pods {
			if pod.DeletionTimestamp.IsZero() && IsReady(pod) {
				answering++
			}
			fmt.Fprintf(&states, "%s phase=%s ready=%t deleted=%t; ", name, pod.Status.Phase, IsReady(pod), pod.DeletionTimestamp != nil)
		}
		if answering < int64(size)-1 && answering < fewest.Load() {
			t.Errorf("only %d of %d pods answer: %s", answering, size, &states)
		}
		fewest.Store(min(fewest.Load(), answering))
	})
	return func() int {
		stop()
		return int(fewest.Load())
	}
}

// IsReady tells whether a pod's containers answer their probes.
func IsReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
