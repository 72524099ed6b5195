// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

// timeout bounds each request of the check: a server that does not answer at the
// start is an error, not a wait.
const timeout = 15 * time.Second

// Findings are what Check found at the API server.
type Findings struct {
	// Kinds are those to watch from the start to the end: the kinds of the templates,
	// less the optional ones, and those of leftovers.
	Kinds []schema.GroupVersionKind
	// Types knows the schema of every one of Kinds.
	Types *apply.Types
	// Optional looks for the rest, at any time.
	Optional *Optional
}

// Check asks the API server of cfg whether the operator can work with the objects of
// templates in namespaces (none means all).
func Check(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, templates *render.Renderer, namespaces []string) (*Findings, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = timeout
	// Looking for leftovers touches deprecated resources too; that is not news.
	cfg.WarningHandler = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("no way to an API server: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("no way to an API server: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("no way to an API server: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("no way to an API server: %w", err)
	}
	if err := Installed(mapper); err != nil {
		return nil, err
	}
	all := templates.Kinds()
	needed := slices.DeleteFunc(slices.Clone(all), templates.IsOptional)
	resources, err := Served(mapper, needed, templates.Source)
	if err != nil {
		return nil, err
	}
	reviews := clients.AuthorizationV1()
	if err := Permitted(ctx, reviews, resources, namespaces); err != nil {
		return nil, err
	}
	all, err = Leftovers{
		Discovery: clients.Discovery(),
		Rules:     reviews.SelfSubjectRulesReviews(),
		Metadata:  objects,
		Selector:  render.ManagedByLabel + "=" + render.ManagedBy,
	}.WithLeftovers(ctx, all, namespaces)
	if err != nil {
		return nil, err
	}
	kinds := slices.DeleteFunc(all, templates.IsOptional)
	types, err := apply.NewTypes(scheme, clients.Discovery().OpenAPIV3(), kinds)
	if err != nil {
		return nil, err
	}
	return &Findings{
		Kinds: kinds,
		Types: types,
		Optional: &Optional{
			discovery:  clients.DiscoveryClient,
			reviews:    reviews,
			types:      types,
			namespaces: namespaces,
		},
	}, nil
}
