// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/status"
)

const (
	// podAppLabel and podOwnerLabel select the memcached pods. They are the labels of the
	// operator-sdk tutorial, and part of the Deployment's immutable selector.
	podAppLabel   = "app"
	podApp        = "memcached"
	podOwnerLabel = "memcached_cr"

	// maxImages bounds the number of images that Deployments in the cache share.
	maxImages = 1024
)

// CacheOptions returns the manager's cache options for namespaces; none means all. The cache holds
// Memcacheds without metadata that the operator does not read, memcached pods with the fields that
// the status needs, and of every other kind, including those that are watched later, the objects
// with our label.
func CacheOptions(namespaces []string) (cache.Options, error) {
	pods, err := labels.Parse(fmt.Sprintf("%s=%s,%s", podAppLabel, podApp, podOwnerLabel))
	if err != nil {
		return cache.Options{}, err
	}
	// Those that Kubernetes makes for our Services have the labels of these.
	endpointSlices, err := labels.Parse(fmt.Sprintf("%s=%s,%s!=endpointslice-controller.k8s.io", render.ManagedByLabel, render.ManagedBy, discoveryv1.LabelManagedBy))
	if err != nil {
		return cache.Options{}, err
	}
	options := cache.Options{
		// An informer that a read starts by accident would hold every object of a kind.
		ReaderFailOnMissingInformer: true,
		DefaultLabelSelector:        labels.SelectorFromSet(labels.Set{render.ManagedByLabel: render.ManagedBy}),
		DefaultTransform:            transform(reduce),
		ByObject: map[client.Object]cache.ByObject{
			&cachev1alpha1.Memcached{}:   {Label: labels.Everything(), Transform: stripMemcached},
			&corev1.Pod{}:                {Label: pods, Transform: stripPod},
			&discoveryv1.EndpointSlice{}: {Label: endpointSlices},
		},
	}
	for _, namespace := range namespaces {
		if namespace == metav1.NamespaceAll {
			continue
		}
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
			options.NewInformer, options.DefaultWatchErrorHandler = newInformer, logWatchError
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options, nil
}

// newInformer returns an informer that begins without objects where the operator may not list them, and lists them once it may.
// The caches of all namespaces are synced together, so that one without permissions would keep the others from being served;
// discovery.Templates.IsDenied tells it from an empty one.
func newInformer(of toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	objects := toolscache.ToListerWatcherWithContext(of)
	var begun atomic.Bool
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.ListWithContext(ctx, options)
			if apierrors.IsForbidden(err) && !begun.Load() {
				list, err = &metav1.List{}, nil
			}
			if err == nil {
				begun.Store(true)
			}
			return list, err
		},
		WatchFuncWithContext: objects.WatchWithContext,
	}, object, resync, indexers)
}

// logWatchError logs why an informer lists again. Missing permissions are reported by namespace.
func logWatchError(ctx context.Context, reflector *toolscache.Reflector, err error) {
	if !apierrors.IsForbidden(err) {
		toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
	}
}

// transform returns the cache transform that reduces objects.
func transform(reduce func(client.Object) client.Object) func(any) (any, error) {
	return func(object any) (any, error) {
		if object, ok := object.(client.Object); ok {
			return reduce(object), nil
		}
		return object, nil
	}
}

// reduce returns object with the fields that the operator reads: those that apply.Reduce keeps, and
// those of a Deployment that the status is computed from.
func reduce(object client.Object) client.Object {
	reduced := apply.Reduce(object)
	deployment, ok := object.(*appsv1.Deployment)
	if !ok {
		return reduced
	}
	kept := reduced.(*appsv1.Deployment)
	kept.Spec.Replicas = deployment.Spec.Replicas
	// Most are those of the templates, which would take 400 bytes each.
	if selector := deployment.Spec.Selector; selector != nil && metav1.FormatLabelSelector(selector) != status.ShippedSelector(deployment.Name) {
		kept.Spec.Selector = selector
	}
	kept.Spec.MinReadySeconds = deployment.Spec.MinReadySeconds
	kept.Spec.Paused = deployment.Spec.Paused
	for _, container := range deployment.Spec.Template.Spec.Containers {
		if container.Name == status.MainContainer {
			kept.Spec.Template.Spec.Containers = reduceContainer(container)
		}
	}
	kept.Status = reduceStatus(deployment.Status)
	return kept
}

// reduceContainer returns container with its name and image only. Deployments with the same image
// share the result, since a Container takes more memory than the rest of a reduced Deployment.
func reduceContainer(container corev1.Container) []corev1.Container {
	mainContainers.Lock()
	defer mainContainers.Unlock()
	if shared, ok := mainContainers.images.Get(container.Image); ok {
		return shared.([]corev1.Container)
	}
	kept := make([]corev1.Container, 1)
	kept[0].Name, kept[0].Image = container.Name, container.Image
	mainContainers.images.Add(container.Image, kept)
	return kept
}

// mainContainers holds the shared containers by image.
var mainContainers = struct {
	sync.Mutex
	images *lru.Cache
}{images: lru.New(maxImages)}

// reduceStatus returns s with the fields that the status of a Memcached is computed from. Changes of
// other fields cause no reconcile.
func reduceStatus(s appsv1.DeploymentStatus) appsv1.DeploymentStatus {
	kept := appsv1.DeploymentStatus{
		ObservedGeneration: s.ObservedGeneration,
		Replicas:           s.Replicas,
		UpdatedReplicas:    s.UpdatedReplicas,
		ReadyReplicas:      s.ReadyReplicas,
		AvailableReplicas:  s.AvailableReplicas,
	}
	for _, c := range s.Conditions {
		switch {
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			kept.Conditions = append(kept.Conditions, appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			kept.Conditions = append(kept.Conditions,
				appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return kept
}

// stripMemcached removes the metadata that the operator does not read. Annotations alone can take
// 256 KiB, with which an author could exhaust the operator's memory.
func stripMemcached(object any) (any, error) {
	mc, ok := object.(*cachev1alpha1.Memcached)
	if !ok {
		return object, nil
	}
	uid := string(mc.UID)
	apply.Pack(&mc.Name, &uid, &mc.ResourceVersion, &mc.Status.Endpoint, &mc.Status.Selector)
	mc.ObjectMeta = metav1.ObjectMeta{
		Name:              mc.Name,
		Namespace:         apply.Intern(mc.Namespace),
		UID:               types.UID(uid),
		ResourceVersion:   mc.ResourceVersion,
		Generation:        mc.Generation,
		DeletionTimestamp: mc.DeletionTimestamp,
	}
	mc.Status.Image = apply.Intern(mc.Status.Image)
	for i := range mc.Status.Conditions {
		c := &mc.Status.Conditions[i]
		c.Type, c.Reason = apply.Intern(c.Type), apply.Intern(c.Reason)
		if c.Status == metav1.ConditionTrue {
			c.Message = apply.Intern(c.Message)
		}
	}
	return mc, nil
}

// stripPod keeps the fields of a pod that the status and the stable names are computed from: its identity, labels, age, node, zone,
// addresses, time of deletion and preStop, deletion cost, controller, phase, and the conditions and container states that tell whether and why it is not running.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	stripped := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              pod.Name,
			Namespace:         pod.Namespace,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp,
			// By it the deletion began.
			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
			Labels: map[string]string{
				podAppLabel:   pod.Labels[podAppLabel],
				podOwnerLabel: pod.Labels[podOwnerLabel],
			},
		},
		Spec: corev1.PodSpec{NodeName: apply.Intern(pod.Spec.NodeName), Containers: preStopContainers(pod)},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			PodIPs:                pod.Status.PodIPs,
			InitContainerStatuses: stripContainerStatuses(pod.Status.InitContainerStatuses),
			ContainerStatuses:     stripContainerStatuses(pod.Status.ContainerStatuses),
		},
	}
	if controller := metav1.GetControllerOf(pod); controller != nil {
		stripped.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	if zone, ok := pod.Labels[corev1.LabelTopologyZone]; ok {
		stripped.Labels[corev1.LabelTopologyZone] = apply.Intern(zone)
	}
	if cost, ok := pod.Annotations[corev1.PodDeletionCost]; ok {
		stripped.Annotations = map[string]string{corev1.PodDeletionCost: apply.Intern(cost)}
	}
	if status.NodeIsLost(pod.Status.Conditions) {
		stripped.Status.Conditions = lostConditions
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			stripped.Status.Conditions = append(readyConditions, stripped.Status.Conditions...)
		}
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			stripped.Status.Conditions = append(stripped.Status.Conditions,
				corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse {
			stripped.Status.Conditions = append(stripped.Status.Conditions,
				corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
	}
	return stripped, nil
}

// preStops holds the containers of preStopContainers by the seconds of the preStop, at most an hour, since pods share them.
var preStops sync.Map

// preStopContainers returns the memcached container of pod with its preStop alone, if that is long enough for a hand-over.
func preStopContainers(pod *corev1.Pod) []corev1.Container {
	for _, c := range pod.Spec.Containers {
		if c.Name != status.MainContainer || c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Sleep == nil {
			continue
		}
		sleep := min(c.Lifecycle.PreStop.Sleep.Seconds, int64(time.Hour/time.Second))
		if sleep < int64(nodes.ServingTime(0)/time.Second) {
			return nil
		}
		kept, _ := preStops.LoadOrStore(sleep, []corev1.Container{{
			Name: status.MainContainer, Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: sleep}}},
		}})
		containers, _ := kept.([]corev1.Container)
		return containers
	}
	return nil
}

// readyConditions are the conditions of most pods, which share them.
var readyConditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}

// lostConditions are those of which status.NodeIsLost is true.
var lostConditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}

// stripContainerStatuses keeps the containers that are waiting or have terminated before, and why and when.
func stripContainerStatuses(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
	var stripped []corev1.ContainerStatus
	for _, container := range containers {
		last := container.LastTerminationState.Terminated
		if container.State.Waiting == nil && last == nil {
			continue
		}
		kept := corev1.ContainerStatus{Name: container.Name}
		kept.State.Waiting = container.State.Waiting
		if last != nil {
			kept.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: last.Reason, ExitCode: last.ExitCode, FinishedAt: last.FinishedAt}
		}
		stripped = append(stripped, kept)
	}
	return stripped
}
