// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	optional "github.com/example/memcached-operator/reconcilers/discovery"
	"github.com/example/memcached-operator/reconcilers/render"
)

// Cluster reads the objects of a cluster, and merges rendered objects with them.
type Cluster struct {
	client client.Client
	scheme *runtime.Scheme
	// kinds are the kinds of the objects that Memcacheds may control, those that the API server serves.
	kinds []schema.GroupVersionKind
	types *apply.Types
	api   rest.Interface
	// computes is set when the user lacks the permission for dry-runs.
	computes atomic.Bool
}

// NewCluster returns the cluster of cfg. Objects of kinds, which may contain duplicates and kinds that the
// API server does not serve, are compared.
func NewCluster(cfg *rest.Config, kinds []schema.GroupVersionKind) (*Cluster, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.QPS = -1 // The API server limits its load itself.
	api, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating an API client: %w", err)
	}
	c := &Cluster{client: api, scheme: scheme}
	for _, kind := range kinds {
		_, err := api.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err) || c.serves(kind):
		case err != nil:
			return nil, fmt.Errorf("discovering %s: %w", kind.Kind, err)
		default:
			c.kinds = append(c.kinds, kind)
		}
	}
	clients, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating an API client: %w", err)
	}
	c.api = clients.RESTClient()
	c.types, err = apply.NewTypes(scheme, clients.OpenAPIV3(), c.kinds)
	return c, err
}

// serves reports whether kind is one of c.kinds.
func (c *Cluster) serves(kind schema.GroupVersionKind) bool {
	return slices.Contains(c.kinds, kind)
}

// IsOpenShift reports whether the cluster is OpenShift.
func (c *Cluster) IsOpenShift(ctx context.Context) (bool, error) {
	return optional.IsOpenShift(ctx, c.api)
}

// Computes reports whether results were computed in this process, since the user lacks the permission for
// dry-runs. Admission policies and defaults of the API server are not part of these.
func (c *Cluster) Computes() bool { return c.computes.Load() }

// listControlled returns the objects that Memcacheds of namespace control, by the UID of the Memcached.
func (c *Cluster) listControlled(ctx context.Context, namespace string) (map[types.UID][]*unstructured.Unstructured, error) {
	controlled := map[types.UID][]*unstructured.Unstructured{}
	for _, kind := range c.kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{render.ManagedByLabel: render.ManagedBy})
		if err != nil {
			return nil, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			controller := metav1.GetControllerOf(&list.Items[i])
			if controller != nil && apply.IsOfKind(controller, cachev1alpha1.MemcachedKind.GroupKind()) {
				controlled[controller.UID] = append(controlled[controller.UID], &list.Items[i])
			}
		}
	}
	return controlled, nil
}

// find returns the live object of rendered, or nil if there is none. It asks the API server for an object
// that mc does not control.
func (c *Cluster) find(ctx context.Context, mc Memcached, rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	for _, object := range mc.Controlled {
		if isSame(object, rendered) {
			return object, nil
		}
	}
	if !c.serves(rendered.GroupVersionKind()) {
		return nil, nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(rendered.GroupVersionKind())
	err := c.client.Get(ctx, client.ObjectKeyFromObject(rendered), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s in namespace %s: %w", describe(rendered), rendered.GetNamespace(), err)
	}
	return live, nil
}
