// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/faults/proxy"
)

func TestAnswers_ThatAreNone(t *testing.T) {
	figure := measure(t, "garbage, HTML, half a body: back-off, nothing written, few lines")
	o := startOperator(t)
	mc := newMemcached(t, newNamespace(t), specOf(1))
	settled(t, mc)
	duration := form(30*time.Second, 8*time.Second)
	worst, requests := 0, 0
	for i, fault := range []proxy.Fault{proxy.Garbage, proxy.HTML, proxy.HalfBody} {
		t.Run(string(fault), func(t *testing.T) {
			t.Cleanup(func() { o.Fail(nil) })
			logged, before := lines(o), len(o.writesIn(""))
			sent := len(o.Requests(func(*proxy.Request) bool { return true }))
			// Reads get no answer; a write would be forwarded and seen.
			o.Fail(func(r *proxy.Request) proxy.Fault {
				if r.IsWrite() {
					return proxy.None
				}
				return fault
			})
			for _, resource := range watched {
				o.Expire(resource)
			}
			editTo(t, mc, 2+i)
			last(t, duration)
			if o.process.HasEnded() {
				t.Fatal("the operator exited")
			}
			if after := o.writesIn("")[before:]; len(after) > 0 {
				t.Errorf("%d writes, the first: %s", len(after), after[0].String())
			}
			worst = max(worst, lines(o)-logged)
			requests = max(requests, len(o.Requests(func(*proxy.Request) bool { return true }))-sent)
			fewLines(t, o, lines(o)-logged, duration)
			o.Fail(nil)
			equalsFresh(t, mc)
		})
	}
	figure.set("%s each: at most %d lines and %d requests, 0 writes", duration, worst, requests)
}

// newLease returns the lease of leaders, to read it into.
func newLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.OperatorNamespace, Name: "memcached-operator.cache.example.com"}}
}

func TestAnswers_CorruptLease(t *testing.T) {
	figure := measure(t, "corrupt lease: taken over or waited for, nothing written without it")
	args := []string{"--leader-elect", "--leader-elect-namespace=" + controlplane.OperatorNamespace}
	fatal(t, client.IgnoreAlreadyExists(suite.Client.Create(t.Context(), newLease())))
	contents := map[string]string{
		"an empty lease":                `{"spec": null}`,
		"a lease renewed in the future": `{"spec": {"holderIdentity": "ghost", "leaseDurationSeconds": 5, "renewTime": "2099-01-01T00:00:00.000000Z", "acquireTime": "2099-01-01T00:00:00.000000Z"}}`,
		"a holder without times":        `{"spec": {"holderIdentity": "ghost", "leaseDurationSeconds": 5, "renewTime": null, "acquireTime": null}}`,
	}
	for name, content := range contents {
		t.Run(name, func(t *testing.T) {
			corruptLease(t, content)
			o := startOperator(t, args...)
			mc := newMemcached(t, newNamespace(t), specOf(1))
			at := leads(t, o, time.Time{}, settleTimeout)
			settled(t, mc)
			early := o.Requests(func(r *proxy.Request) bool {
				return r.IsWrite() && !r.IsLease() && r.Received.Before(at.Add(-time.Second))
			})
			for _, r := range early {
				t.Errorf("a write without the lease: %s", r.String())
			}
			o.process.Terminate(t)
		})
	}
	t.Run("a lease that is HTML", func(t *testing.T) {
		o := startOperator(t, args...)
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
		logged := lines(o)
		duration := form(time.Minute, 10*time.Second)
		last(t, duration)
		if after := o.writesIn("")[before:]; len(after) > 0 {
			t.Errorf("%d writes without the lease, the first: %s", len(after), after[0].String())
		}
		fewLines(t, o, lines(o)-logged, duration)
		o.Fail(nil)
		leads(t, o, time.Now(), settleTimeout)
	})
	figure.set("%d leases", len(contents)+1)
}

// corruptLease makes the lease what content says, as the administrator.
func corruptLease(t *testing.T, content string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(content))
	fatal(t, suite.Client.Patch(t.Context(), newLease(), patch))
}
