// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"context"
	"fmt"
	"testing"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// underOLM is a namespace with an OperatorCondition, and an operator that may write it.
func underOLM(t *testing.T) (given, *apiv2.OperatorCondition) {
	t.Helper()
	namespace := suite.newNamespace(t)
	oc := suite.newOperatorCondition(t, namespace)
	suite.grant(t, oc)
	return given{world: suite, namespace: namespace, conditionName: oc.Name}, oc
}

func newMemcached(t *testing.T, w *world, namespace, name string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(2))},
	}
	fatal(t, w.Client.Create(t.Context(), mc))
	return mc
}

// rollsOut writes, in the operator's place, that mc rolls out since a time.
func rollsOut(t *testing.T, mc *cachev1alpha1.Memcached, since time.Time) {
	t.Helper()
	meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{
		Type: cachev1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonRollingOut,
		LastTransitionTime: metav1.NewTime(since),
	})
	fatal(t, suite.Client.Status().Update(t.Context(), mc))
}

func settles(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	mc.Status.Conditions = nil
	fatal(t, suite.Client.Status().Update(t.Context(), mc))
}

func isReady(ctx context.Context, mc *cachev1alpha1.Memcached) (bool, error) {
	err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc)
	return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady) && mc.Status.ObservedGeneration == mc.Generation, err
}

func TestARollOutHoldsTheUpgrade(t *testing.T) {
	t.Parallel()
	g, oc := underOLM(t)
	g.reconciles = true
	o := g.start(t)
	if got := suite.told(t, oc, metav1.ConditionTrue, "NoRollOut"); got != "no Memcached is rolling out" {
		t.Errorf("the message is %q", got)
	}

	mc := newMemcached(t, suite, g.namespace, "cache")
	if got, want := suite.told(t, oc, metav1.ConditionFalse, "RollingOut"), "rolling out: "+g.namespace+"/cache"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	suite.told(t, oc, metav1.ConditionTrue, "NoRollOut")
	if ready, err := isReady(t.Context(), mc); err != nil || !ready {
		t.Errorf("upgradeable before the Memcached is ready: %+v %v", mc.Status, err)
	}
	fatal(t, suite.Client.Patch(t.Context(), mc, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"podMetadata":{"annotations":{"example.com/a":"b"}}}}`))))
	suite.told(t, oc, metav1.ConditionFalse, "RollingOut")
	suite.told(t, oc, metav1.ConditionTrue, "NoRollOut")
	if got := o.requests("PUT"); len(got) != 5 {
		t.Errorf("%d writes for five changes: %v", len(got), got)
	}
	// What OLM wrote stays: operator-lib writes the whole object.
	if len(oc.Spec.Deployments) != 1 || len(oc.Spec.ServiceAccounts) != 1 {
		t.Errorf("the spec is now %+v", oc.Spec)
	}
	// What changes nothing about roll-outs makes no request.
	before := o.requests("")
	fatal(t, suite.Client.Patch(t.Context(), mc, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"example.com/a":"b"}}}`))))
	time.Sleep(time.Second)
	if after := o.requests(""); len(after) != len(before) {
		t.Errorf("requests at rest: %v", after[len(before):])
	}
}

func TestARestartWritesNothing(t *testing.T) {
	t.Parallel()
	for state, wanted := range map[string]struct {
		given  func(t *testing.T, mc *cachev1alpha1.Memcached)
		status metav1.ConditionStatus
		reason string
	}{
		"at rest":                      {func(*testing.T, *cachev1alpha1.Memcached) {}, metav1.ConditionTrue, "NoRollOut"},
		"in the middle of a roll-out":  {func(t *testing.T, mc *cachev1alpha1.Memcached) { rollsOut(t, mc, time.Now()) }, metav1.ConditionFalse, "RollingOut"},
		"in the middle of a stuck one": {func(t *testing.T, mc *cachev1alpha1.Memcached) { rollsOut(t, mc, time.Now().Add(-time.Hour)) }, metav1.ConditionTrue, "RollOutOverdue"},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			g, oc := underOLM(t)
			mc := newMemcached(t, suite, g.namespace, "cache")
			wanted.given(t, mc)
			first := g.start(t)
			suite.told(t, oc, wanted.status, wanted.reason)
			first.stop()
			if got := first.requests("PUT"); len(got) != 1 {
				t.Errorf("the first operator wrote %v", got)
			}
			version := oc.ResourceVersion

			second := g.start(t)
			eventually(t, "the second operator should look", func(context.Context) (bool, error) { return len(second.requests("GET")) > 0, nil })
			time.Sleep(time.Second)
			if got := second.requests("PUT"); len(got) > 0 {
				t.Errorf("the second operator wrote %v", got)
			}
			suite.told(t, oc, wanted.status, wanted.reason)
			if oc.ResourceVersion != version {
				t.Errorf("the OperatorCondition was written: %s -> %s", version, oc.ResourceVersion)
			}
		})
	}
}

func TestAStuckRollOutHoldsForABoundedTime(t *testing.T) {
	t.Parallel()
	g, oc := underOLM(t)
	const bound = 10 * time.Second
	g.change = func(r *Reporter) { r.bound = bound }
	o := g.start(t)
	suite.told(t, oc, metav1.ConditionTrue, "NoRollOut")
	mc := newMemcached(t, suite, g.namespace, "stuck")
	began := time.Now().Truncate(time.Second)
	rollsOut(t, mc, began)
	suite.told(t, oc, metav1.ConditionFalse, "RollingOut")
	// No event comes any more; the timer has to do it.
	got := suite.told(t, oc, metav1.ConditionTrue, "RollOutOverdue")
	if want := "rolling out for more than 10s and not waited for any longer: " + g.namespace + "/stuck"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	if took := time.Since(began); took < bound {
		t.Errorf("it held for %s only", took)
	}
	settles(t, mc)
	suite.told(t, oc, metav1.ConditionTrue, "NoRollOut")
	// The next one counts again.
	rollsOut(t, mc, time.Now())
	suite.told(t, oc, metav1.ConditionFalse, "RollingOut")
	if got := o.requests("PUT"); len(got) != 5 {
		t.Errorf("%d writes for five changes: %v", len(got), got)
	}
}

func TestMessagesAreNotWrittenForEveryMemcached(t *testing.T) {
	t.Parallel()
	g, oc := underOLM(t)
	g.change = func(r *Reporter) { r.pause = 5 * time.Second }
	o := g.start(t)
	suite.told(t, oc, metav1.ConditionTrue, "NoRollOut")
	for i := range 20 {
		rollsOut(t, newMemcached(t, suite, g.namespace, fmt.Sprintf("cache-%02d", i)), time.Now())
	}
	want := fmt.Sprintf("rolling out: %[1]s/cache-00, %[1]s/cache-01, %[1]s/cache-02 and 17 more", g.namespace)
	eventually(t, "the message should follow", func(context.Context) (bool, error) {
		return suite.told(t, oc, metav1.ConditionFalse, "RollingOut") == want, nil
	})
	if got := o.requests("PUT"); len(got) > 4 {
		t.Errorf("%d writes for 20 Memcacheds", len(got))
	}
}
