// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// TestOwnershipConflict_StallsUntilTheObjectIsDeleted has another owner's object at a name that a
// Memcached needs.
func TestOwnershipConflict_StallsUntilTheObjectIsDeleted(t *testing.T) {
	t.Parallel()
	for kind := range cluster.Foreign("", "") {
		t.Run(kind, func(t *testing.T) {
			parallel(t)
			namespace := suite.NewNamespace(t)
			foreign := cluster.Foreign(namespace, "taken")[kind]
			suite.Create(t, foreign)
			uid := foreign.GetUID()
			children := append(cluster.Children(namespace, "taken"), cluster.MoreChildren(namespace, "taken")...)
			mc := suite.NewMemcached(t, namespace, "taken", 1, cluster.WithEveryObject)
			testenv.EventuallyObject(t, &suite.Env, mc, "stalled", func(mc *cachev1alpha1.Memcached) bool {
				return testenv.HasCondition(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonOwnershipConflict)
			})
			contains(t, meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled).Message, kind+" taken")

			// The other objects are created all the same, and the foreign one is unchanged.
			for _, child := range children {
				testenv.EventuallyObject(t, &suite.Env, child, "there", func(client.Object) bool { return true })
				if theirs := child.GetUID() == uid; metav1.IsControlledBy(child, mc) == theirs || theirs && len(child.GetOwnerReferences()) > 0 {
					t.Errorf("%T taken has owners %v; it is theirs: %t", child, child.GetOwnerReferences(), theirs)
				}
			}
			suite.Delete(t, foreign)
			// The operator looks again within minutes; a change of the Memcached is sooner.
			suite.Patch(t, mc, `{"spec":{"podMetadata":{"labels":{"team":"web"}}}}`)
			suite.Ready(t, mc)
			for _, child := range children {
				suite.Get(t, child)
				if !metav1.IsControlledBy(child, mc) {
					t.Errorf("%T taken has owners %v", child, child.GetOwnerReferences())
				}
			}
			suite.Cache(t, namespace, suite.Pods(t, namespace, "taken")[0].Name, memcached.Access{}).Set("key", "value")
		})
	}
}
