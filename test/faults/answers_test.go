// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"testing"
	"time"

	"github.com/example/memcached-operator/test/faults/proxy"
)

func TestAnswers_Malformed(t *testing.T) {
	figure := measure(t, "garbage, HTML, half a body: back-off, nothing written, few lines")
	overlap(t)
	namespace := suite.NewNamespace(t)
	o := startIn(t, []string{namespace})
	mc := newMemcached(t, namespace, specOf(1))
	settled(t, mc)
	duration := form(30*time.Second, 5*time.Second)
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
			equalsFresh(t, o, mc)
		})
	}
	figure.set("%s each: at most %d lines and %d requests, 0 writes", duration, worst, requests)
}
