// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/operator-framework/api/crds"
	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// installOLM installs the CRD of OperatorConditions.
func (e *env) installOLM(ctx context.Context) error {
	crd := crds.OperatorCondition()
	if err := e.Client.Create(ctx, crd); err != nil {
		return err
	}
	return testenv.Poll(ctx, testenv.Timeout, func(ctx context.Context) (bool, error) {
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd)
		return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}), err
	})
}

// newOperatorCondition creates an OperatorCondition as OLM does.
func (e *env) newOperatorCondition(t *testing.T, namespace string) *apiv2.OperatorCondition {
	t.Helper()
	oc := &apiv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: conditionName},
		Spec: apiv2.OperatorConditionSpec{
			ServiceAccounts: []string{controlplane.OperatorServiceAccount},
			Deployments:     []string{"memcached-operator-controller-manager"},
		},
	}
	testenv.Eventually(t, "the API server should serve the kind", func(ctx context.Context) (bool, error) {
		err := e.Client.Create(ctx, oc)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, client.IgnoreNotFound(err)
	})
	return oc
}

// grant grants the operator what OLM grants: see ensureOperatorConditionRole in
// pkg/controller/operators/operatorcondition_controller.go of operator-lifecycle-manager v0.46.0.
func (e *env) grant(t *testing.T, oc *apiv2.OperatorCondition) {
	t.Helper()
	key := metav1.ObjectMeta{Namespace: oc.Namespace, Name: oc.Name}
	e.Create(t, &rbacv1.Role{ObjectMeta: key, Rules: []rbacv1.PolicyRule{{
		Verbs:         []string{"get", "update", "patch"},
		APIGroups:     []string{"operators.coreos.com"},
		Resources:     []string{"operatorconditions"},
		ResourceNames: []string{oc.Name},
	}}}, &rbacv1.RoleBinding{
		ObjectMeta: key,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: oc.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: controlplane.OperatorNamespace, Name: controlplane.OperatorServiceAccount}},
	})
}

// eventuallyHas waits until the OperatorCondition has status and reason, and returns the message.
func (e *env) eventuallyHas(t *testing.T, oc *apiv2.OperatorCondition, status metav1.ConditionStatus, reason string) string {
	t.Helper()
	message := ""
	testenv.Eventually(t, fmt.Sprintf("Upgradeable should be %s, %s", status, reason), func(ctx context.Context) (bool, error) {
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(oc), oc)
		c := meta.FindStatusCondition(oc.Spec.Conditions, apiv2.Upgradeable)
		if c == nil || c.Status != status || c.Reason != reason {
			return false, err
		}
		message = c.Message
		return true, err
	})
	return message
}
