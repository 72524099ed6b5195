// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// TestFields_AreDocumented: the table of features and a page on how to use it have every field of the spec.
func TestFields_AreDocumented(t *testing.T) {
	t.Parallel()
	var how strings.Builder
	for _, page := range files(t, "docs", ".md") {
		if path.Dir(page) == "docs/user" && page != "docs/user/spec.md" && page != "docs/user/privileged-fields.md" {
			how.WriteString(read(t, page))
		}
	}
	features := read(t, "docs/user/spec.md")
	fields := fieldsOf(reflect.TypeFor[cachev1alpha1.MemcachedSpec](), "")
	if len(fields) < 40 {
		t.Fatalf("the spec has the fields %q only", fields)
	}
	for _, field := range fields {
		if !strings.Contains(features, "`"+field+"`") {
			t.Errorf("docs/user/spec.md does not have `%s`", field)
		}
		if !strings.Contains(how.String(), "`"+field+"`") {
			t.Errorf("no page under docs/user says how to use `%s`", field)
		}
	}
}

// ofKubernetes are the types that have the fields of Kubernetes' own, which Kubernetes
// documents.
var ofKubernetes = []reflect.Type{
	reflect.TypeFor[cachev1alpha1.Affinity](), reflect.TypeFor[cachev1alpha1.NetworkPolicyPeer](), reflect.TypeFor[cachev1alpha1.ResourceAmounts](),
	reflect.TypeFor[cachev1alpha1.Toleration](), reflect.TypeFor[cachev1alpha1.TopologySpreadConstraint](),
}

// fieldsOf returns the paths of the fields of a type of ours, down to those of
// Kubernetes.
func fieldsOf(of reflect.Type, prefix string) []string {
	var fields []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		name = prefix + name
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct && isOwnType(inner.Elem()) {
				name += "[]"
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && isOwnType(inner) {
			fields = append(fields, fieldsOf(inner, name+".")...)
		} else {
			fields = append(fields, name)
		}
	}
	return fields
}

func isOwnType(of reflect.Type) bool {
	return of.PkgPath() == reflect.TypeFor[cachev1alpha1.MemcachedSpec]().PkgPath() && !slices.Contains(ofKubernetes, of)
}
