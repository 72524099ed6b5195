// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/controlplane"
)

// The Go module that has the definitions of ServiceMonitor and PrometheusRule as their
// makers ship them.
const (
	prometheusOperator    = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	prometheusOperatorSum = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
)

// MonitoringKind returns a kind of the Prometheus operator.
func MonitoringKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind}
}

// InstallMonitoring installs ServiceMonitor and PrometheusRule, without the schemas of their
// specs, and waits until they are served.
func (e *Env) InstallMonitoring(ctx context.Context) error {
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		definition := CustomResource("monitoring.coreos.com", kind, "Namespaced",
			`{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`)
		if err := e.ApplyYAML(ctx, definition); err != nil {
			return err
		}
		err := Poll(ctx, Timeout, func(ctx context.Context) (bool, error) {
			return e.Client.List(ctx, List(MonitoringKind(kind))) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for kind %s: %w", kind, err)
		}
	}
	return nil
}

// InstallPrometheusOperator installs ServiceMonitor and PrometheusRule as a release of the Prometheus operator
// has them, and waits until the API server serves them with their schemas.
func (e *Env) InstallPrometheusOperator(ctx context.Context) error {
	directory, err := moduleDirectory(ctx, prometheusOperator, prometheusOperatorSum)
	if err != nil {
		return err
	}
	plurals := []string{"servicemonitors", "prometheusrules"}
	for _, plural := range plurals {
		content, err := os.ReadFile(filepath.Join(directory, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+plural+".yaml"))
		if err != nil {
			return err
		}
		if err := e.ApplyYAML(ctx, string(content)); err != nil {
			return err
		}
	}
	server, err := discovery.NewDiscoveryClientForConfig(e.Config)
	if err != nil {
		return err
	}
	kinds := []schema.GroupVersionKind{MonitoringKind("ServiceMonitor"), MonitoringKind("PrometheusRule")}
	var last error
	err = Poll(ctx, Timeout, func(context.Context) (bool, error) {
		// The one is published without regard to the other.
		_, last = apply.NewTypes(e.Client.Scheme(), server.OpenAPIV3(), kinds)
		for _, plural := range plurals {
			served, err := discovery.IsResourceEnabled(server, kinds[0].GroupVersion().WithResource(plural))
			if err == nil && !served {
				err = fmt.Errorf("%s are not listed", plural)
			}
			last = errors.Join(last, err)
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the kinds of the Prometheus operator: %w", errors.Join(err, last))
	}
	return nil
}

// moduleDirectory downloads a Go module, unless it is there already, and returns where
// its files are.
func moduleDirectory(ctx context.Context, module, sum string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	command.Dir = controlplane.Root()
	output, err := command.Output()
	var downloaded struct{ Dir, Sum, Error string }
	if parseErr := json.Unmarshal(output, &downloaded); err != nil || parseErr != nil {
		return "", fmt.Errorf("downloading %s: %w: %s", module, errors.Join(err, parseErr), downloaded.Error)
	}
	if downloaded.Sum != sum {
		return "", fmt.Errorf("%s has the checksum %s, not %s", module, downloaded.Sum, sum)
	}
	return downloaded.Dir, nil
}
