// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// TestPolicy_GuardsTheScaleSubresource: a write of the scale subresource does not show the policy which fields are set,
// so it requires the right to scale Deployments.
func TestPolicy_GuardsTheScaleSubresource(t *testing.T) {
	t.Parallel()
	const autoscaler = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
	for name, test := range map[string]struct {
		user, spec string
		replicas   int32
		accepted   bool
	}{
		"refuses an author under an administrator's settings":         {author, "{size: 1, serviceAccountName: cache}", 7, false},
		"refuses an author under an administrator's settings, to 0":   {author, "{size: 1, serviceAccountName: cache}", 0, false},
		"refuses an author of a plain Memcached":                      {author, "size: 1", 7, false},
		"accepts an author who changes nothing":                       {author, "{size: 1, serviceAccountName: cache}", 1, true},
		"accepts an editor under an administrator's settings":         {editor, "{size: 1, serviceAccountName: cache}", 7, true},
		"accepts an editor of a plain Memcached":                      {editor, "size: 1", 7, true},
		"accepts an editor of a plain Memcached, to 0":                {editor, "size: 1", 0, true},
		"accepts the autoscaler under an administrator's settings":    {autoscaler, "{size: 1, serviceAccountName: cache}", 7, true},
		"accepts the autoscaler from 0 under administrators settings": {autoscaler, "{size: 0, serviceAccountName: cache}", 7, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, scale := range map[string]func(client.Client, *unstructured.Unstructured) error{
				"update": func(c client.Client, mc *unstructured.Unstructured) error {
					return c.SubResource("scale").Update(t.Context(), mc, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: test.replicas}}))
				},
				"patch": func(c client.Client, mc *unstructured.Unstructured) error {
					patch := []byte(`{"spec":{"replicas":` + string('0'+test.replicas) + `}}`)
					return c.SubResource("scale").Patch(t.Context(), mc, client.RawPatch(types.MergePatchType, patch))
				},
			} {
				if test.user == autoscaler && how == "patch" {
					continue // it updates only
				}
				mc := memcached(suite.NewNamespace(t), "cache", test.spec)
				suite.Create(t, mc)
				c := suite.As(t, test.user)
				err := scale(c, mc)
				want := "requires the right to update deployments/scale.apps in namespace " + mc.GetNamespace() + ", which " + test.user + " does not have; change spec.size"
				if test.accepted != (err == nil) || err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: %v", how, err)
				}
				before := mc.Object["spec"].(map[string]any)["size"]
				suite.Get(t, mc)
				if size := mc.Object["spec"].(map[string]any)["size"]; test.accepted && size != int64(test.replicas) || !test.accepted && size != before {
					t.Errorf("%s: the size is %v", how, size)
				}
			}
		})
	}
}

// TestStatusSubresource_IgnoresSpec: a write of the status subresource changes no guarded field, so the policy does not
// match it.
func TestStatusSubresource_IgnoresSpec(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mc := memcached(namespace, "cache", "size: 1")
	suite.Create(t, mc)
	hostile := mc.DeepCopy()
	hostile.Object["spec"].(map[string]any)["tls"] = map[string]any{"secretName": "web"}
	testenv.NoError(t, suite.Client.Status().Update(t.Context(), hostile))
	suite.Get(t, mc)
	if tls := mc.Object["spec"].(map[string]any)["tls"]; tls != nil {
		t.Errorf("an update of the status wrote %v", tls)
	}
}
