// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// Images returns the images of Memcacheds that do not set one: those of d, otherwise those
// of the example Values in tree.
func (d Defaults) Images(tree Tree) ([]string, error) {
	var example Values
	if err := yaml.Unmarshal(tree[template.ValuesFile], &example); err != nil {
		return nil, fmt.Errorf("%s: %w", template.ValuesFile, err)
	}
	images := []string{cmp.Or(d.Image, example.Image)}
	if example.Metrics != nil {
		images = append(images, cmp.Or(d.ExporterImage, example.Metrics.Image))
	}
	return append(images, d.ReloaderImage), nil
}
