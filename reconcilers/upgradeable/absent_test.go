// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
)

func TestOutsideOLMNothingIsAskedAndNothingSaid(t *testing.T) {
	t.Parallel()
	g := given{world: suite, namespace: suite.newNamespace(t), reconciles: true}
	o := g.start(t)
	mc := newMemcached(t, suite, g.namespace, "cache")
	eventually(t, "the Memcached should be ready", func(ctx context.Context) (bool, error) { return isReady(ctx, mc) })
	if requests, logs := o.requests(""), o.logged(); len(requests)+len(logs) > 0 {
		t.Errorf("requests %v and log lines %v", requests, logs)
	}
}

func TestOutsideAPodNothingIsAsked(t *testing.T) {
	t.Parallel()
	g := given{world: suite, namespace: suite.newNamespace(t), conditionName: "memcached-operator.v0.0.1", outsidePod: true, reconciles: true}
	o := g.start(t)
	mc := newMemcached(t, suite, g.namespace, "cache")
	eventually(t, "the Memcached should be ready", func(ctx context.Context) (bool, error) { return isReady(ctx, mc) })
	if requests := o.requests(""); len(requests) > 0 {
		t.Errorf("requests: %v", requests)
	}
	if logs := o.logged(); len(logs) != 1 || !strings.Contains(logs[0], "no OperatorCondition is kept") {
		t.Errorf("log lines: %q", logs)
	}
}

func TestWithoutPermissionTheOperatorWorksAndSaysItOnce(t *testing.T) {
	t.Parallel()
	namespace := suite.newNamespace(t)
	oc := suite.newOperatorCondition(t, namespace)
	o := given{world: suite, namespace: namespace, conditionName: oc.Name, reconciles: true}.start(t)
	mc := newMemcached(t, suite, namespace, "cache")
	eventually(t, "the Memcached should be ready", func(ctx context.Context) (bool, error) { return isReady(ctx, mc) })
	eventually(t, "it should try three times", func(context.Context) (bool, error) { return len(o.requests("GET")) >= 6, nil })
	if logs := o.logged(); len(logs) != 1 || !strings.Contains(logs[0], "forbidden") {
		t.Errorf("log lines: %q", logs)
	}
	if got := o.requests("PUT"); len(got) > 0 {
		t.Errorf("writes: %v", got)
	}

	suite.grant(t, oc)
	suite.told(t, oc, metav1.ConditionTrue, "NoRollOut")
}

// A control plane of its own: OLM comes to it only in the course of the test.
func TestOLMMayComeLater(t *testing.T) {
	t.Parallel()
	w, err := newWorld(t.Context(), "--without-controllers")
	fatal(t, err)
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	namespace := w.newNamespace(t)
	o := given{world: w, namespace: namespace, conditionName: "memcached-operator.v0.0.1", reconciles: true}.start(t)
	mc := newMemcached(t, w, namespace, "cache")
	eventually(t, "the Memcached should be reconciled", func(ctx context.Context) (bool, error) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		return len(mc.Status.Conditions) > 0, err
	})
	eventually(t, "it should try twice", func(context.Context) (bool, error) { return len(o.requests("GET")) >= 4, nil })
	if logs := o.logged(); len(logs) != 1 || !strings.Contains(logs[0], "no matches for kind") {
		t.Errorf("log lines: %q", logs)
	}

	fatal(t, w.installOLM(t.Context()))
	oc := w.newOperatorCondition(t, namespace)
	w.grant(t, oc)
	w.told(t, oc, metav1.ConditionFalse, "RollingOut")
	for _, line := range o.logged() {
		if strings.Contains(line, "Reconciler error") {
			t.Errorf("an error was logged: %s", line)
		}
	}
}

func TestOnlyTheLeaderWrites(t *testing.T) {
	t.Parallel()
	g, oc := underOLM(t)
	g.lease = "memcached-operator.cache.example.com" // the only one that the role names
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.OperatorNamespace, Name: g.lease},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(3600)),
			AcquireTime: &metav1.MicroTime{Time: time.Now()}, RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	if err := suite.Client.Create(t.Context(), lease); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	o := g.start(t)
	rollsOut(t, newMemcached(t, suite, g.namespace, "cache"), time.Now())
	time.Sleep(3 * time.Second)
	if requests := o.requests(""); len(requests) > 0 {
		t.Errorf("requests without the lease: %v", requests)
	}
	// The other one goes, and leaves the lease.
	lease.Spec.HolderIdentity = new("")
	fatal(t, suite.Client.Update(t.Context(), lease))
	suite.told(t, oc, metav1.ConditionFalse, "RollingOut")
}
