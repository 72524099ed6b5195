// SPDX-License-Identifier: Apache-2.0

package features

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// The Go module that has the definitions of ServiceMonitor and PrometheusRule as their
// makers ship them.
const (
	prometheusOperator    = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	prometheusOperatorSum = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
)

// suite is what all tests share: a control plane, and one operator for all namespaces.
var suite struct {
	testenv.Env
	operator *testenv.Manager
	// recorder has the operator's requests about single objects.
	recorder testenv.Recorder
}

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite.Env, testenv.Setup{Identity: true, Prepare: prepare}))
}

// prepare starts the operator, whose requests are recorded.
func prepare(ctx context.Context) (err error) {
	if err := installMonitoring(ctx); err != nil {
		return err
	}
	suite.recorder.Skip = func(req *http.Request) bool {
		_, object := objectOf(req.URL.Path)
		return object == ""
	}
	if suite.operator, err = suite.StartManager(ctx, testenv.ManagerOptions{Wrap: suite.recorder.Wrap}); err != nil {
		return err
	}
	suite.Cleanup(suite.operator.Wait)
	return nil
}

// installMonitoring installs the kinds of the Prometheus operator, and waits until the
// API server serves them with their schemas.
func installMonitoring(ctx context.Context) error {
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
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &definition.Object); err != nil {
			return err
		}
		if err := suite.Apply(ctx, definition); err != nil {
			return err
		}
	}
	server, err := discovery.NewDiscoveryClientForConfig(suite.Config)
	if err != nil {
		return err
	}
	kinds := []schema.GroupVersionKind{testenv.MonitoringKind("ServiceMonitor"), testenv.MonitoringKind("PrometheusRule")}
	var last error
	err = testenv.Poll(ctx, testenv.Timeout, func(context.Context) (bool, error) {
		// The one is published without regard to the other.
		_, last = apply.NewTypes(suite.Client.Scheme(), server.OpenAPIV3(), kinds)
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
