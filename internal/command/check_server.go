// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/dryrun"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

// requestTimeout bounds each request.
const requestTimeout = 15 * time.Second

func (o *checkOptions) validateServer() error {
	if !o.server && (o.kubeconfig != "" || o.context != "" || o.namespace != "") {
		return errors.New("--kubeconfig, --context and --namespace: they have an effect with --server only")
	}
	if problems := validation.IsDNS1123Label(o.namespace); o.namespace != "" && len(problems) > 0 {
		return fmt.Errorf("--namespace: invalid namespace %q: %s", o.namespace, strings.Join(problems, "; "))
	}
	return nil
}

// askServer returns what the API server rejects of the objects of renderer. The error beside problems
// says that some objects were not sent.
func (o *checkOptions) askServer(ctx context.Context, renderer *render.Renderer) (render.Problems, error) {
	config := clientConfig(o.kubeconfig, o.context)
	cfg, err := config.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace := o.namespace
	if namespace == "" {
		if namespace, _, err = config.Namespace(); err != nil {
			return nil, fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
		}
	}
	api, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	if err := preflight.CheckCRD(api.RESTMapper()); err != nil {
		return nil, err
	}
	needed := slices.DeleteFunc(renderer.Kinds(), renderer.IsOptional)
	if _, err := preflight.CheckKinds(api.RESTMapper(), needed, renderer.FileOfKind); err != nil {
		if problems, ok := errors.AsType[render.Problems](err); ok {
			return problems, nil
		}
		return nil, err
	}
	result, err := dryrun.Check(ctx, api, renderer, namespace, namespace)
	if err != nil {
		return nil, err
	}
	if len(result.Skipped) > 0 {
		err = fmt.Errorf("not all objects are checked: %w", result.Skipped[0])
	}
	return slices.Concat(result.Invalid, result.Denied).Sorted(), err
}

func newClient(cfg *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.QPS = -1 // The API server limits its load itself.
	cfg.Timeout = requestTimeout
	api, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating an API client: %w", err)
	}
	return api, nil
}
