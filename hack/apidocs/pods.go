// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"

	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render"
)

// pods says which fields of the spec replace pods, by the pod templates that are rendered with and without their examples.
type pods struct {
	renderer *render.Renderer
	plain    any
}

func newPods() (*pods, error) {
	tree, err := render.LoadTree(manifests.FS)
	if err != nil {
		return nil, err
	}
	p := &pods{}
	if p.renderer, err = render.New(tree, render.Defaults{AllowPrivilegedFields: true}); err != nil {
		return nil, err
	}
	p.plain, err = p.template(map[string]any{"size": 1})
	return p, err
}

// others are values of fields whose examples are what a pod has without them.
var others = map[string]any{
	"image": "memcached:1", "containerPort": 11212, "memory": "96Mi", "maxConnections": 2000, "threads": 2, "maxItemSize": "2Mi", "imagePullPolicy": "Always",
}

// replaced returns yes or no for a field with value, or on what it depends.
func (p *pods) replaced(field string, value any) (string, error) {
	switch field {
	case "parameters":
		return "if the templates use them in the pod template", nil
	case "patches":
		return "if they change the pod template", nil
	}
	if other, found := others[field]; found {
		value = other
	}
	spec := map[string]any{field: value}
	if field == "warmRestart" {
		spec["memory"] = "256Mi" // the least that it needs
	}
	template, err := p.template(spec)
	if err != nil {
		return "", fmt.Errorf("rendering the example of %s: %w", field, err)
	}
	if reflect.DeepEqual(template, p.plain) {
		return "no", nil
	}
	return "yes", nil
}

// template returns the template of the memcached pods of a Memcached with spec.
func (p *pods) template(spec map[string]any) (any, error) {
	// Defaults of the definition that the templates need; the examples need not be valid together.
	spec = maps.Clone(spec)
	spec["size"], spec["containerPort"] = cmp.Or(spec["size"], any(1)), cmp.Or(spec["containerPort"], any(11211))
	text, err := yaml.Marshal(map[string]any{"metadata": map[string]any{"name": "cache", "namespace": "shop"}, "spec": spec})
	if err != nil {
		return nil, err
	}
	mc := &cachev1alpha1.Memcached{}
	if err := yaml.UnmarshalStrict(text, mc); err != nil {
		return nil, err
	}
	objects, err := p.renderer.Render(mc)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() == "Deployment" && object.GetName() == mc.Name {
			return object.Object["spec"].(map[string]any)["template"], nil
		}
	}
	return nil, fmt.Errorf("the templates have no Deployment %s", mc.Name)
}
