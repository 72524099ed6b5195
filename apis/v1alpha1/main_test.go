// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/test/testenv"
)

// suite is the API server that all tests share, each in a namespace of its own.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{Arguments: []string{testenv.WithoutControllers}}))
}

// memcached is a Memcached as a user writes it; body is the YAML from spec on.
func memcached(t *testing.T, namespace, name, body string) *unstructured.Unstructured {
	t.Helper()
	object := testenv.Parse(t, "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\n"+body)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
