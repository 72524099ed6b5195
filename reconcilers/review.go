// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/sanitize"
	"github.com/example/memcached-operator/reconcilers/discovery"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Validator validates Memcacheds by rendering them as a reconcile does. It reads the templates in use and the
// availability of optional kinds, and sends no request.
type Validator struct{ reconciler *Reconciler }

var _ admission.Validator[*cachev1alpha1.Memcached] = Validator{}

// Validator returns a Validator with the templates of r.
func (r *Reconciler) Validator() Validator { return Validator{r} }

// ValidateCreate implements admission.Validator. It rejects mc if it would become stalled.
func (v Validator) ValidateCreate(_ context.Context, mc *cachev1alpha1.Memcached) (admission.Warnings, error) {
	_, warnings, err := v.review(mc)
	return warnings, err
}

// ValidateUpdate implements admission.Validator. It rejects mc if it would become stalled, unless before was already: a
// user may correct one of two faults, or change something else. It warns if all pods would be replaced.
func (v Validator) ValidateUpdate(_ context.Context, before, mc *cachev1alpha1.Memcached) (admission.Warnings, error) {
	if mc.DeletionTimestamp != nil || equality.Semantic.DeepEqual(before.Spec, mc.Spec) {
		return nil, nil
	}
	next, warnings, err := v.review(mc)
	previous, _, errBefore := v.review(before)
	switch {
	case err != nil && errBefore != nil:
		return admission.Warnings{err.Error()}, nil //nolint:nilerr // it is the warning
	case err != nil:
		return nil, err
	case errBefore == nil:
		warnings = append(warnings, replacedPods(before, mc, previous, next)...)
	}
	return warnings, nil
}

// ValidateDelete implements admission.Validator.
func (v Validator) ValidateDelete(context.Context, *cachev1alpha1.Memcached) (admission.Warnings, error) {
	return nil, nil
}

// review renders mc. The error is the message that the condition Stalled would have.
func (v Validator) review(mc *cachev1alpha1.Memcached) ([]*unstructured.Unstructured, admission.Warnings, error) {
	templates := v.reconciler.templates.Load()
	if mc.Name == "" { // The API server generates it after admission.
		mc = mc.DeepCopy()
		mc.Name = mc.GenerateName + "xxxxx"
	}
	objects, err := templates.Renderer.Render(mc)
	if err != nil {
		return nil, nil, errors.New(sanitize.Message(err))
	}
	warnings := oldImage(mc)
	if short := render.MemoryWarning(objects, mc.Name); short != "" {
		warnings = append(warnings, short)
	}
	for _, object := range objects {
		if reason := templates.Unavailability(object.GroupVersionKind()); reason != discovery.Available {
			warnings = append(warnings, fmt.Sprintf("%s is skipped: %s", object.GetKind(), reason))
		}
	}
	slices.Sort(warnings)
	return objects, slices.Compact(warnings), nil
}

// version matches the version in the tag of an image.
var version = regexp.MustCompile(`:1\.([0-9]{1,2})\.([0-9]{1,4})(?:[-@]|$)`)

// oldImage warns of an image that is older than what mc needs (docs/user/compatibility.md).
func oldImage(mc *cachev1alpha1.Memcached) admission.Warnings {
	match := version.FindStringSubmatch(string(ptr.Deref(mc.Spec.Image, "")))
	if match == nil {
		return nil
	}
	minor, _ := strconv.Atoi(match[1])
	patch, _ := strconv.Atoi(match[2])
	isBefore := func(want int) bool { return minor < 6 || minor == 6 && patch < want }
	switch {
	case isBefore(0):
		return older(mc, "1.6.0", "the first that knows the options of the templates: its pods do not start")
	case isBefore(40) && mc.Spec.Proxy != nil:
		return older(mc, "1.6.40", "the first with what proxies need: they may not start")
	case isBefore(44):
		return older(mc, "1.6.44", "before which the reload of users has known faults")
	}
	return nil
}

func older(mc *cachev1alpha1.Memcached, than, why string) admission.Warnings {
	return admission.Warnings{fmt.Sprintf("image %s is older than memcached %s, %s", *mc.Spec.Image, than, why)}
}

// replacedPods warns if the change from before to mc replaces all pods. previous and next are their objects.
func replacedPods(before, mc *cachev1alpha1.Memcached, previous, next []*unstructured.Unstructured) admission.Warnings {
	pods := ptr.Deref(before.Spec.Size, 1)
	if pods == 0 || ptr.Deref(mc.Spec.Size, 1) == 0 || ptr.Deref(mc.Spec.Paused, false) {
		return nil
	}
	from, to := podTemplate(previous, before.Name), podTemplate(next, mc.Name)
	switch {
	case equality.Semantic.DeepEqual(from, to):
		return nil
	case mc.Spec.WarmRestart != nil && equality.Semantic.DeepEqual(withoutImages(from), withoutImages(to)):
		return admission.Warnings{"restarts memcached in its pods one by one; they keep their cached data"}
	}
	data := "cached data is lost"
	if handover(before) > 0 && handover(mc) > 0 {
		data = "cached data is handed over"
	}
	if pods == 1 {
		return admission.Warnings{"replaces the only pod; its " + data}
	}
	how := "one by one"
	if mc.Spec.Rollout != nil {
		how = "as spec.rollout allows"
	}
	return admission.Warnings{fmt.Sprintf("replaces all %d pods %s; their %s", pods, how, data)}
}

// withoutImages returns a pod template without the images of its containers.
func withoutImages(template any) any {
	content, _ := template.(map[string]any)
	content = runtime.DeepCopyJSON(content)
	for _, list := range []string{"initContainers", "containers"} {
		value, _, _ := unstructured.NestedFieldNoCopy(content, "spec", list)
		containers, _ := value.([]any)
		for _, item := range containers {
			if container, ok := item.(map[string]any); ok {
				delete(container, "image")
			}
		}
	}
	return content
}

// podTemplate returns the pod template of the Deployment of the Memcached called name, or nil.
func podTemplate(objects []*unstructured.Unstructured, name string) any {
	for _, object := range objects {
		if object.GroupVersionKind() == appsv1.SchemeGroupVersion.WithKind("Deployment") && object.GetName() == name {
			template, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template")
			return template
		}
	}
	return nil
}
