// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// TestOperandImages_AreThoseOfTheTemplates: without privileged fields, a Memcached may name the repositories that the pods of
// others have, wherever the templates or the environment say so.
func TestOperandImages_AreThoseOfTheTemplates(t *testing.T) {
	t.Parallel()
	r := mustNew(t, edited(t, inFile(t, deploymentFile, "image: docker.io/library/memcached:1.6.45", "image: mirror.example.com/memcached:1.6.45")),
		Defaults{ExporterImage: "mirror.example.com/exporter:1"})
	for image, accepted := range map[cachev1alpha1.Image]bool{
		"mirror.example.com/memcached:1.6.40": true,
		"memcached:evil":                      false,
		"prom/memcached-exporter:evil":        false,
		"mirror.example.com/exporter:2":       true,
		"memcached-operator-exporter:2":       false,
	} {
		mc := named("cache")
		mc.Spec.Image = &image
		if _, err := r.Render(mc); (err == nil) != accepted {
			t.Errorf("the image %s: %v", image, err)
		}
	}
}
