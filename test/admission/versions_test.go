// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// TestPolicy_WithAnotherDefinition needs a control plane of its own: it changes the CustomResourceDefinition.
func TestPolicy_WithAnotherDefinition(t *testing.T) {
	t.Parallel()
	plane := testenv.New(t, testenv.Setup{Arguments: []string{testenv.WithoutControllers}, Identity: true})
	plane.Create(t, testenv.Binding("memcached-operator-memcached-editor-role", rbacv1.UserKind, author))
	c := plane.As(t, author)
	t.Run("refuses what an older definition accepted and it cannot check", func(t *testing.T) { refusesTooMany(t, plane, c) })
	t.Run("guards a version that is added later", func(t *testing.T) { guardsVersion(t, plane, c) })
}

// refusesTooMany stores Memcacheds with more Secrets and kinds than the policy asks
// about, and changes them.
func refusesTooMany(t *testing.T, plane *testenv.Env, c client.Client) {
	secrets := memcached("default", "secrets", "imagePullSecrets: "+repeated(20, "{name: s%}", "[", "]"))
	kinds := memcached("default", "kinds", "patches: "+repeated(24, "{target: {kind: Kind%, group: example.com}, patch: '{}'}", "[", "]"))
	for _, mc := range []*unstructured.Unstructured{secrets, kinds} {
		field := map[string]string{"secrets": "imagePullSecrets", "kinds": "patches"}[mc.GetName()]
		definition(t, plane, "replace", "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/"+field+"/maxItems", 100)
		// The policy refuses to create it, so the binding is away meanwhile.
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "memcached-operator-privileged-fields"}}
		plane.Get(t, binding)
		plane.Delete(t, binding)
		testenv.NoError(t, testenv.Poll(t.Context(), testenv.Timeout, func(ctx context.Context) (bool, error) { return plane.Client.Create(ctx, mc) == nil, nil }))
		binding.ResourceVersion, binding.UID = "", ""
		plane.Create(t, binding)
		definition(t, plane, "replace", "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/"+field+"/maxItems", 8)
		for who, c := range map[string]client.Client{"the author": c, "an administrator": plane.Client} {
			var last error
			if err := testenv.Poll(t.Context(), testenv.Timeout, func(ctx context.Context) (bool, error) {
				last = c.Patch(ctx, mc.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2}}`)), client.DryRunAll)
				return last != nil && strings.Contains(last.Error(), policyName), nil
			}); err != nil {
				t.Errorf("%s: %s changes the size: %v", mc.GetName(), who, last)
			}
		}
		if err := c.Patch(t.Context(), mc, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2,"`+field+`":null}}`))); err != nil {
			t.Errorf("%s: the author removes them: %v", mc.GetName(), err)
		}
	}
}

// guardsVersion serves another version in place of v1alpha1: all versions share one
// schema, so all are guarded.
func guardsVersion(t *testing.T, plane *testenv.Env, c client.Client) {
	serveOnly(t, plane, "v1beta1")
	mc := memcached("default", "cache", "serviceAccountName: admin")
	mc.SetAPIVersion("cache.example.com/v1beta1")
	var refusal string
	if err := testenv.Poll(t.Context(), testenv.Timeout, func(ctx context.Context) (bool, error) {
		// A dry run, since it may be accepted until the version and the policy are known.
		if err := c.Create(ctx, mc.DeepCopy(), client.DryRunAll); err != nil {
			refusal = err.Error()
		}
		return strings.Contains(refusal, "spec.serviceAccountName"), nil
	}); err != nil {
		t.Errorf("v1beta1 is not guarded: %v; last %s", err, refusal)
	}
}

// serveOnly adds a version that is a copy of v1alpha1, and stops serving v1alpha1, which
// stays the version that is stored.
func serveOnly(t *testing.T, plane *testenv.Env, version string) {
	t.Helper()
	crd := testenv.Definition()
	plane.Get(t, crd)
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	testenv.NoError(t, err)
	added := versions[0].(map[string]any)
	added["name"], added["storage"] = version, false
	definition(t, plane, "add", "/spec/versions/-", added)
	definition(t, plane, "replace", "/spec/versions/0/served", false)
}

// definition patches the CustomResourceDefinition.
func definition(t *testing.T, plane *testenv.Env, op, path string, value any) {
	t.Helper()
	patch, err := json.Marshal([]any{map[string]any{"op": op, "path": path, "value": value}})
	testenv.NoError(t, err)
	testenv.NoError(t, plane.Client.Patch(t.Context(), testenv.Definition(), client.RawPatch(types.JSONPatchType, patch)))
}
