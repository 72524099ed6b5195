// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Images returns the images of Memcacheds that name none: those of d, else those in the
// example Values of tree, which are the templates' own.
func (d Defaults) Images(tree Tree) ([]string, error) {
	var own Values
	if err := yaml.Unmarshal(tree[valuesFile], &own); err != nil {
		return nil, fmt.Errorf("%s: %w", valuesFile, err)
	}
	images := []string{cmp.Or(d.Image, own.Image)}
	if own.Metrics != nil {
		images = append(images, cmp.Or(d.ExporterImage, own.Metrics.Image))
	}
	return append(images, d.ReloaderImage), nil
}
