// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const manifests = "../../bundle/manifests"

// edited is a copy of the bundle's manifests with each old replaced by new.
func edited(t *testing.T, replacements ...string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the bundle is missing, `make bundle` makes it: %v", err)
	}
	replacer := strings.NewReplacer(replacements...)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(replacer.Replace(string(content))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCheck_AcceptsBundle(t *testing.T) {
	t.Parallel()
	if err := check(manifests, false); err != nil {
		t.Error(err)
	}
}

func TestCheck_Rejects(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		dir     string
		digests bool
		want    []string
	}{
		"rejects a field without a descriptor": {
			edited(t, "path: size\n", "path: image\n"), false,
			[]string{"spec.size has no descriptor: give it a marker"},
		},
		"rejects a nested field without a descriptor": {
			edited(t, "path: podMetadata.labels\n", "path: podMetadata\n"), false,
			[]string{"spec.podMetadata.labels has no descriptor"},
		},
		"rejects a field in another type of the API without a descriptor": {
			edited(t, "path: resources.limits\n", "path: resources\n"), false,
			[]string{"spec.resources.limits has no descriptor"},
		},
		"rejects a descriptor in a type of Kubernetes": {
			edited(t, "path: affinity\n", "path: affinity.nodeAffinity\n"), false,
			[]string{"spec.affinity.nodeAffinity has a descriptor and is no field", "spec.affinity has no descriptor"},
		},
		"rejects a status field without a descriptor": {
			edited(t, "path: nodes\n", "path: image\n"), false,
			[]string{"status.nodes has no descriptor: give it a marker +operator-sdk:csv:customresourcedefinitions:type=status"},
		},
		"rejects a descriptor without a field": {
			edited(t, "path: size\n", "path: sizes\n"), false,
			[]string{"spec.sizes has a descriptor and is no field", "spec.size has no descriptor"},
		},
		"rejects a version that is not owned": {
			edited(t, "      version: v1alpha1\n  description", "      version: v1\n  description"), false,
			[]string{"memcacheds.cache.example.com v1alpha1 is served, and the ClusterServiceVersion does not own it"},
		},
		"rejects tags with --digests": {
			manifests, true,
			[]string{"annotation containerImage: memcached-operator:", "relatedImages memcached: docker.io/library/memcached:", "container manager of memcached-operator-controller-manager: "},
		},
		"rejects a directory without a bundle": {t.TempDir(), false, []string{"holds no ClusterServiceVersion"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			err := check(test.dir, test.digests)
			if err == nil {
				t.Fatal("it is not refused")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestCollect_FieldsWithDescriptors(t *testing.T) {
	t.Parallel()
	type properties = map[string]apiextensionsv1.JSONSchemaProps
	object := func(p properties) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Properties: p}
	}
	items := object(properties{"key": {}})
	spec := object(properties{
		"memory":      {},
		"affinity":    object(properties{"nodeAffinity": object(properties{"x": {}})}),
		"resources":   object(properties{"limits": {}}),
		"tolerations": {Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}},
	})
	for sentence, test := range map[string]struct {
		of   reflect.Type
		want []string
	}{
		"lists fields of the API, none in types of Kubernetes or lists": {
			reflect.TypeFor[cachev1alpha1.MemcachedSpec](),
			[]string{"affinity", "memory", "resources", "resources.limits", "tolerations"},
		},
		"lists all fields of an unknown type": {
			nil,
			[]string{"affinity", "affinity.nodeAffinity", "affinity.nodeAffinity.x", "memory", "resources", "resources.limits", "tolerations"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			fields := map[string]bool{}
			collect("", spec, test.of, fields)
			if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
