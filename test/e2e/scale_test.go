// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"strconv"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

func TestScale_FollowsSpecAndAutoscaler(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "scaled", 1))
	resource := cachev1alpha1.SchemeGroupVersion.WithResource("memcacheds")
	scales := scaleClient(t).Scales(namespace)

	for _, step := range []struct {
		how  string
		size int
		do   func(t *testing.T)
	}{
		{"by the spec", 2, func(t *testing.T) {
			suite.Patch(t, mc, `{"spec":{"size":2}}`)
		}},
		{"by kubectl scale", 3, func(t *testing.T) {
			suite.Kubectl(t, "--namespace="+namespace, "scale", "memcached", "scaled", "--replicas=3")
		}},
		{"as a HorizontalPodAutoscaler does, by a PUT of the scale subresource", 2, func(t *testing.T) {
			now, err := scales.Get(t.Context(), resource.GroupResource(), "scaled", metav1.GetOptions{})
			testenv.NoError(t, err)
			isScale(t, now, namespace)
			now.Spec.Replicas = 2
			_, err = scales.Update(t.Context(), resource.GroupResource(), now, metav1.UpdateOptions{})
			testenv.NoError(t, err)
		}},
		{"by a PATCH of the scale subresource", 1, func(t *testing.T) {
			_, err := scales.Patch(t.Context(), resource, "scaled", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
			testenv.NoError(t, err)
		}},
	} {
		t.Run(step.how, func(t *testing.T) {
			wantKeptPods(t, mc, step.size, func() { step.do(t) })
		})
	}
	t.Run("to nothing, which is ready and not available", func(t *testing.T) {
		suite.Patch(t, mc, `{"spec":{"size":0}}`)
		suite.Ready(t, mc)
		if !testenv.HasCondition(mc, cachev1alpha1.ConditionAvailable, metav1.ConditionFalse, cachev1alpha1.ReasonScaledToZero) {
			t.Errorf("the conditions are %+v", mc.Status.Conditions)
		}
	})
}

// wantKeptPods scales mc to size and fails unless as many pods as possible stay, with their keys.
func wantKeptPods(t *testing.T, mc *cachev1alpha1.Memcached, size int, scale func()) {
	t.Helper()
	f := suite.FillBy(t, mc, memcached.Access{})
	scale()
	testenv.EventuallyObject(t, &suite.Env, mc, "its size should be "+strconv.Itoa(size), func(mc *cachev1alpha1.Memcached) bool { return int(*mc.Spec.Size) == size })
	suite.Ready(t, mc)
	if kept, want := f.Kept(t), min(len(f.Pods), size); kept != want {
		t.Errorf("%d of the %d pods are still there, want %d", kept, len(f.Pods), want)
	}
}

// isScale looks at what an autoscaler reads before it scales from 3.
func isScale(t *testing.T, now *autoscalingv1.Scale, namespace string) {
	t.Helper()
	if now.Spec.Replicas != 3 || now.Status.Replicas != 3 {
		t.Errorf("the scale is %d, and %d by its status, want 3", now.Spec.Replicas, now.Status.Replicas)
	}
	pods, err := suite.Clients.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: now.Status.Selector})
	testenv.NoError(t, err)
	if now.Status.Selector == "" || len(pods.Items) != 3 {
		t.Errorf("the selector %q selects %v", now.Status.Selector, cluster.Names(pods.Items))
	}
}

// scaleClient is what the controller of HorizontalPodAutoscalers uses.
func scaleClient(t *testing.T) scale.ScalesGetter {
	t.Helper()
	discoverer := discovery.NewDiscoveryClientForConfigOrDie(suite.Config)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	getter, err := scale.NewForConfig(suite.Config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(discoverer))
	testenv.NoError(t, err)
	return getter
}
