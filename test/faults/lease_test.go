// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// newLease returns the lease of leaders, to read it into.
func newLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.OperatorNamespace, Name: "memcached-operator.cache.example.com"}}
}

// corruptLeases starts operators that find a lease that cannot be right, or none that can be
// read.
func corruptLeases(t *testing.T) {
	figure := measure(t, "corrupt lease: taken over or waited for, nothing written without it")
	namespace := suite.NewNamespace(t)
	testenv.NoError(t, client.IgnoreAlreadyExists(suite.Client.Create(t.Context(), newLease())))
	contents := map[string]string{
		"an empty lease":                `{"spec": null}`,
		"a lease renewed in the future": `{"spec": {"holderIdentity": "ghost", "leaseDurationSeconds": 5, "renewTime": "2099-01-01T00:00:00.000000Z", "acquireTime": "2099-01-01T00:00:00.000000Z"}}`,
		"a holder without times":        `{"spec": {"holderIdentity": "ghost", "leaseDurationSeconds": 5, "renewTime": null, "acquireTime": null}}`,
	}
	for name, content := range contents {
		if testing.Short() && name != "a lease renewed in the future" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			corruptLease(t, content)
			o := startIn(t, []string{namespace}, electing...)
			mc := newMemcached(t, namespace, specOf(1))
			at := leads(t, o, time.Time{}, settleTimeout)
			settled(t, mc)
			early := o.Requests(func(r *proxy.Request) bool {
				return r.IsWrite() && !r.IsLease() && r.Received.Before(at)
			})
			for _, r := range early {
				t.Errorf("a write without the lease: %s", r.String())
			}
			remove(t, mc)
			emptied(t, namespace)
			o.process.Terminate(t)
		})
	}
	t.Run("a lease that is HTML", func(t *testing.T) {
		o := startIn(t, []string{namespace}, electing...)
		leads(t, o, time.Time{}, settleTimeout)
		o.process.Terminate(t)
		o.Fail(func(r *proxy.Request) proxy.Fault {
			if r.IsLease() {
				return proxy.HTML
			}
			return proxy.None
		})
		before := len(o.writesIn(""))
		o.restart()
		o.process.Ready(t)
		testenv.Within(t, settleTimeout, "it should ask for the lease", func(context.Context) (bool, error) {
			return strings.Contains(o.process.Log.String(), "retrieving lease lock"), nil
		})
		logged := lines(o)
		duration := form(time.Minute, 5*time.Second)
		last(t, duration)
		if after := o.writesIn("")[before:]; len(after) > 0 {
			t.Errorf("%d writes without the lease, the first: %s", len(after), after[0].String())
		}
		fewLines(t, o, lines(o)-logged, duration)
		o.Fail(nil)
		leads(t, o, time.Now(), settleTimeout)
	})
	figure.set("%d leases", form(len(contents), 1)+1)
}

// corruptLease makes the lease what content says, as the administrator.
func corruptLease(t *testing.T, content string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(content))
	testenv.NoError(t, suite.Client.Patch(t.Context(), newLease(), patch))
}
