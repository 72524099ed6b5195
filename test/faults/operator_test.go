// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// operator is an operator behind a proxy of its own.
type operator struct {
	*proxy.Proxy
	// t is the test that the operator ends with; it may be the parent of the one that runs.
	t       *testing.T
	args    []string
	process *testenv.Process
	// fresh is where Memcacheds are made to compare others with; empty for an operator that
	// watches all namespaces.
	fresh string
}

// startIn starts an operator for namespaces, and one more for fresh Memcacheds, and waits until
// it is ready.
func startIn(t *testing.T, namespaces []string, args ...string) *operator {
	t.Helper()
	fresh := suite.NewNamespace(t)
	o := startOperator(t, append([]string{"--watch-namespaces=" + strings.Join(append([]string{fresh}, namespaces...), ",")}, args...)...)
	o.fresh = fresh
	return o
}

// startOperator starts an operator for all namespaces and waits until it is ready.
func startOperator(t *testing.T, args ...string) *operator {
	t.Helper()
	o := &operator{Proxy: proxy.Start(t, suite.Operator), t: t}
	o.args = append([]string{
		"--kubeconfig=" + testenv.Kubeconfig(t, o.Config(), ""), "--allow-privileged-fields",
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0",
	}, args...)
	o.restart()
	o.process.Ready(t)
	return o
}

// restart starts the process, which must have ended, anew.
func (o *operator) restart() {
	o.t.Helper()
	o.process = testenv.StartBinary(o.t, suite.Binary, o.args...)
}

// writesIn returns the writes in namespace, events among them; an empty namespace means all.
// Leases do not count.
func (o *operator) writesIn(namespace string) []proxy.Request {
	return o.Requests(func(r *proxy.Request) bool {
		return r.IsWrite() && !r.IsLease() && (namespace == "" || r.Namespace == namespace)
	})
}

// quiet waits until the operator has written nothing in namespace for duration.
func (o *operator) quiet(t *testing.T, namespace string, duration time.Duration) {
	t.Helper()
	since := time.Now()
	eventually(t, "the operator should write nothing for "+duration.String(), func(context.Context) (bool, error) {
		if writes := o.writesIn(namespace); len(writes) > 0 {
			if received := writes[len(writes)-1].Received; received.After(since) {
				since = received
			}
		}
		return time.Since(since) >= duration, nil
	})
}
