// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/largest"
	"github.com/example/memcached-operator/test/testenv"
)

// maxSpec is how many bytes of JSON a spec can have, in ASCII, with patches and without.
const (
	maxSpec        = 128 << 10
	maxWithPatches = maxSpec + 33<<10
)

// The API server evaluates every rule on the largest spec, within its budgets of cost.
func TestSpec_AcceptsTheLargest(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	for name, test := range map[string]struct {
		patches    []cachev1alpha1.Patch
		parameters cachev1alpha1.Parameters
		bytes      int
	}{
		"without patches":             {nil, nil, maxSpec},
		"with patches":                {largest.Patches(), nil, maxWithPatches},
		"with patches and parameters": {largest.Patches(), largest.Parameters(), maxWithPatches + 9<<10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "largest"}, Spec: largest.Spec()}
			mc.Spec.Patches, mc.Spec.Parameters = test.patches, test.parameters
			content, err := json.Marshal(mc.Spec)
			testenv.NoError(t, err)
			start := time.Now()
			testenv.NoError(t, suite.Client.Create(t.Context(), mc, client.DryRunAll, client.FieldValidation("Strict")))
			t.Logf("%d bytes, created in %v", len(content), time.Since(start))
			if len(content) > test.bytes {
				t.Errorf("the spec has %d bytes, more than %d", len(content), test.bytes)
			}
		})
	}
}
