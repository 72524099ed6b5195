// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// TestPreStop_ServesWhileTerminating deletes a pod whose stop is delayed: clients are told first.
func TestPreStop_ServesWhileTerminating(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	const sleep = 10
	suite.Ready(t, suite.NewMemcached(t, namespace, "leaving", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.PreStop = &cachev1alpha1.PreStop{SleepSeconds: sleep}
	}))
	pod := suite.Pods(t, namespace, "leaving")[0]
	suite.Cache(t, namespace, pod.Name, memcached.Access{}).Set("kept", "yes")

	started := time.Now()
	suite.Delete(t, &pod)
	testenv.Eventually(t, "the pod leaves DNS and serves", func(ctx context.Context) (bool, string, error) {
		list := &discoveryv1.EndpointSliceList{}
		err := suite.Client.List(ctx, list, client.InNamespace(namespace))
		for _, slice := range list.Items {
			for _, endpoint := range slice.Endpoints {
				if endpoint.TargetRef != nil && endpoint.TargetRef.Name == pod.Name {
					c := endpoint.Conditions
					return *c.Serving && *c.Terminating && !*c.Ready, fmt.Sprintf("ready %t, serving %t, terminating %t", *c.Ready, *c.Serving, *c.Terminating), err
				}
			}
		}
		return false, "no endpoint", err
	})
	if got := suite.Cache(t, namespace, pod.Name, memcached.Access{}).Get("kept"); got != "yes" {
		t.Errorf("a new client gets %q for the key", got)
	}
	suite.EventuallyGone(t, &pod)
	took := time.Since(started)
	t.Logf("gone after %s", took.Round(100*time.Millisecond))
	if took < sleep*time.Second {
		t.Errorf("the pod went after %s, want %d s at least", took, sleep)
	}
}

// TestRestart_IsReported ends memcached in a pod, which the kubelet starts again: nothing but the note says that its part of
// the cache is lost.
func TestRestart_IsReported(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	mc := suite.NewMemcached(t, namespace, "restarted", 1)
	suite.Ready(t, mc)
	pod := suite.Pods(t, namespace, mc.Name)[0]
	suite.Kubectl(t, "--namespace="+namespace, "exec", pod.Name, "--container=memcached", "--", "sh", "-c", "kill 1")

	want := "; memcached in pod " + pod.Name + " was restarted at "
	testenv.Eventually(t, "Ready tells of the restart", func(ctx context.Context) (bool, string, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		return ready.Status == metav1.ConditionTrue && strings.Contains(ready.Message, want), ready.Message, err
	})
	testenv.Eventually(t, "an event tells of it", func(context.Context) (bool, string, error) {
		events := suite.Kubectl(t, "--namespace="+namespace, "get", "events", "--field-selector=reason=Restarted,type=Warning", "--output=jsonpath={.items[*].message}")
		return strings.Contains(events, want[2:]), events, nil
	})
}
