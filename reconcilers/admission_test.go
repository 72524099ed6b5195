// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// mutateImages makes the API server change the image of each Deployment in namespace. The returned
// function ends that.
func mutateImages(t *testing.T, namespace string) (remove func()) {
	t.Helper()
	return suite.MutateDeployments(t, probe(t, namespace),
		`[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "example.com/mirror/memcached:1"}]`,
		func(created *unstructured.Unstructured) bool {
			containers, _, _ := unstructured.NestedSlice(created.Object, "spec", "template", "spec", "containers")
			return containers[0].(map[string]any)["image"] != "example.com/probe"
		})
}

// probe returns a Deployment for namespace that the tests do not create.
func probe(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	object := testenv.Parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: probe}
spec:
  selector: {matchLabels: {app: probe}}
  template:
    metadata: {labels: {app: probe}}
    spec: {containers: [{name: probe, image: example.com/probe}]}
`)
	object.SetNamespace(namespace)
	return object
}

func TestReconcile_ReportsModificationByAdmission(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mutateImages(t, namespace)
	o := startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "mutated", 1)
	suite.EventuallyReady(t, mc)
	if got := suite.Deployment(t, namespace, "mutated").Spec.Template.Spec.Containers[0].Image; got != "example.com/mirror/memcached:1" {
		t.Fatalf("the policy does not work: the image is %s", got)
	}
	// Two more rounds of the loop, by changes that are another owner's and ours.
	suite.Patch(t, deployment(namespace, "mutated"), `{"metadata":{"labels":{"example.com/n":"x"}}}`)
	suite.Patch(t, mc, `{"spec":{"size":2}}`)
	eventuallyReadyWith(t, mc, 2)
	if got := o.Matching("PATCH", "/deployments/mutated"); len(got) != 2 {
		t.Errorf("%d writes of the Deployment: one made it, one scaled it", len(got))
	}
	message := messageOf(mc, cachev1alpha1.ConditionReady)
	if !strings.Contains(message, "an admission policy or webhook modifies Deployment mutated (") || !strings.Contains(message, "image") {
		t.Errorf("the message of Ready is %q", message)
	}
	eventuallyWarns(t, namespace, "ModifiedByAdmission", "image", 1)
}

// docs/user/troubleshooting.md says how an object is applied again once its policy is gone.
func TestReconcile_RevertsMutationOnNextApply(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	removePolicy := mutateImages(t, namespace)
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "mutated", 0)
	suite.EventuallyReady(t, mc)
	removePolicy()
	suite.Patch(t, deployment(namespace, "mutated"), `{"metadata":{"annotations":{"cache.example.com/applied-hash":null}}}`)
	eventually(t, deployment(namespace, "mutated"), "the image of the template", func(d *appsv1.Deployment) bool {
		return !strings.Contains(d.Spec.Template.Spec.Containers[0].Image, "mirror")
	})
	eventually(t, mc, "nothing is said of the policy", func(mc *cachev1alpha1.Memcached) bool {
		return isReady(mc) && !strings.Contains(messageOf(mc, cachev1alpha1.ConditionReady), "policy")
	})
}
