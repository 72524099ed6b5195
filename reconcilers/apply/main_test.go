// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/controlplane"
)

// kinds are those that the tests apply: the shipped ones, those that users might
// add to the templates, and custom resources, which no Go type stands for.
var kinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	widgetKind,
	gadgetKind,
	gizmoKind,
}

// suite is what all tests share: one API server, and one cache of what the operator
// made in all of its namespaces, as in production.
var suite struct {
	plane    *controlplane.ControlPlane
	admin    client.Client
	operator *rest.Config
	scheme   *runtime.Scheme
	mapper   meta.RESTMapper
	cache    cache.Cache
	types    managedfields.TypeConverter
	renderer *render.Renderer
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plane, err := controlplane.Start("--without-controllers")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	suite.plane, suite.admin = plane, plane.Client
	if err := prepare(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	cancel()
	return code, nil
}

// prepare installs the custom resources, grants the operator its roles, and starts
// the cache.
func prepare(ctx context.Context) error {
	suite.scheme = runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(suite.scheme), cachev1alpha1.AddToScheme(suite.scheme)); err != nil {
		return err
	}
	tree, err := render.LoadTree(manifests.FS)
	if err != nil {
		return err
	}
	if suite.renderer, err = render.New(tree, render.Defaults{}); err != nil {
		return err
	}
	if suite.operator, err = suite.plane.OperatorConfig(ctx); err != nil {
		return err
	}
	for _, text := range []string{widgets, gadgets, gizmos, moreKinds, moreKindsBinding} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			return err
		}
		if err := suite.plane.Apply(ctx, object); err != nil {
			return err
		}
	}
	httpClient, err := rest.HTTPClientFor(suite.operator)
	if err != nil {
		return err
	}
	if suite.mapper, err = apiutil.NewDynamicRESTMapper(suite.operator, httpClient); err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfigAndClient(suite.operator, httpClient)
	if err != nil {
		return err
	}
	// It takes the server a moment to serve a new custom resource, and its schema.
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		suite.types, err = apply.NewTypes(suite.scheme, server.OpenAPIV3(), kinds)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the schemas of the custom resources: %w", err)
	}
	return startCache(ctx)
}

func startCache(ctx context.Context) error {
	options, err := reconcilers.CacheOptions(nil)
	if err != nil {
		return err
	}
	options.Scheme, options.Mapper = suite.scheme, suite.mapper
	if suite.cache, err = cache.New(suite.operator, options); err != nil {
		return err
	}
	for _, kind := range kinds {
		object, err := apply.NewObject(suite.scheme, kind)
		if err != nil {
			return err
		}
		informer, err := suite.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if err := informer.AddIndexers(apply.OwnerIndexers); err != nil {
			return err
		}
	}
	go func() {
		if err := suite.cache.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if !suite.cache.WaitForCacheSync(ctx) {
		return errors.New("the cache did not fill")
	}
	return nil
}
