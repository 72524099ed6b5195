// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	nameForm  = "metadata.name must begin with a letter and hold only lower-case letters, digits and '-'"
	imageForm = "image must be a name with an optional registry, tag and digest and without spaces, such as memcached:1.6.45-alpine"
	labelKey  = "each label key must be a qualified name, such as team or example.com/team"
	labelForm = "a label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	reserved  = "labels app, memcached_cr, pod-template-hash and app.kubernetes.io/… belong to the operator; choose another key"
)

// refused is a Memcached that the API server must not take, and what it must say.
type refused struct {
	name string // by default "a"
	body string
	want []string
}

func testRefused(t *testing.T, table map[string]refused) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	for sentence, test := range table {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			object := memcached(t, namespace, cmp.Or(test.name, "a"), test.body)
			err := suite.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict"))
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Fatalf("it is not refused as invalid: %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestSpec_RejectsWrongTypes(t *testing.T) {
	testRefused(t, map[string]refused{
		"no spec":                       {want: []string{"spec: Required value"}},
		"a spec that is null":           {body: "spec:", want: []string{"spec: Required value"}},
		"a spec that is a list":         {body: "spec: []", want: []string{"spec", "must be of type object"}},
		"a negative size":               refusal("size: -1", "spec.size: Invalid value: -1", "greater than or equal to 0"),
		"a size in words":               refusal("size: three", "spec.size", "must be of type integer"),
		"a size in quotes":              refusal(`size: "3"`, "spec.size", "must be of type integer"),
		"a size that is not whole":      refusal("size: 1.5", "spec.size", "must be of type int"),
		"a privileged port":             refusal("containerPort: 80", "spec.containerPort: Invalid value: 80", "greater than or equal to 1024"),
		"a misspelt field":              refusal("sizes: 3", `unknown field "spec.sizes"`),
		"a field in the wrong case":     refusal("containerport: 11211", `unknown field "spec.containerport"`),
		"an unknown field further down": refusal("podMetadata: {label: {a: b}}", `unknown field "spec.podMetadata.label"`),
	})
}

func TestSpec_RejectsNames(t *testing.T) {
	name := func(name, want string) refused { return refused{name: name, body: "spec: {}", want: []string{want}} }
	testRefused(t, map[string]refused{
		"53 characters":        name(strings.Repeat("a", 53), "metadata.name must have at most 52 characters: the names of the pods are made from it"),
		"a dot":                name("a.b", nameForm),
		"a digit first":        name("1a", nameForm),
		"a hyphen last":        name("a-", nameForm),
		"a hyphen first":       name("-a", nameForm),
		"an upper-case letter": name("myCache", nameForm),
		"an underscore":        name("my_cache", nameForm),
	})
}

func TestSpec_RejectsImages(t *testing.T) {
	image := func(image string) refused { return refusal(fmt.Sprintf("image: %q", image), "spec.image", imageForm) }
	testRefused(t, map[string]refused{
		"a space":                          image("memcached 1.6"),
		"a space at the end":               image("memcached:1.6 "),
		"a line break":                     image("memcached\n"),
		"no character":                     image(""),
		"an upper-case name":               image("Memcached:1.6"),
		"two tags":                         image("memcached:1:6"),
		"an empty tag":                     image("memcached:"),
		"a URL":                            image("https://registry.example.com/memcached"),
		"no name":                          image("registry:5000/"),
		"an empty path element":            image("registry.example.com//memcached"),
		"a digest without its sum":         image("memcached@sha256"),
		"a digest that is too short":       image("memcached@sha256:0123456789abcdef"),
		"a digest that is not hexadecimal": image("memcached@sha256:" + strings.Repeat("xy", 32)),
		"a number":                         refusal("image: 1.6", "spec.image", "must be of type string"),
	})
}

func TestSpec_RejectsPodMetadata(t *testing.T) {
	label := func(entry, want string) refused {
		return refusal("podMetadata: {labels: {"+entry+"}}", "spec.podMetadata.labels", want)
	}
	annotation := func(entry, want string) refused {
		return refusal("podMetadata: {annotations: {"+entry+"}}", "spec.podMetadata.annotations", want)
	}
	testRefused(t, map[string]refused{
		"the label app":                            label("app: x", reserved),
		"the label memcached_cr":                   label("memcached_cr: x", reserved),
		"the Deployment controller's label":        label("pod-template-hash: x", reserved),
		"a recommended label":                      label("app.kubernetes.io/name: x", reserved),
		"a recommended label yet to be invented":   label("app.kubernetes.io/mood: x", reserved),
		"a reserved label among others":            label("team: web, app: x", reserved),
		"a label key with a space":                 label(`"my team": x`, labelKey),
		"an empty label key":                       label(`"": x`, labelKey),
		"a label key that ends with a dot":         label("team.: x", labelKey),
		"a label key with two slashes":             label("example.com/a/b: x", labelKey),
		"a prefix of 254 characters":               label(strings.Repeat("a", 254)+"/b: x", labelKey),
		"a prefix with two dots":                   label("a..b/c: x", labelKey),
		"a prefix with a hyphen before a dot":      label("a-.b/c: x", labelKey),
		"a prefix with a hyphen after a dot":       label("a.-b/c: x", labelKey),
		"a prefix that ends with a hyphen":         label("a-/c: x", labelKey),
		"an upper-case prefix":                     label("A/c: x", labelKey),
		"a label key that ends with an underscore": label("a_: x", labelKey),
		"a label key of 64 characters":             label(strings.Repeat("k", 64)+": x", labelKey),
		"a label value with a space":               label("team: my team", labelForm),
		"a label value that ends with a hyphen":    label("team: web-", labelForm),
		"a label value that is a number":           label("team: 1", "must be of type string"),
		"an annotation key with a space":           annotation(`"an owner": x`, annotationKey),
		"an empty annotation key":                  annotation(`"": x`, annotationKey),
	})
}
