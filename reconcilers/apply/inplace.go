// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/inplace"
)

// ChangeImages changes the images of the pods of live, a Deployment that differs from its template in images alone, or one that is
// paused by an earlier call, to those of target, while the pods stay. It is called until it is done.
type ChangeImages func(ctx context.Context, live *appsv1.Deployment, target corev1.PodSpec) (InPlace, error)

// InPlace is how far a change of images is. Unless it is Done or Refused, the Deployment keeps its images, and is paused.
type InPlace struct {
	// Done reports that all pods have the images.
	Done bool
	// Refused says why the pods have to be replaced.
	Refused string
	// Progress is for messages. After is the delay before the next step, if no change of a pod comes before.
	Progress string
	After    time.Duration
}

// updateInPlace is update, unless only images of pods change and owner.ChangeImages is set.
func (a *Applier) updateInPlace(ctx context.Context, owner *Owner, rendered *prepared, live client.Object) Result {
	before := &appsv1.Deployment{}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(rendered), before); err != nil {
		return failed(rendered, fmt.Errorf("reading %s: %w", describe(rendered), err))
	}
	held, err := a.withImages(rendered, before)
	if err != nil {
		return failed(rendered, err)
	}
	have := appliedTo(before)
	if held.digest.podTemplate() != have.podTemplate() {
		return a.updateFrom(ctx, owner, rendered, live, before)
	}
	target := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered.Object, target); err != nil {
		return failed(rendered, &SchemaError{rendered.GetKind(), rendered.GetName(), err})
	}
	progress, err := owner.ChangeImages(ctx, before, target.Spec.Template.Spec)
	if err != nil {
		return Result{Object: rendered.Unstructured, Action: Failed, Err: fmt.Errorf("changing the images of %s: %w", describe(rendered), err), Live: live}
	}
	result := Result{Object: rendered.Unstructured, Action: Unchanged, Live: a.reduce(before)}
	switch {
	case progress.Done || progress.Refused != "":
		result = a.updateFrom(ctx, owner, rendered, live, before)
	case held.digest != have:
		result = a.updateFrom(ctx, owner, held, live, before)
	}
	result.InPlace = progress
	return result
}

// withImages returns rendered, a Deployment, with the images of live, and paused.
func (a *Applier) withImages(rendered *prepared, live *appsv1.Deployment) (*prepared, error) {
	images := inplace.Images(live.Spec.Template.Spec)
	object := rendered.DeepCopy()
	RemoveHash(object)
	if err := unstructured.SetNestedField(object.Object, true, "spec", "paused"); err != nil {
		return nil, &SchemaError{rendered.GetKind(), rendered.GetName(), err}
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "spec", list)
		items, _ := containers.([]any)
		for _, item := range items {
			container, _ := item.(map[string]any)
			name, _ := container["name"].(string)
			if image, ok := images[name]; ok {
				container["image"] = image
			}
		}
	}
	held := a.Prepare([]*unstructured.Unstructured{object})[0]
	return held, held.err
}

// updateOf returns update, or updateInPlace where the change that planned is about may be one of images in place.
func (a *Applier) updateOf(owner *Owner, planned Result) func(context.Context, *Owner, *prepared, client.Object) Result {
	d, ok := planned.Live.(*appsv1.Deployment)
	if ok && owner.ChangeImages != nil && d.Name == owner.GetName() && (planned.replacesPods || d.Spec.Paused) {
		return a.updateInPlace
	}
	return a.update
}
