// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// TestBundle_SuitsOLMv1 holds the committed bundle against what operator-controller refuses: it installs for
// all namespaces only, and knows neither conversion webhooks with other install modes, nor aggregated APIs, nor
// dependencies.
func TestBundle_SuitsOLMv1(t *testing.T) {
	bundle := filepath.Join(controlplane.Root(), "bundle")
	files, err := filepath.Glob(filepath.Join(bundle, "manifests", "*.yaml"))
	testenv.NoError(t, err)
	kinds := []string{"ClusterServiceVersion", "CustomResourceDefinition", "ClusterRole", "Service"}
	seen := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		testenv.NoError(t, err)
		var manifest bundled
		testenv.NoError(t, yaml.Unmarshal(content, &manifest))
		if !slices.Contains(kinds, manifest.Kind) {
			t.Errorf("%s is a %s; the bundle is meant to have %v", file, manifest.Kind, kinds)
		}
		seen[manifest.Kind] = true
		if manifest.Kind == "ClusterServiceVersion" {
			manifest.suitsOLMv1(t)
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("the bundle has %v, want %v", seen, kinds)
	}
	for _, dependencies := range []string{"dependencies.yaml", "properties.yaml"} {
		if _, err := os.Stat(filepath.Join(bundle, "metadata", dependencies)); !os.IsNotExist(err) {
			t.Errorf("the bundle has metadata/%s: is there no olm.gvk.required, no olm.package.required in it? (%v)", dependencies, err)
		}
	}
}

// bundled is an object of the bundle: what is looked at of a ClusterServiceVersion.
type bundled struct {
	Kind string
	Spec struct {
		InstallModes []struct {
			Type      string
			Supported bool
		}
		WebhookDefinitions        []struct{ Type string }
		APIServiceDefinitions     struct{ Owned, Required []any }
		CustomResourceDefinitions struct{ Required []any }
	}
}

func (b bundled) suitsOLMv1(t *testing.T) {
	t.Helper()
	supported := 0
	for _, mode := range b.Spec.InstallModes {
		if mode.Supported {
			supported++
		}
	}
	if supported != 4 || len(b.Spec.InstallModes) != 4 {
		t.Errorf("the install modes are %+v, want all four supported", b.Spec.InstallModes)
	}
	if n := len(b.Spec.APIServiceDefinitions.Owned) + len(b.Spec.APIServiceDefinitions.Required) + len(b.Spec.CustomResourceDefinitions.Required); n > 0 {
		t.Errorf("the ClusterServiceVersion has %d aggregated APIs or required definitions, want none", n)
	}
	if w := b.Spec.WebhookDefinitions; len(w) != 1 || w[0].Type != "ValidatingAdmissionWebhook" {
		t.Errorf("the webhooks are %+v, want one ValidatingAdmissionWebhook", w)
	}
}
