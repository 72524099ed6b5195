// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Patience is how long anything may take that should happen: a node with many
	// pods and few cores is slow.
	Patience = 3 * time.Minute
	interval = 150 * time.Millisecond
)

// Eventually looks until done, and tells what was seen last when that never comes. An
// error is worth another look too.
func Eventually(t testing.TB, what string, look func(ctx context.Context) (done bool, seen string, err error)) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // a t.Cleanup may wait as well
	started, last := time.Now(), "nothing"
	err := wait.PollUntilContextTimeout(ctx, interval, Patience, true, func(ctx context.Context) (bool, error) {
		done, seen, err := look(ctx)
		switch {
		case ctx.Err() != nil: // the time is up; what was seen before says more
		case err != nil:
			last = "error: " + err.Error()
		default:
			last = seen
		}
		return done && err == nil, nil
	})
	if err != nil {
		t.Fatalf("waited %s for: %s\nlast seen: %s", time.Since(started).Round(time.Second), what, last)
	}
}

// Until gets object until it holds, and returns it.
func Until[T client.Object](t testing.TB, c *Cluster, object T, what string, holds func(T) bool) T {
	t.Helper()
	Eventually(t, fmt.Sprintf("%T %s: %s", object, client.ObjectKeyFromObject(object), what), func(ctx context.Context) (bool, string, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, "", err
		}
		return holds(object), describe(object), nil
	})
	return object
}

// Gone waits until object is not there any more.
func (c *Cluster) Gone(t testing.TB, object client.Object) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%T %s: gone", object, client.ObjectKeyFromObject(object)), func(ctx context.Context) (bool, string, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, describe(object), err
	})
}

// describe is an object in short: its spec and status, or what else it has.
func describe(object client.Object) string {
	content, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	var fields map[string]any
	if err := json.Unmarshal(content, &fields); err != nil {
		return err.Error()
	}
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	short, err := json.Marshal(fields)
	return string(short) + errorText(err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// WatchPods calls see with the pods that selector chooses in namespace, now and after each change, until
// the test ends or the function that it returns is called. No state is left out, and
// see is never called twice at once.
func (c *Cluster) WatchPods(t testing.TB, namespace, selector string, see func(pods map[string]*corev1.Pod)) (stop func()) {
	t.Helper()
	options := metav1.ListOptions{LabelSelector: selector}
	list, err := c.Clients.CoreV1().Pods(namespace).List(t.Context(), options)
	Must(t, err)
	options.ResourceVersion = list.ResourceVersion
	// Not the test's own context: it ends before the cleanup that stops the watch.
	watcher, err := c.Clients.CoreV1().Pods(namespace).Watch(context.WithoutCancel(t.Context()), options)
	Must(t, err)
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

// Answering counts the pods that are ready and not on their way out.
func Answering(pods map[string]*corev1.Pod) int {
	count := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp.IsZero() && IsReady(pod) {
			count++
		}
	}
	return count
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
