// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// wantUntouched fails if an operator did anything about a Memcached.
func wantUntouched(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	suite.Get(t, mc)
	if mc.Status.ObservedGeneration != 0 || len(mc.Status.Conditions) > 0 {
		t.Errorf("the Memcached %s/%s has a status, and no OperatorGroup has its namespace: %+v", mc.Namespace, mc.Name, mc.Status)
	}
	for _, child := range cluster.Children(mc.Namespace, mc.Name) {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(child), child); err == nil {
			t.Errorf("there is a %T %s/%s, and no OperatorGroup has its namespace", child, mc.Namespace, mc.Name)
		}
	}
}
