// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MutateDeployments makes the API server change the Deployments in the namespace of probe by
// expression, the CEL expression of a JSON patch, and waits until isMutated accepts what becomes of
// probe, a Deployment that is not created. The returned function ends the mutation.
func (e *Env) MutateDeployments(t testing.TB, probe *unstructured.Unstructured, expression string, isMutated func(*unstructured.Unstructured) bool) (remove func()) {
	t.Helper()
	return e.deploymentPolicy(t, probe, policy{
		kind: "MutatingAdmissionPolicy",
		spec: fmt.Sprintf("reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: %q}}]", expression),
		isActive: func(created *unstructured.Unstructured, err error) bool {
			return err == nil && isMutated(created)
		},
	})
}

// DenyDeployments makes the API server refuse the Deployments in the namespace of probe, and waits
// until it refuses probe. The returned function ends that.
func (e *Env) DenyDeployments(t testing.TB, probe *unstructured.Unstructured) (remove func()) {
	t.Helper()
	return e.deploymentPolicy(t, probe, policy{
		kind:    "ValidatingAdmissionPolicy",
		spec:    "validations: [{expression: 'false', message: not on Sundays}]",
		binding: ", validationActions: [Deny]",
		isActive: func(_ *unstructured.Unstructured, err error) bool {
			return apierrors.IsInvalid(err)
		},
	})
}

// policy is an admission policy for Deployments.
type policy struct {
	kind string
	// spec is more fields of the policy's spec, as YAML, and binding of the binding's.
	spec, binding string
	// isActive reports whether the answer to a creation shows that the policy is active.
	isActive func(created *unstructured.Unstructured, err error) bool
}

func (e *Env) deploymentPolicy(t testing.TB, probe *unstructured.Unstructured, p policy) (remove func()) {
	t.Helper()
	e.SkipUnlessServed(t, p.kind+".v1.admissionregistration.k8s.io")
	namespace := probe.GetNamespace()
	object := Parse(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]s
metadata: {name: %[2]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  %[3]s
`, p.kind, namespace, p.spec))
	binding := Parse(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]sBinding
metadata: {name: %[2]s}
spec: {policyName: %[2]s%[3]s}
`, p.kind, namespace, p.binding))
	NoError(t, e.Apply(t.Context(), object))
	NoError(t, e.Apply(t.Context(), binding))
	e.EventuallyAdmits(t, probe, "the policy should be active", p.isActive)
	return func() {
		t.Helper()
		e.Delete(t, binding)
		e.Delete(t, object)
		e.EventuallyAdmits(t, probe, "the policy should have ended", func(created *unstructured.Unstructured, err error) bool {
			return err == nil && !p.isActive(created, err)
		})
	}
}

// EventuallyAdmits creates probe, as a dry run, until the answer is as expected.
func (e *Env) EventuallyAdmits(t testing.TB, probe *unstructured.Unstructured, want string, isExpected func(created *unstructured.Unstructured, err error) bool) {
	t.Helper()
	Eventually(t, want, func(ctx context.Context) (bool, error) {
		created := probe.DeepCopy()
		err := e.Client.Create(ctx, created, client.DryRunAll)
		return isExpected(created, err), nil
	})
}
