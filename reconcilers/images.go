// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/inplace"
)

// changeImages returns the Owner.ChangeImages of mc; nil without spec.warmRestart, since the cache would be lost.
func (r *Reconciler) changeImages(mc *cachev1alpha1.Memcached) apply.ChangeImages {
	if mc.Spec.WarmRestart == nil {
		return nil
	}
	return func(ctx context.Context, live *appsv1.Deployment, target corev1.PodSpec) (apply.InPlace, error) {
		progress, err := r.changeImagesOf(ctx, mc, live, target)
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			return apply.InPlace{Refused: err.Error()}, nil
		}
		return progress, err
	}
}

func (r *Reconciler) changeImagesOf(ctx context.Context, mc *cachev1alpha1.Memcached, live *appsv1.Deployment, target corev1.PodSpec) (apply.InPlace, error) {
	observed := inplace.Observed{Deployment: live, Images: inplace.Images(target), Now: r.now()}
	selected := client.MatchingLabels{podAppLabel: podApp, podOwnerLabel: mc.Name}
	sets := &appsv1.ReplicaSetList{}
	if err := r.live.List(ctx, sets, client.InNamespace(mc.Namespace), selected); err != nil {
		return apply.InPlace{}, fmt.Errorf("listing ReplicaSets: %w", err)
	}
	observed.ReplicaSets = sets.Items
	var err error
	if observed.Pods, err = listPods(ctx, r.live, mc, selected); err != nil {
		return apply.InPlace{}, err
	}
	step := inplace.Next(observed)
	progress := apply.InPlace{Done: step.Done, Refused: step.Refused, After: step.After}
	progress.Progress = fmt.Sprintf("images are changed in the pods, one at a time: %d of %d done", step.Changed, step.All)
	if step.Waiting != "" {
		progress.Progress += "; " + step.Waiting
	}
	switch {
	case step.Pod != nil:
		err = r.changePod(ctx, step.Pod, observed.Outdated(step.Pod.Spec))
		if left := observed.Outdated(step.Pod.Spec); err == nil && len(left) > 0 {
			progress.Refused = fmt.Sprintf("admission sets other images in pod %s than %v", step.Pod.Name, left)
		}
	case step.ReplicaSet != nil:
		err = r.patch(ctx, step.ReplicaSet, nil, map[string]any{"template": map[string]any{"spec": withImages(step.ReplicaSet.Spec.Template.Spec, observed.Images)}})
	case step.Delete != nil:
		unchanged := client.Preconditions{UID: &step.Delete.UID, ResourceVersion: &step.Delete.ResourceVersion}
		err = r.client.Delete(ctx, step.Delete, unchanged, client.PropagationPolicy(metav1.DeletePropagationBackground))
	default:
		return progress, nil
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // It has changed since it was read.
		err = nil
	}
	if progress.After == 0 {
		progress.After = inplace.PollInterval
	}
	return progress, err
}

// changePod changes the images of pod. The annotation says which containers the change is to end.
func (r *Reconciler) changePod(ctx context.Context, pod *corev1.Pod, images map[string]string) error {
	log.FromContext(ctx).Info("Changing images in place", "pod", pod.Name, "images", images)
	return r.patch(ctx, pod, map[string]string{inplace.ReplacedAnnotation: inplace.Running(pod)}, withImages(pod.Spec, images))
}

// withImages returns a strategic merge patch of pod for images.
func withImages(pod corev1.PodSpec, images map[string]string) map[string]any {
	changed := func(containers []corev1.Container) (items []any) {
		for _, c := range containers {
			if image, ok := images[c.Name]; ok {
				items = append(items, map[string]any{"name": c.Name, "image": image})
			}
		}
		return items
	}
	patch := map[string]any{}
	if items := changed(pod.InitContainers); len(items) > 0 {
		patch["initContainers"] = items
	}
	if items := changed(pod.Containers); len(items) > 0 {
		patch["containers"] = items
	}
	return patch
}

// patch changes annotations and spec of object, and no other object of its name.
func (r *Reconciler) patch(ctx context.Context, object client.Object, annotations map[string]string, spec map[string]any) error {
	metadata := map[string]any{"uid": object.GetUID()}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	return r.client.Patch(ctx, object, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner(podFieldManager))
}
