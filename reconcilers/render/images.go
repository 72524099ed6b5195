// SPDX-License-Identifier: Apache-2.0

package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/nodes"
)

// checkGuarded returns an error if mc sets a field that Defaults.AllowPrivilegedFields would allow.
func (r *Renderer) checkGuarded(mc *cachev1alpha1.Memcached) error {
	if r.defaults.AllowPrivilegedFields {
		return nil
	}
	var images guarded.Images
	if mc.Spec.Image != nil || mc.Spec.Metrics != nil && mc.Spec.Metrics.Image != nil {
		var err error
		if images, err = r.operandImages(); err != nil {
			return err
		}
	}
	return guarded.Check(mc, images)
}

// OperandImages returns the images that Memcacheds may name without privileged fields: Defaults.OperandImages, or else the
// repositories of all images in the pods of Memcacheds that name none: of one without fields, of one with metrics, and of
// one with a sidecar that reloads files.
func (r *Renderer) OperandImages() (guarded.Images, error) { return r.operandImages() }

func (r *Renderer) loadOperandImages() (guarded.Images, error) {
	if len(r.defaults.OperandImages) > 0 {
		return r.defaults.OperandImages, nil
	}
	var images []string
	for _, spec := range []cachev1alpha1.MemcachedSpec{
		{}, {Metrics: &cachev1alpha1.Metrics{Port: new(int32(9150))}}, {Auth: &cachev1alpha1.Auth{SecretName: "users", Key: new("auth")}},
	} {
		mc := &cachev1alpha1.Memcached{Spec: spec}
		mc.Name, mc.Spec.Size, mc.Spec.ContainerPort = exampleName, new(int32(1)), new(int32(11211))
		objects, err := r.render(mc, nodes.Layout{})
		if err != nil {
			return nil, err
		}
		images = append(images, imagesOf(objects)...)
	}
	return guarded.Repositories(images...), nil
}

// imagesOf returns the images of the containers of objects.
func imagesOf(objects []*unstructured.Unstructured) (images []string) {
	for _, object := range objects {
		for _, field := range []string{"initContainers", "containers"} {
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", field)
			for _, container := range containers {
				if fields, ok := container.(map[string]any); ok {
					image, _ := fields["image"].(string)
					images = append(images, image)
				}
			}
		}
	}
	return images
}
