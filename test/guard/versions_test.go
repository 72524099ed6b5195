// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
)

// A version that is added later is guarded from its first day, and also when v1alpha1 is
// no longer served: all versions share one schema.
func TestPolicy_GuardsEveryVersion(t *testing.T) {
	t.Parallel()
	// A control plane of its own: versions belong to the cluster.
	plane, err := controlplane.Start("--without-controllers")
	fatal(t, err)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	_, err = plane.OperatorConfig(t.Context())
	fatal(t, err)
	serveOnly(t, plane, "v1beta1")
	mc := memcached("default", "cache", "serviceAccountName: admin")
	mc.SetAPIVersion("cache.example.com/v1beta1")
	cfg := *plane.Config
	cfg.Impersonate.UserName = author
	fatal(t, plane.Client.Create(t.Context(), bindingTo("memcached-operator-memcached-editor-role", rbacv1.UserKind, author)))
	c, err := client.New(&cfg, client.Options{Scheme: plane.Client.Scheme()})
	fatal(t, err)
	var refusal string
	if err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
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
func serveOnly(t *testing.T, plane *controlplane.ControlPlane, version string) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("memcacheds.cache.example.com")
	fatal(t, plane.Client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd))
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	fatal(t, err)
	added := versions[0].(map[string]any)
	added["name"], added["storage"] = version, false
	patch, err := json.Marshal([]any{
		map[string]any{"op": "add", "path": "/spec/versions/-", "value": added},
		map[string]any{"op": "replace", "path": "/spec/versions/0/served", "value": false},
	})
	fatal(t, err)
	fatal(t, plane.Client.Patch(t.Context(), crd, client.RawPatch("application/json-patch+json", patch)))
}
