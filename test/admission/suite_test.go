// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/program"
	"github.com/example/memcached-operator/test/testenv"
)

// policyName is how the API server names the policy when it denies a request.
const policyName = "ValidatingAdmissionPolicy 'memcached-operator-privileged-fields'"

// openNamespace is a label of namespaces to which the policy is not bound.
const openNamespace = "test/open"

// suite is what the tests share.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{
		Arguments: []string{testenv.WithoutControllers},
		Identity:  true, // installs the policy too, which is in config/default
		Program:   program.Main,
		Prepare: func(ctx context.Context) error {
			if err := errors.Join(suite.InstallMonitoring(ctx), createNamespaces(ctx), limitPolicy(ctx), grant(ctx)); err != nil {
				return err
			}
			return waitForPolicy(ctx)
		},
	}))
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

// waitForPolicy waits until the API server enforces the policy where it is bound, and nowhere
// else.
func waitForPolicy(ctx context.Context) error {
	c, err := suite.UserClient(author)
	if err != nil {
		return err
	}
	for _, i := range installs {
		err := testenv.Poll(ctx, testenv.Timeout, func(ctx context.Context) (bool, error) {
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
