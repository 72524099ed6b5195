// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

func TestConditionKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variable string
		file     string
		want     client.ObjectKey
		err      error
	}{
		"not installed by OLM": {file: "operators"},
		"installed by OLM":     {variable: conditionName, file: "operators\n", want: client.ObjectKey{Namespace: "operators", Name: conditionName}},
		"not in a pod":         {variable: conditionName, err: fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			getenv := func(name string) string {
				return map[string]string{"OPERATOR_CONDITION_NAME": test.variable}[name]
			}
			readFile := func(name string) ([]byte, error) {
				if name != "/var/run/secrets/kubernetes.io/serviceaccount/namespace" || test.file == "" {
					return nil, fs.ErrNotExist
				}
				return []byte(test.file), nil
			}
			got, err := ConditionKey(getenv, readFile)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("%v, %v; want %v, %v", got, err, test.want, test.err)
			}
			if err != nil && !strings.Contains(err.Error(), "OPERATOR_CONDITION_NAME is set, but the namespace of the pod is unknown") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

func TestOperatorCondition_LogsMissingPermissionOnce(t *testing.T) {
	t.Parallel()
	o := &operator{env: &suite, namespace: suite.NewNamespace(t)}
	oc := suite.newOperatorCondition(t, o.namespace)
	o.start(t)
	testenv.Eventually(t, "it should try three times", func() bool { return len(o.requests("GET")) >= 3 })
	if logs := o.logged(); len(logs) != 1 || !strings.Contains(logs[0], "forbidden") {
		t.Errorf("log lines: %q", logs)
	}
	if got := o.requests("PUT"); len(got) > 0 {
		t.Errorf("writes: %v", got)
	}
	suite.grant(t, oc)
	suite.eventuallyHas(t, oc, metav1.ConditionTrue, "NoRollOut")
}

// The control plane is the test's own, since OLM is installed during the test.
func TestOperatorCondition_IsWrittenOnceItExists(t *testing.T) {
	t.Parallel()
	e := &env{*testenv.New(t, testenv.Setup{Identity: true, Arguments: []string{testenv.WithoutControllers}})}
	testenv.NoError(t, e.addToScheme())
	o := &operator{env: e, namespace: e.NewNamespace(t)}
	o.startMemcacheds(t)
	e.NewMemcached(t, o.namespace, "cache", 2)
	o.start(t)
	testenv.Eventually(t, "it should log once that the kind is missing", func() bool { return len(o.logged()) == 1 })
	if logs := o.logged(); !strings.Contains(logs[0], "no matches for kind") {
		t.Errorf("log lines: %q", logs)
	}

	testenv.NoError(t, e.installOLM(t.Context()))
	oc := e.newOperatorCondition(t, o.namespace)
	e.grant(t, oc)
	e.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
	for _, line := range o.logged() {
		if strings.Contains(line, "Reconciler error") {
			t.Errorf("an error was logged: %s", line)
		}
	}
}

func TestOperatorCondition_IsWrittenByLeaderOnly(t *testing.T) {
	t.Parallel()
	o, oc := withOLM(t)
	o.lease = "memcached-operator.cache.example.com" // the only one that the role names
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.OperatorNamespace, Name: o.lease},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(3600)),
			AcquireTime: &metav1.MicroTime{Time: time.Now()}, RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	// A run before this one leaves it behind.
	testenv.NoError(t, client.IgnoreNotFound(suite.Client.Delete(t.Context(), lease.DeepCopy())))
	suite.Create(t, lease)
	o.start(t)
	setRollingOut(t, suite.NewMemcached(t, o.namespace, "cache", 2))
	testenv.Eventually(t, "it should read the lease twice", func() bool { return len(o.Matching("GET", "leases")) > 1 })
	if got := o.requests(""); len(got) > 0 {
		t.Errorf("the OperatorCondition was requested without the lease: %v", got)
	}
	// The other replica releases the lease.
	lease.Spec.HolderIdentity = new("")
	testenv.NoError(t, suite.Client.Update(t.Context(), lease))
	suite.eventuallyHas(t, oc, metav1.ConditionFalse, "RollingOut")
}
