// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/test/testenv"
)

// TestImages_MatchInGoAndPolicy: the operator and the policy allow the same images for each list of patterns.
func TestImages_MatchInGoAndPolicy(t *testing.T) {
	t.Parallel()
	for name, patterns := range map[string]string{
		"the shipped patterns": "docker.io/library/memcached,docker.io/prom/memcached-exporter",
		"short names":          "memcached,prom/memcached-exporter",
		"the default registry": "docker.io/*",
		"a part of it":         "library/*",
		"prefixes":             "registry.example.com/cache/*,memcached/*,localhost:5000/*",
		"repositories":         "registry.example.com/cache/memcached,registry.example.com:5000/memcached,[::1]:5000/memcached",
		"all":                  "*",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			images, err := guarded.ParseImages(patterns)
			testenv.NoError(t, err)
			namespace := namespaceWithImages(t, images)
			c := suite.As(t, author)
			allowed := 0
			for _, image := range imagesToCompare() {
				for field, spec := range map[string]string{"spec.image": "image: '" + image + "'", "spec.metrics.image": "metrics: {image: '" + image + "'}"} {
					err := c.Create(t.Context(), memcached(namespace, "cache", spec), client.DryRunAll)
					if err != nil && !strings.Contains(err.Error(), field+": creating or changing") {
						t.Fatalf("%s %s: %v", field, image, err)
					}
					if want := images.Allow(image); want != (err == nil) {
						t.Errorf("%s %s is allowed by the operator: %v, by the policy: %v", field, image, want, err)
					}
				}
				if images.Allow(image) {
					allowed++
				}
			}
			if allowed < 3 {
				t.Errorf("%d images are allowed", allowed)
			}
		})
	}
}

// imagesToCompare returns references that the schema accepts.
func imagesToCompare() []string {
	var images []string
	for _, name := range []string{
		"memcached", "memcached-evil", "memcached/evil", "memcached/a/b", "evil/memcached", "memcached.evil/memcached", "prom/memcached-exporter", "prom/memcached-exporter-evil",
		"docker.io/library/memcached", "docker.io/memcached", "library/memcached", "docker.io/library/memcached/evil", "docker.io/evil/memcached", "docker.io/prom/memcached-exporter",
		"DOCKER.io/library/memcached", "docker.io", "EVIL/memcached", "memcached:5000/evil/x", "memcached:5000/memcached", "localhost/memcached", "localhost:5000/memcached", "localhost:5001/memcached",
		"registry.example.com/cache/memcached", "registry.example.com/cache/a/b", "registry.example.com/cache", "registry.example.com/cache-evil/memcached",
		"registry.example.com/evil/cache/memcached", "registry.example.com.evil.org/cache/memcached", "registry.example.com:443/cache/memcached",
		"registry.example.com:5000/memcached", "REGISTRY.example.com/cache/memcached", "[::1]:5000/memcached", "[::1]/memcached",
	} {
		images = append(images, name, name+":1.6.45", name+digest, name+":1.6.45"+digest, name+":memcached")
	}
	return slices.Concat(images, []string{"sha256:" + strings.Repeat("0123456789abcdef", 4), "0123456789ab"})
}

// namespaceWithImages returns a namespace where a copy of the policy with other
// operandImages is bound, and the shipped one is not.
func namespaceWithImages(t *testing.T, images guarded.Images) string {
	t.Helper()
	namespace := suite.NewNamespace(t, openNamespace, "")
	policy := shippedPolicy(t)
	policy.ObjectMeta = metav1.ObjectMeta{Name: namespace}
	policy.Spec.Variables[0].Expression = celList(images)
	suite.Create(t, policy)
	testenv.NoError(t, suite.Client.Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace},
			}},
		},
	}))
	c := suite.As(t, author)
	testenv.NoError(t, testenv.Poll(t.Context(), testenv.Timeout, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, memcached(namespace, "probe", "serviceAccountName: admin"), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "'"+namespace+"'"), nil
	}))
	return namespace
}

// shippedPolicy returns the policy as it is installed, without its identity.
func shippedPolicy(t *testing.T) *admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	testenv.NoError(t, suite.Client.Get(t.Context(), client.ObjectKey{Name: "memcached-operator-privileged-fields"}, policy))
	return policy
}
