// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// operandImages are what policy and operator allow as they are shipped.
var operandImages = guarded.Images{"docker.io/library/memcached", "docker.io/prom/memcached-exporter"}

// TestPolicy_RequiresEveryRight: an author with all the rights that a row requires is accepted, and one who lacks any
// of them is rejected.
func TestPolicy_RequiresEveryRight(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	for n, r := range hostile() {
		if len(r.rights) == 0 {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			way, name := way{"create", create}, targetName(n)
			if r.before != "" {
				way.write = replace
				suite.Create(t, memcached(namespace, name, strings.ReplaceAll(r.before, "NAME", name)))
			}
			c := suite.As(t, author, r.rights...)
			if err := way.write(t.Context(), client.NewDryRunClient(c), r.object(namespace, name)); err != nil {
				t.Errorf("with the rights %q: %v", r.rights, err)
			}
			for i := range r.rights {
				less := slices.Delete(slices.Clone(r.rights), i, i+1)
				c := suite.As(t, author, less...)
				err := way.write(t.Context(), client.NewDryRunClient(c), r.object(namespace, name))
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), policyName) {
					t.Errorf("with the rights %q only: %v", less, err)
				}
			}
		})
	}
}

// TestFields_NameTheRightsOfThePolicy compares the table in Go, by which the operator rejects fields without the flag,
// with the rights that the policy requires.
func TestFields_NameTheRightsOfThePolicy(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for n, r := range hostile() {
		if r.raw != "" && len(r.rights) > 0 {
			continue
		}
		mc := &cachev1alpha1.Memcached{}
		testenv.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(r.object("default", targetName(n)).Object, mc))
		named := map[string]bool{}
		for _, field := range guarded.SetBy(mc, operandImages) {
			named[field.Verb+" "+field.Resource], used[field.Path] = true, true
			for _, patch := range mc.Spec.Patches {
				if field.And != "" { // the kinds that are patched
					named["create "+resourceOf(patch.Target)] = true
				}
			}
		}
		required := map[string]bool{}
		for _, right := range r.rights {
			right, _, _ = strings.Cut(right, "/")
			required[right] = true
		}
		delete(named, "create memcacheds.cache.example.com") // every author has it
		if !maps.Equal(named, required) {
			t.Errorf("%s: the fields name %v, the policy requires %v", r.name, named, required)
		}
	}
	for _, field := range guarded.Fields {
		if !used[field.Path] {
			t.Errorf("no row sets %s", field.Path)
		}
	}
}

// resourceOf returns the resource that patches of a target require.
func resourceOf(target cachev1alpha1.PatchTarget) string {
	kind := strings.ToLower(target.Kind)
	plural := map[string]string{"networkpolicy": "networkpolicies", "ingress": "ingresses", "policy": "policies"}[kind]
	if plural == "" {
		plural = kind + "s"
	}
	group := map[string]string{
		"Deployment": "apps", "NetworkPolicy": "networking.k8s.io", "PodDisruptionBudget": "policy",
		"PrometheusRule": "monitoring.coreos.com", "ServiceMonitor": "monitoring.coreos.com",
	}[target.Kind]
	if target.Group != nil {
		group = *target.Group
	}
	return strings.TrimSuffix(plural+"."+group, ".")
}

// TestPolicy_AllowsTheImagesOfTheTemplates: the shipped policy allows the images of the templates and no others.
func TestPolicy_AllowsTheImagesOfTheTemplates(t *testing.T) {
	t.Parallel()
	tree, err := render.LoadTree(manifests.FS)
	testenv.NoError(t, err)
	renderer, err := render.New(tree, render.Defaults{})
	testenv.NoError(t, err)
	own, err := renderer.OperandImages()
	testenv.NoError(t, err)
	if !slices.Equal(own, operandImages) {
		t.Errorf("the images of the templates are %q, this test knows %q", own, operandImages)
	}
	if policy := shippedPolicy(t); policy.Spec.Variables[0].Name != "operandImages" || policy.Spec.Variables[0].Expression != celList(operandImages) {
		t.Errorf("the first variable of the policy is %v, want operandImages: %s", policy.Spec.Variables[0], celList(operandImages))
	}
}

// celList returns images as the policy writes them.
func celList(images guarded.Images) string { return "['" + strings.Join(images, "', '") + "']" }
