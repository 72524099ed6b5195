// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
)

// A version that comes later is guarded from its first day, and also when v1alpha1 is
// no longer served: versions share one schema.
func TestEveryVersionIsGuarded(t *testing.T) {
	t.Parallel()
	// Its own control plane: versions are the cluster's.
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
	mc := memcached("default", victim, "serviceAccountName: admin")
	mc.SetAPIVersion("cache.example.com/v1beta1")
	// An administrator of the namespace's Memcacheds, and of nothing else.
	cfg := *plane.Config
	cfg.Impersonate.UserName = author
	fatal(t, letWrite(t.Context(), plane.Client, author))
	c, err := client.New(&cfg, client.Options{Scheme: plane.Client.Scheme()})
	fatal(t, err)
	var refusal string
	if err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		// Dry: until the version and the policy are known it may be accepted.
		if err := c.Create(ctx, mc.DeepCopy(), client.DryRunAll); err != nil {
			refusal = err.Error()
		}
		return strings.Contains(refusal, "spec.serviceAccountName: setting it takes"), nil
	}); err != nil {
		t.Errorf("v1beta1 is not guarded: %v; last %s", err, refusal)
	}
}

// serveOnly makes version a copy of v1alpha1, which stays what is stored but is no
// longer served.
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
