// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

// requestTimeout bounds each request: an API server that does not answer fails the start.
const requestTimeout = 15 * time.Second

// Result is what Check found at the API server.
type Result struct {
	// Kinds are the required kinds of the templates, which are watched from start to stop.
	Kinds []schema.GroupVersionKind
	// Types knows the schema of each of Kinds. The schemas of optional kinds are loaded later.
	Types *apply.Types
	// Discovery asks the API server for the resources that it serves.
	Discovery *discovery.DiscoveryClient
	// Access checks the operator's own permissions.
	Access *Access
	// Denied holds the RBAC rules that are missing, by namespace: at the time of Check.
	Denied map[string]string
	// Stale finds the kinds that earlier templates contained.
	Stale StaleKinds
}

// Check asks the API server of cfg whether the operator can manage the objects of templates in
// namespaces; no namespaces means all. It is an error if it can in none; those in which it cannot are in Result.Denied.
func Check(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, templates *render.Renderer, namespaces []string) (*Result, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = requestTimeout
	// Finding stale objects lists deprecated resources too.
	cfg.WarningHandler = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating API clients: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating API clients: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating API clients: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating API clients: %w", err)
	}
	if err := CheckCRD(mapper); err != nil {
		return nil, err
	}
	kinds := slices.DeleteFunc(templates.Kinds(), templates.IsOptional)
	resources, err := CheckKinds(mapper, kinds, templates.FileOfKind)
	if err != nil {
		return nil, err
	}
	access := newAccess(clients.AuthorizationV1(), namespaces, resources)
	denied, err := access.Check(ctx)
	if err != nil {
		return nil, err
	}
	permitted := access.Namespaces(denied)
	if len(permitted) == 0 {
		return nil, errors.New(Text(denied))
	}
	types, err := apply.NewTypes(scheme, clients.Discovery().OpenAPIV3(), kinds)
	if err != nil {
		return nil, err
	}
	return &Result{Kinds: kinds, Types: types, Discovery: clients.DiscoveryClient, Access: access, Denied: denied, Stale: StaleKinds{
		Discovery:  clients.Discovery(),
		Rules:      clients.AuthorizationV1().SelfSubjectRulesReviews(),
		Metadata:   objects,
		Namespaces: permitted,
	}}, nil
}
