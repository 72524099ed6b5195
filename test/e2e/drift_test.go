// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// children are the resources of which a Memcached with everything has one.
var children = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Version: "v1", Resource: "services"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"},
	{Group: "monitoring.coreos.com", Version: "v1", Resource: "prometheusrules"},
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	{Version: "v1", Resource: "configmaps"},
}

func TestReconcile_RevertsDriftAndRestartsNoPod(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	f := suite.Fill(t, namespace, "drifting", 1, cluster.WithEveryObject)

	for _, resource := range children {
		name, patches := "drifting", map[string]string{
			"a label is changed":                         `{"metadata":{"labels":{"app":"another"}}}`,
			"the label that it is watched by is removed": `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
		}
		switch resource.Resource {
		case "deployments":
			patches["it is scaled by hand"] = `{"spec":{"replicas":3}}`
		case "networkpolicies":
			name += "-clients"
		case "configmaps":
			name += "-proxy-nodes"
		case "endpointslices":
			name += "-nodes-ipv4"
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			testenv.EventuallyObject(t, &suite.Env, slice, "the pod's name", func(slice *discoveryv1.EndpointSlice) bool { return len(slice.Endpoints) == 1 })
		}
		for how, patch := range patches {
			t.Run(resource.Resource+": "+how, func(t *testing.T) {
				putBack(t, resource, namespace, name, patch)
			})
		}
	}
	// Those that came by the scaling, if any did, go again; the one of the start stays.
	t.Run("the pod is that of the start", func(t *testing.T) {
		testenv.Eventually(t, "the pods should be\n"+cluster.Lives(f.Pods), func(context.Context) (bool, string, error) {
			now := cluster.Lives(suite.Pods(t, namespace, "drifting"))
			return now == cluster.Lives(f.Pods), now, nil
		})
		f.WantKept(t, "the drifts")
	})
}

// putBack makes a change and waits until labels and spec are as they were.
func putBack(t *testing.T, resource schema.GroupVersionResource, namespace, name, patch string) {
	t.Helper()
	clients, err := dynamic.NewForConfig(suite.Config)
	testenv.NoError(t, err)
	objects := clients.Resource(resource).Namespace(namespace)
	before, err := objects.Get(t.Context(), name, metav1.GetOptions{})
	testenv.NoError(t, err)
	changed, err := objects.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "another-manager"})
	testenv.NoError(t, err)
	if wanted(changed) == wanted(before) {
		t.Fatal("the change changes nothing")
	}
	testenv.Eventually(t, "the change should be reverted to\n"+wanted(before), func(ctx context.Context) (bool, string, error) {
		now, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return wanted(now) == wanted(before), wanted(now), nil
	})
}

// wanted is what the operator says about an object.
func wanted(object *unstructured.Unstructured) string {
	return fmt.Sprint(object.GetLabels(), object.Object["spec"])
}
