// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestMemcached_IsIsolatedFromOthers has two in one namespace and one of the same name in another.
func TestMemcached_IsIsolatedFromOthers(t *testing.T) {
	parallel(t)
	here, there := suite.NewNamespace(t), suite.NewNamespace(t)
	first := suite.NewMemcached(t, here, "first", 1)
	second := suite.NewMemcached(t, here, "second", 1)
	other := suite.NewMemcached(t, there, "first", 1, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(11311)) })
	inside := suite.Inside(t, here)
	all := []*cachev1alpha1.Memcached{first, second, other}

	for _, mc := range all {
		suite.Ready(t, mc)
		pods := suite.Pods(t, mc.Namespace, mc.Name)
		host := mc.Name + "." + mc.Namespace + ".svc"
		if mc.Namespace == here {
			// The name resolves to this one's pod alone.
			if got := inside.Addresses(t, mc.Name, 1); got[0] != pods[0].Status.PodIP {
				t.Errorf("%s resolves to %s, its pod has %s", mc.Name, got[0], pods[0].Status.PodIP)
			}
		}
		if got := inside.Ask(t, host, int(*mc.Spec.ContainerPort), "set who 0 0 1", mc.Name[:1]); !slices.Equal(got, []string{"STORED"}) {
			t.Errorf("%s answers %q", host, got)
		}
	}

	before := cluster.Lives(suite.Pods(t, here, "second")) + cluster.Lives(suite.Pods(t, there, "first"))
	suite.Delete(t, first)
	for _, child := range cluster.Children(here, "first") {
		suite.EventuallyGone(t, child)
	}
	for _, mc := range all[1:] {
		got := inside.Ask(t, mc.Name+"."+mc.Namespace+".svc", int(*mc.Spec.ContainerPort), "get who")
		if len(got) != 3 || got[1] != mc.Name[:1] {
			t.Errorf("%s/%s has %q for its key", mc.Namespace, mc.Name, got)
		}
		suite.Get(t, mc)
		if !testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "") {
			t.Errorf("%s/%s is not ready any more", mc.Namespace, mc.Name)
		}
	}
	if after := cluster.Lives(suite.Pods(t, here, "second")) + cluster.Lives(suite.Pods(t, there, "first")); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}
