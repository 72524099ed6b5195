// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// TestPreStop_ServesWhileTerminating deletes a pod whose stop is delayed: clients are told first.
func TestPreStop_ServesWhileTerminating(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	const sleep = 10
	suite.Ready(t, suite.NewMemcached(t, namespace, "leaving", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.PreStop = &cachev1alpha1.PreStop{SleepSeconds: sleep}
	}))
	pod := suite.Pods(t, namespace, "leaving")[0]
	suite.Cache(t, namespace, pod.Name, memcached.Access{}).Set("kept", "yes")

	started := time.Now()
	suite.Delete(t, &pod)
	testenv.Eventually(t, "the endpoint of the pod is said to terminate", func(ctx context.Context) (bool, string, error) {
		list := &discoveryv1.EndpointSliceList{}
		err := suite.Client.List(ctx, list, client.InNamespace(namespace))
		for _, slice := range list.Items {
			for _, endpoint := range slice.Endpoints {
				if endpoint.TargetRef != nil && endpoint.TargetRef.Name == pod.Name {
					c := endpoint.Conditions
					return *c.Serving && *c.Terminating, fmt.Sprintf("serving %t, terminating %t", *c.Serving, *c.Terminating), err
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
