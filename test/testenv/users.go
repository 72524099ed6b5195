// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
)

// As returns a client of a user with groups besides the one of every user.
func (e *Env) As(t testing.TB, user string, groups ...string) client.Client {
	t.Helper()
	c, err := e.UserClient(user, groups...)
	NoError(t, err)
	return c
}

// UserClient is As where there is no test, as in Setup.Prepare.
func (e *Env) UserClient(user string, groups ...string) (client.Client, error) {
	cfg := rest.CopyConfig(e.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append([]string{"system:authenticated"}, groups...)}
	return client.New(cfg, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
}

// Binding returns a ClusterRoleBinding that binds a user or a group to a ClusterRole.
func Binding(role, kind, name string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}},
	}
}

// SpecSchema returns the schema of a Memcached's spec in config/crd.
func SpecSchema(t testing.TB) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "config", "crd", "bases", "cache.example.com_memcacheds.yaml"))
	NoError(t, err)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	NoError(t, yaml.Unmarshal(content, definition))
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// DefinitionName is the name of the CustomResourceDefinition.
const DefinitionName = "memcacheds.cache.example.com"

// Definition returns the CustomResourceDefinition, with nothing but its name.
func Definition() *unstructured.Unstructured {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	definition.SetName(DefinitionName)
	return definition
}
