// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// TestNames_OutliveKills kills the operator at each write that follows from the loss of a pod and a larger size.
func TestNames_OutliveKills(t *testing.T) {
	figure := measure(t, "R1 crash at every write: stable names stay with their pods")
	o := startOperator(t)
	kills := 0
	for n := 1; n <= form(8, 2); n++ {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("write %d/before %v", n, before), func(t *testing.T) {
				namespace := suite.NewNamespace(t)
				mc := newMemcached(t, namespace, spec{Size: new(int32(3)), MinReadySeconds: new(int32(0)), StableNames: &cachev1alpha1.StableNames{}})
				kept := named(t, o, namespace, 3)
				c := &crash{write: n, before: before}
				c.arm(o, namespace)
				t.Cleanup(func() { o.SetHooks(proxy.Hooks{}) })
				lost := podOf(t, namespace, kept["cache-1"])
				testenv.NoError(t, suite.Client.Delete(t.Context(), &lost))
				edit(t, mc, func(s *spec) { s.Size = new(int32(4)) })
				now := named(t, o, namespace, 4)
				for name, pod := range kept {
					if (now[name] == pod) == (name == "cache-1") {
						t.Errorf("%s is of pod %s, and was of %s; the pod of cache-1 was deleted", name, now[name], pod)
					}
				}
				kills += c.kills
			})
		}
	}
	figure.set("%d kills", kills)
	if kills == 0 {
		t.Error("no kill")
	}
}

// TestNames_CostLittle counts what the operator writes when it gives the name of a deleted pod to its replacement, in a cache of 100.
func TestNames_CostLittle(t *testing.T) {
	figure := measure(t, "a replaced pod of 100 with stable names: at most 8 writes, events apart")
	o := startOperator(t)
	namespace, size := suite.NewNamespace(t), form(100, 10)
	newMemcached(t, namespace, spec{Size: new(int32(size)), MinReadySeconds: new(int32(0)), StableNames: &cachev1alpha1.StableNames{}})
	kept := named(t, o, namespace, size)
	o.quiet(t, namespace, calmFor)
	written, used := o.writesIn(namespace), testenv.ProcessorTime(t, o.process.PID())
	const replaced = 10
	for ordinal := range replaced {
		lost := podOf(t, namespace, kept[fmt.Sprintf("cache-%d", ordinal)])
		testenv.NoError(t, suite.Client.Delete(t.Context(), &lost))
		named(t, o, namespace, size)
		o.quiet(t, namespace, calmFor)
	}
	byResource := map[string]int{}
	writes := 0
	for _, request := range o.writesIn(namespace)[len(written):] {
		byResource[request.Resource]++
		if request.Resource != "events" {
			writes++
		}
	}
	cpu := testenv.ProcessorTime(t, o.process.PID()) - used
	figure.set("%.1f writes, %s of CPU; in all %v", float64(writes)/replaced, cpu/replaced, byResource)
	if writes > 8*replaced {
		t.Errorf("%d writes for %d replaced pods: %v", writes, replaced, byResource)
	}
}

// named waits until each of count pods is ready and has a name, and returns the pods' UIDs by name. It starts o again when it has
// been killed.
func named(t *testing.T, o *operator, namespace string, count int) map[string]types.UID {
	t.Helper()
	var names map[string]types.UID
	eventually(t, fmt.Sprintf("%d pods should have a name", count), func(ctx context.Context) (bool, error) {
		if o.process.HasEnded() {
			o.restart()
		}
		slices, pods := &discoveryv1.EndpointSliceList{}, &corev1.PodList{}
		if err := suite.Client.List(ctx, slices, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: "cache-nodes"}); err != nil {
			return false, err
		}
		if err := suite.Client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		names = map[string]types.UID{}
		running := map[types.UID]bool{}
		for _, pod := range pods.Items {
			running[pod.UID] = pod.DeletionTimestamp == nil
		}
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if *endpoint.Conditions.Ready && running[endpoint.TargetRef.UID] {
					names[*endpoint.Hostname] = endpoint.TargetRef.UID
				}
			}
		}
		return len(names) == count && len(pods.Items) == count, nil
	})
	return maps.Clone(names)
}

// podOf returns the pod with uid.
func podOf(t *testing.T, namespace string, uid types.UID) corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	testenv.NoError(t, suite.Client.List(t.Context(), pods, client.InNamespace(namespace)))
	for _, pod := range pods.Items {
		if pod.UID == uid {
			return pod
		}
	}
	t.Fatalf("no pod has the UID %s", uid)
	return corev1.Pod{}
}
