// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoad_RejectsBadHelmValues(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ content, want string }{
		"no manifests":          {"replicaCount: 2", "holds no manifests, so it would change nothing"},
		"empty manifests":       {"manifests: {}", "holds no manifests, so it would change nothing"},
		"manifests as a list":   {"manifests: [a]", "manifests has to map paths to the texts of files"},
		"a file that is a map":  {"manifests: {base/a.yaml: {b: c}}", "manifests has to map paths to the texts of files"},
		"a path elsewhere":      {"manifests: {site/a.yaml: b}", `manifests: invalid path "site/a.yaml": it must be below base or components`},
		"a path to the outside": {"manifests: {base/../a.yaml: b}", `manifests: invalid path "base/../a.yaml"`},
		"a duplicate key":       {"manifests: {}\nmanifests: {}", `key "manifests" already set in map`},
		"no YAML":               {"a: [", "did not find expected node content"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(name, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := (&Options{HelmValues: name}).Load()
			if err == nil || !strings.HasPrefix(err.Error(), "--helm-values: "+name) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
}

// TestManifestPath_IsTheChartsPattern: what the chart accepts, the commands accept.
func TestManifestPath_IsTheChartsPattern(t *testing.T) {
	t.Parallel()
	values, err := os.ReadFile("../../charts/memcached-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(values), `patternProperties: {"`+manifestPath+`"`) {
		t.Errorf("the chart's schema has another pattern than %s", manifestPath)
	}
}
