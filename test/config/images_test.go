// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// reference finds references to images of memcached and of its exporter by tag.
var reference = regexp.MustCompile(`\b(prom/memcached-exporter:v[0-9][-.\w]*\w|memcached:1[-.\w]*\w)`)

// TestDefaultImages_MatchTheTemplates: manifests/base/values.yaml sets the default images. Other files repeat them; the
// test fails when one of them differs.
func TestDefaultImages_MatchTheTemplates(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		content, err := os.ReadFile(filepath.Join(controlplane.Root(), filepath.FromSlash(file)))
		testenv.NoError(t, err)
		return string(content)
	}
	var values render.Values
	testenv.NoError(t, yaml.Unmarshal([]byte(read("manifests/base/values.yaml")), &values))
	memcached, exporter := strings.TrimPrefix(values.Image, "docker.io/library/"), strings.TrimPrefix(values.Metrics.Image, "docker.io/")
	if values.Reloader.Image != values.Image {
		t.Errorf("the reloader runs %s by default, memcached %s", values.Reloader.Image, values.Image)
	}
	const older = "memcached:1.6.38" // end-to-end tests upgrade from it
	for file, want := range map[string][]string{
		"manifests/base/deployment.yaml":                                 {memcached},
		"manifests/base/memcached.yaml":                                  {memcached, exporter},
		"manifests/components/metrics/kustomization.yaml":                {exporter},
		"config/manager/manager.yaml":                                    {memcached, exporter},
		"charts/memcached-operator/values.yaml":                          {memcached, exporter},
		"charts/memcached-operator/Chart.yaml":                           {memcached, exporter},
		"bundle/manifests/memcached-operator.clusterserviceversion.yaml": {memcached, exporter},
		"hack/e2e.sh":                   {memcached, exporter, older},
		"hack/e2e-olm.sh":               {memcached, exporter},
		"hack/node/config/smoke.yaml":   {memcached, exporter},
		"test/e2e/cluster/memcached.go": {memcached, older},
		"docs/user/spec.md":             {memcached},
	} {
		var found []string
		for _, image := range reference.FindAllString(read(file), -1) {
			// An example of a field may name a variant.
			if image = strings.TrimSuffix(image, "-alpine"); !slices.Contains(found, image) {
				found = append(found, image)
			}
		}
		if slices.Sort(found); !slices.Equal(found, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s names %q, want %q", file, found, want)
		}
	}
	_, version, _ := strings.Cut(exporter, ":")
	if programs := read("hack/tools/programs.txt"); !strings.Contains(programs, "memcached_exporter@"+version+" ") {
		t.Errorf("hack/tools/programs.txt does not build the exporter %s", version)
	}
}
