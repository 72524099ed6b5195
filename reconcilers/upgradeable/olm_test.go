// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/operator-framework/api/crds"
	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
)

// installOLM installs of OLM what the operator sees of it.
func (w *world) installOLM(ctx context.Context) error {
	crd := crds.OperatorCondition()
	if err := w.Client.Create(ctx, crd); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd)
		return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}), err
	})
}

// newOperatorCondition makes an OperatorCondition as OLM does.
func (w *world) newOperatorCondition(t *testing.T, namespace string) *apiv2.OperatorCondition {
	t.Helper()
	oc := &apiv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-operator.v0.0.1"},
		Spec: apiv2.OperatorConditionSpec{
			ServiceAccounts: []string{controlplane.OperatorServiceAccount},
			Deployments:     []string{"memcached-operator-controller-manager"},
		},
	}
	eventually(t, "the kind should be served", func(ctx context.Context) (bool, error) {
		err := w.Client.Create(ctx, oc)
		return err == nil, client.IgnoreNotFound(ignoreNoMatch(err))
	})
	return oc
}

// grant grants what OLM does, word for word: see ensureOperatorConditionRole in
// pkg/controller/operators/operatorcondition_controller.go of operator-lifecycle-manager v0.46.0.
func (w *world) grant(t *testing.T, oc *apiv2.OperatorCondition) {
	t.Helper()
	key := metav1.ObjectMeta{Namespace: oc.Namespace, Name: oc.Name}
	fatal(t, w.Client.Create(t.Context(), &rbacv1.Role{ObjectMeta: key, Rules: []rbacv1.PolicyRule{{
		Verbs:         []string{"get", "update", "patch"},
		APIGroups:     []string{"operators.coreos.com"},
		Resources:     []string{"operatorconditions"},
		ResourceNames: []string{oc.Name},
	}}}))
	fatal(t, w.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: key,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: oc.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: controlplane.OperatorNamespace, Name: controlplane.OperatorServiceAccount}},
	}))
}

// told waits until the OperatorCondition says status for reason, and returns the message.
func (w *world) told(t *testing.T, oc *apiv2.OperatorCondition, status metav1.ConditionStatus, reason string) string {
	t.Helper()
	message := ""
	eventually(t, fmt.Sprintf("OLM should be told %s for %s", status, reason), func(ctx context.Context) (bool, error) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(oc), oc)
		c := meta.FindStatusCondition(oc.Spec.Conditions, apiv2.Upgradeable)
		if c == nil || c.Status != status || c.Reason != reason {
			return false, err
		}
		message = c.Message
		return true, err
	})
	return message
}

// ignoreNoMatch drops the error that a kind is not served yet.
func ignoreNoMatch(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
