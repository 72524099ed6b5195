// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/dryrun"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// dryRunTimeout bounds the time for which a start or a reload waits for the dry-runs of templates.
	dryRunTimeout = 20 * time.Second
	// notChecked is logged when templates are used that the API server has not checked.
	notChecked = "Templates not checked by dry-run"
	// namespaceFile has the namespace of the pod that the operator runs in.
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// checkTemplates sends the objects of the templates to the API server as dry-runs, unless the
// templates are the embedded ones, which are tested. It returns an error if the API server rejects a
// field of one, and a transient error, which isTransient recognizes, if it does not answer in time. For reasons that need not hold
// for every Memcached, such as a quota, it logs that and returns nil. namespaces are those of preflight.Access.
func checkTemplates(ctx context.Context, logger logr.Logger, cfg *rest.Config, renderer *render.Renderer, namespaces []string, electionNamespace string) error {
	if renderer.IsShipped() {
		return nil
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dryRunTimeout)
	defer cancel()
	cfg = rest.CopyConfig(cfg)
	cfg.WarningHandler = rest.NoWarnings{}
	var result dryrun.Result
	err = retryStart(ctx, logger, func() error {
		api, err := client.New(cfg, client.Options{Scheme: scheme})
		if err != nil {
			return fmt.Errorf("creating an API client: %w", err)
		}
		result, err = dryrun.Check(ctx, api, renderer, dryRunNamespace(namespaces, electionNamespace, os.ReadFile), namespaces...)
		return err
	})
	if isTransient(err) {
		return fmt.Errorf("templates not checked by dry-run: %w", err)
	}
	if err != nil {
		logger.Info(notChecked, "reason", err.Error())
		return nil
	}
	for _, skipped := range result.Skipped {
		logger.Info("Object of a template not checked by dry-run", "reason", skipped.Error())
	}
	for _, denied := range result.Denied {
		logger.Info("Dry-run of an object of a template denied", "reason", denied.Error())
	}
	if err := result.Invalid.Err(); err != nil {
		return fmt.Errorf("templates: %w", err)
	}
	return nil
}

// dryRunNamespace returns a namespace for dry-runs: the first one that is watched, that of the
// operator, or default. readFile reads a file.
func dryRunNamespace(namespaces []string, electionNamespace string, readFile func(string) ([]byte, error)) string {
	own, _ := readFile(namespaceFile) // Outside a cluster there is none.
	return cmp.Or(namespaces[0], electionNamespace, strings.TrimSpace(string(own)), metav1.NamespaceDefault)
}
