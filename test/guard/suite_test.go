// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
)

// policyName is how the API server names the policy when it denies a request.
const policyName = "ValidatingAdmissionPolicy 'memcached-operator-privileged-fields'"

// openNamespace is a label of namespaces to which the policy is not bound.
const openNamespace = "test/open"

// suite is what the tests share.
var suite struct {
	*controlplane.ControlPlane
	// operator is the identity of the operators, with the generated roles.
	operator *rest.Config
	// binary is the operator, built for the tests.
	binary string
}

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	log.SetLogger(logr.Discard())
	ctx := context.Background() //nolint:forbidigo // no test runs yet whose context could be used
	dir, err := os.MkdirTemp("", "memcached-operator-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	suite.binary = filepath.Join(dir, "memcached-operator")
	build := exec.CommandContext(ctx, "go", "build", "-o", suite.binary, ".")
	build.Dir = controlplane.Root()
	if output, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the operator: %w\n%s", err, output)
	}
	if suite.ControlPlane, err = controlplane.Start("--without-controllers"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Stop()) }()
	if suite.operator, err = suite.OperatorConfig(ctx); err != nil { // installs the policy, which is in config/default
		return 1, err
	}
	if err := errors.Join(defineMonitoring(ctx), createNamespaces(ctx), limitPolicy(ctx), grant(ctx)); err != nil {
		return 1, err
	}
	if err := policyWorks(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// createNamespaces creates the namespaces of the installs and of their neighbours.
func createNamespaces(ctx context.Context) error {
	var errs []error
	for _, i := range installs {
		for _, name := range []string{i.namespace, i.neighbour()} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if !i.policy {
				namespace.Labels = map[string]string{openNamespace: ""}
			}
			errs = append(errs, suite.Client.Create(ctx, namespace))
		}
	}
	return errors.Join(errs...)
}

// limitPolicy takes namespaces with the label of openNamespace out of the binding.
func limitPolicy(ctx context.Context) error {
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	if err := suite.Client.Get(ctx, client.ObjectKey{Name: "memcached-operator-privileged-fields"}, binding); err != nil {
		return err
	}
	binding.Spec.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: openNamespace, Operator: metav1.LabelSelectorOpDoesNotExist}},
	}}
	return suite.Client.Update(ctx, binding)
}

// policyWorks waits until the API server enforces the policy where it is bound, and
// nowhere else.
func policyWorks(ctx context.Context) error {
	c, err := as()
	if err != nil {
		return err
	}
	for _, i := range installs {
		err := eventually(ctx, func(ctx context.Context) (bool, error) {
			err := c.Create(ctx, memcached(i.namespace, "probe", "serviceAccountName: admin"), client.DryRunAll)
			denied := err != nil && strings.Contains(err.Error(), policyName)
			return denied == i.policy && (denied || err == nil), nil
		})
		if err != nil {
			return fmt.Errorf("the policy in namespace %s: %w", i.namespace, err)
		}
	}
	return nil
}

// defineMonitoring installs the two kinds of the Prometheus operator, without a schema.
func defineMonitoring(ctx context.Context) error {
	for plural, kind := range map[string]string{"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+plural+`.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: `+kind+`, plural: `+plural+`}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
`), &object.Object); err != nil {
			return err
		}
		if err := suite.Apply(ctx, object); err != nil {
			return err
		}
		if err := eventually(ctx, func(ctx context.Context) (bool, error) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(monitoringVersion.WithKind(kind + "List"))
			return suite.Client.List(ctx, list) == nil, nil
		}); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

func eventually(ctx context.Context, condition func(context.Context) (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Minute, true, condition)
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newNamespace returns a namespace for one test, to which the policy is bound.
func newNamespace(t *testing.T) string { return labelledNamespace(t, nil) }

// newOpenNamespace returns one to which it is not.
func newOpenNamespace(t *testing.T) string {
	return labelledNamespace(t, map[string]string{openNamespace: ""})
}

func labelledNamespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}
	fatal(t, suite.Client.Create(t.Context(), namespace))
	return namespace.Name
}
