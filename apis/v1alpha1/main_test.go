// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
)

// plane is the API server that all tests share, each in a namespace of its own.
var plane *controlplane.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, &plane))
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	fatal(t, plane.Client.Create(t.Context(), namespace))
	return namespace.Name
}

// memcached is a Memcached as a user writes it; body is the YAML from spec on.
func memcached(t *testing.T, namespace, name, body string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\n" + body
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
