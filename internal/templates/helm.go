// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"fmt"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/reconcilers/render"
)

// manifestPath is the pattern of the chart's schema for the keys of its value manifests.
const manifestPath = `^(base|components)(/[-_a-zA-Z0-9][-._a-zA-Z0-9]*)+$`

// readHelmValues returns the value manifests of a values file of the chart: template files by path. The chart mounts them as
// the operator's --manifests-dir.
func readHelmValues(name string) (render.Tree, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var values struct {
		Manifests map[string]string `json:"manifests"`
	}
	if err := yaml.Unmarshal(asJSON, &values); err != nil {
		return nil, fmt.Errorf("%s: manifests has to map paths to the texts of files: %w", name, err)
	}
	if len(values.Manifests) == 0 {
		return nil, fmt.Errorf("%s holds no manifests, so it would change nothing", name)
	}
	pattern := regexp.MustCompile(manifestPath)
	tree := render.Tree{}
	for path, text := range values.Manifests {
		if !pattern.MatchString(path) {
			return nil, fmt.Errorf("%s: manifests: invalid path %q: it must be below base or components, such as components/site/kustomization.yaml", name, path)
		}
		tree[path] = []byte(text)
	}
	return tree, nil
}
