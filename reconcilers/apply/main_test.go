// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/example/memcached-operator/reconcilers"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// kinds are those that the tests apply: the shipped ones, those that users might
// add to the templates, and custom resources, which no Go type stands for.
var kinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	apply.EndpointSliceKind,
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
	testenv.Env
	scheme   *runtime.Scheme
	cache    cache.Cache
	types    managedfields.TypeConverter
	renderer *render.Renderer
}

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite.Env, testenv.Setup{
		Arguments: []string{testenv.WithoutControllers}, Identity: true, Prepare: prepare,
	}))
}

// prepare installs the custom resources, grants the operator its roles, and starts
// the cache.
func prepare(ctx context.Context) (err error) {
	suite.scheme = suite.Client.Scheme()
	if suite.renderer, err = testenv.Renderer(nil); err != nil {
		return err
	}
	if err := suite.ApplyYAML(ctx, widgets, gadgets, gizmos(""), moreKinds, moreKindsBinding); err != nil {
		return err
	}
	server, err := discovery.NewDiscoveryClientForConfig(suite.Operator)
	if err != nil {
		return err
	}
	// It takes the server a moment to serve a new custom resource, and its schema.
	err = testenv.Poll(ctx, testenv.Timeout, func() bool {
		suite.types, err = apply.NewTypes(suite.scheme, server.OpenAPIV3(), kinds)
		return err == nil
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
	options.Scheme, options.Mapper = suite.scheme, suite.Client.RESTMapper()
	if suite.cache, err = cache.New(suite.Operator, options); err != nil {
		return err
	}
	for _, kind := range kinds {
		object, err := apply.NewCached(suite.scheme, kind)
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
