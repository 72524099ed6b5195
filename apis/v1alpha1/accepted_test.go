// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// accepted is a Memcached that the API server accepts, and the spec that it stores, as
// YAML.
type accepted struct {
	name string // by default "a"
	body string
	want string // by default any
}

func testAccepted(t *testing.T, table map[string]accepted) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	for sentence, test := range table {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object := memcached(t, namespace, cmp.Or(test.name, "a"), test.body)
			testenv.NoError(t, suite.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")))
			mustDecode(t, object)
			if test.want == "" {
				return
			}
			var want any
			testenv.NoError(t, yaml.Unmarshal([]byte(test.want), &want))
			// Both as JSON has them: 3 is a float in one and an int in the other.
			got, err := yaml.Marshal(object.Object["spec"])
			testenv.NoError(t, err)
			var spec any
			testenv.NoError(t, yaml.Unmarshal(got, &spec))
			if !equality.Semantic.DeepEqual(spec, want) {
				t.Errorf("the stored spec is\n%s, want %s", got, test.want)
			}
		})
	}
}

// mustDecode decodes object as the operator does. One stored object that cannot be
// decoded would end the operator's watch, for all tenants.
func mustDecode(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	stored, err := object.MarshalJSON()
	testenv.NoError(t, err)
	if err := json.Unmarshal(stored, &cachev1alpha1.Memcached{}); err != nil {
		t.Errorf("the object is accepted, but cannot be decoded: %v", err)
	}
}

func TestSpec_SetsDefaults(t *testing.T) {
	labels := "podMetadata: {labels: {team: web, example.com/tier: '', v1.2_x: a.b_c-d}, annotations: {example.com/owner: 'Web Team <web@example.com>', empty: ''}}"
	testAccepted(t, map[string]accepted{
		"an empty spec":                               {body: "spec: {}", want: "{size: 1, containerPort: 11211}"},
		"the tutorial's spec":                         {body: "spec: {size: 3}", want: "{size: 3, containerPort: 11211}"},
		"the newer tutorial's spec":                   {body: "spec: {size: 2, containerPort: 11222}", want: "{size: 2, containerPort: 11222}"},
		"size 0":                                      {body: "spec: {size: 0}", want: "{size: 0, containerPort: 11211}"},
		"a size that is null is left out":             {body: "spec: {size: null}", want: "{size: 1, containerPort: 11211}"},
		"the lowest port":                             {body: "spec: {containerPort: 1024}", want: "{size: 1, containerPort: 1024}"},
		"the highest port":                            {body: "spec: {containerPort: 65535}", want: "{size: 1, containerPort: 65535}"},
		"labels and annotations":                      taken(labels),
		"labels that resemble reserved ones":          taken("podMetadata: {labels: {application: x, apps: x, my.app.kubernetes.io/name: x}}"),
		"empty maps":                                  taken("podMetadata: {labels: {}, annotations: {}}"),
		"a label key with a prefix of 253 characters": {body: "spec: {podMetadata: {labels: {" + strings.Repeat("a", 253) + "/b: x, a--b.c/d..e: x}}}"},
	})
}

func TestSpec_AcceptsNames(t *testing.T) {
	table := map[string]accepted{}
	for _, name := range []string{
		"a", "a1", "a--b",
		"memcached-sample", "example-memcached", "memcached-for-wordpress", "memcached-for-drupal",
		strings.Repeat("a", 52),
		"true", "null", "no",
	} {
		table[name] = accepted{name: name, body: "spec: {}", want: "{size: 1, containerPort: 11211}"}
	}
	testAccepted(t, table)
}

func TestSpec_AcceptsImages(t *testing.T) {
	table := map[string]accepted{}
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for _, image := range []string{
		"memcached", "memcached:1.6.45", "memcached:1.4.36-alpine", "memcached:_x",
		"mirror.example.com/library/memcached:1.6", "registry.example.com/caches/memcached",
		"registry:5000/x", "localhost/memcached", "localhost:5000/a/b/c:v1", "[::1]:5000/memcached",
		"Registry.Example.COM/memcached", "quay.io/a__b/c.d--e:X",
		"memcached" + digest, "registry.example.com/memcached" + digest, "registry:5000/memcached:1.6" + digest,
		"memcached@sha512:" + strings.Repeat("0a", 64),
		"registry.example.com/" + strings.Repeat("a", 491),
	} {
		table[image] = taken(fmt.Sprintf("image: %q", image))
	}
	testAccepted(t, table)
}

func TestSpec_AcceptsTheSamples(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	files, err := filepath.Glob(filepath.Join(controlplane.Root(), "config", "samples", "cache_v1alpha1_*.yaml"))
	testenv.NoError(t, err)
	if len(files) == 0 {
		t.Fatal("there is no sample")
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		testenv.NoError(t, err)
		object := testenv.Parse(t, string(content))
		object.SetNamespace(namespace)
		if err := suite.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}
