// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// requestTimeout bounds each request.
const requestTimeout = 15 * time.Second

// Client reads from a cluster with the permissions of a user.
type Client struct {
	api  client.Client
	core corev1client.CoreV1Interface
	host string
}

// NewClient returns a Client for the cluster and the user of cfg.
func NewClient(cfg *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.QPS = -1 // The API server limits its load itself.
	cfg.Timeout = cmp.Or(cfg.Timeout, requestTimeout)
	api, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating an API client: %w", err)
	}
	core, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating an API client: %w", err)
	}
	return &Client{api: api, core: core, host: cfg.Host}, nil
}

// Get returns a Memcached. With an empty name it is the only one of the namespace.
func (c *Client) Get(ctx context.Context, namespace, name string) (*cachev1alpha1.Memcached, error) {
	if name == "" {
		return c.only(ctx, namespace)
	}
	mc := &cachev1alpha1.Memcached{}
	err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, mc)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no Memcached %s in namespace %s: choose the namespace by -n, or list all by: kubectl get memcached -A", name, namespace)
	}
	if err != nil {
		return nil, c.explain(err, need{verb: "get", resource: memcacheds, namespace: namespace, purpose: "read the Memcached " + name})
	}
	return mc, nil
}

func (c *Client) only(ctx context.Context, namespace string) (*cachev1alpha1.Memcached, error) {
	list, err := c.List(ctx, namespace)
	if err != nil {
		return nil, err
	}
	switch len(list) {
	case 0:
		return nil, fmt.Errorf("there is no Memcached in namespace %s: choose the namespace by -n, or list all by: kubectl get memcached -A", namespace)
	case 1:
		return &list[0], nil
	default:
		var names []string
		for _, mc := range list {
			names = append(names, mc.Name)
		}
		return nil, fmt.Errorf("there are %d Memcacheds in namespace %s: name one of %s", len(list), namespace, strings.Join(names, ", "))
	}
}

// List returns the Memcacheds of a namespace, or of all if it is empty, sorted.
func (c *Client) List(ctx context.Context, namespace string) ([]cachev1alpha1.Memcached, error) {
	list := &cachev1alpha1.MemcachedList{}
	if err := c.api.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, c.explain(err, need{verb: "list", resource: memcacheds, namespace: namespace, purpose: "find the Memcacheds"})
	}
	slices.SortFunc(list.Items, func(a, b cachev1alpha1.Memcached) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// Namespaces returns the names of all namespaces.
func (c *Client) Namespaces(ctx context.Context) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := c.api.List(ctx, list); err != nil {
		return nil, c.explain(err, need{verb: "list", resource: "namespaces", purpose: "complete their names"})
	}
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.Name)
	}
	return names, nil
}

// Pods returns the memcached pods of a namespace, or of all if it is empty, by Memcached, each sorted by name. With a name
// it is only the pods of that Memcached. Pods that are being deleted or have ended are left out, as in status.nodes.
func (c *Client) Pods(ctx context.Context, namespace, name string) (map[client.ObjectKey][]corev1.Pod, error) {
	labels := client.MatchingLabels{appLabel: app}
	if name != "" {
		labels[ownerLabel] = name
	}
	list := &corev1.PodList{}
	if err := c.api.List(ctx, list, client.InNamespace(namespace), labels); err != nil {
		return nil, c.explain(err, need{verb: "list", resource: "pods", namespace: namespace, purpose: "find the memcached pods"})
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	pods := map[client.ObjectKey][]corev1.Pod{}
	for _, pod := range list.Items {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.DeletionTimestamp == nil && !ended && pod.Labels[ownerLabel] != "" {
			key := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[ownerLabel]}
			pods[key] = append(pods[key], pod)
		}
	}
	return pods, nil
}

// StableNames returns the stable names of the pods of a Memcached by their UIDs; none without spec.stableNames.
func (c *Client) StableNames(ctx context.Context, mc *cachev1alpha1.Memcached) (map[types.UID]string, error) {
	names := map[types.UID]string{}
	if !mc.Spec.HasStableNames() {
		return names, nil
	}
	list := &discoveryv1.EndpointSliceList{}
	err := c.api.List(ctx, list, client.InNamespace(mc.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: mc.Name + "-nodes"})
	if err != nil {
		return nil, c.explain(err, need{verb: "list", resource: "endpointslices.discovery.k8s.io", namespace: mc.Namespace, purpose: "show the stable names"})
	}
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Hostname != nil && endpoint.TargetRef != nil {
				names[endpoint.TargetRef.UID] = *endpoint.Hostname
			}
		}
	}
	return names, nil
}

// The labels of memcached pods, which are in the Deployment's immutable selector.
const (
	appLabel   = "app"
	app        = "memcached"
	ownerLabel = "memcached_cr"
)

const (
	// portName is the name of memcached's port in its container and in the Services.
	portName = "memcached"
	// DefaultPort is where memcached listens unless spec.containerPort says otherwise.
	DefaultPort = 11211
)

// Port returns the port on which the memcached in pod listens. It is the pod's own, which during a roll-out need not be
// that of the spec.
func Port(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == portName {
				return port.ContainerPort
			}
		}
	}
	return DefaultPort
}

// IsReady reports whether the pod is ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}
