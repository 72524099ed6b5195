// SPDX-License-Identifier: Apache-2.0

package features

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// properties are the paths of the properties of the spec, without those within lists
// and within what is Kubernetes' own, and passed on as a whole.
func properties(t *testing.T) []string {
	t.Helper()
	return below("", testenv.SpecSchema(t))
}

func below(prefix string, schema apiextensionsv1.JSONSchemaProps) []string {
	var paths []string
	for name, property := range schema.Properties {
		path := prefix + name
		paths = append(paths, path)
		if name != "affinity" && name != "resources" {
			paths = append(paths, below(path+".", property)...)
		}
	}
	slices.Sort(paths)
	return paths
}

// notShipped is the field that has no effect with the shipped templates, which declare no parameters.
const notShipped = "parameters"

func TestProperties_HaveAGoldenFile(t *testing.T) {
	t.Parallel()
	var all []map[string]any
	for file, input := range inputs(t) {
		all = append(all, specs(t, input)...)
		golden := filepath.Join(controlplane.Root(), "reconcilers", "render", "testdata", "golden", file)
		if found, err := filepath.Glob(golden + ".*"); err != nil || len(found) != 1 {
			t.Errorf("%s has the golden files %v (%v), want one", file, found, err)
		}
	}
	if missing := lacks(properties(t), all); !slices.Equal(missing, []string{notShipped}) {
		t.Errorf("in no Memcached of reconcilers/render/testdata/memcacheds: %v", missing)
	}
}

func TestProperties_HaveASample(t *testing.T) {
	t.Parallel()
	var all []map[string]any
	for _, objects := range samples(t) {
		all = append(all, specs(t, objects...)...)
	}
	topmost := slices.DeleteFunc(properties(t), func(path string) bool {
		// A priority class is an administrator's to make: a sample that names one would
		// run no pods.
		return strings.Contains(path, ".") || path == "priorityClassName" || path == notShipped
	})
	if missing := lacks(topmost, all); len(missing) > 0 {
		t.Errorf("in no sample of config/samples: %v", missing)
	}
}

func TestProperties_HaveAFeature(t *testing.T) {
	t.Parallel()
	var all []map[string]any
	for _, f := range features {
		all = append(all, merged(t, f.with, f.on), merged(t, f.with, f.changed))
	}
	if missing := lacks(properties(t), all); len(missing) > 0 {
		t.Errorf("no feature of this package sets %v", missing)
	}
}
