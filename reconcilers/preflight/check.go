// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
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

// Check asks the API server of cfg whether the operator can work with the objects of
// templates in namespaces (none means all). It returns the kinds of templates and
// those of leftovers, and the schema of each.
func Check(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, templates *render.Renderer, namespaces []string) ([]schema.GroupVersionKind, managedfields.TypeConverter, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = timeout
	// Looking for leftovers touches deprecated resources too; that is not news.
	cfg.WarningHandler = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("no way to an API server: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		return nil, nil, fmt.Errorf("no way to an API server: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, nil, fmt.Errorf("no way to an API server: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, nil, fmt.Errorf("no way to an API server: %w", err)
	}
	if err := Installed(mapper); err != nil {
		return nil, nil, err
	}
	kinds := templates.Kinds()
	resources, err := Served(mapper, kinds, templates.Source)
	if err != nil {
		return nil, nil, err
	}
	if err := Permitted(ctx, clients.AuthorizationV1().SelfSubjectAccessReviews(), resources, namespaces); err != nil {
		return nil, nil, err
	}
	kinds, err = Leftovers{
		Discovery: clients.Discovery(),
		Rules:     clients.AuthorizationV1().SelfSubjectRulesReviews(),
		Metadata:  objects,
		Selector:  render.ManagedByLabel + "=" + render.ManagedBy,
	}.WithLeftovers(ctx, kinds, namespaces)
	if err != nil {
		return nil, nil, err
	}
	types, err := apply.NewTypes(scheme, clients.Discovery().OpenAPIV3(), kinds)
	return kinds, types, err
}
