// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"sync"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// install is one way of guarding the fields, and who writes Memcacheds there.
type install struct {
	name      string
	namespace string
	// flag says whether the operator runs with --allow-privileged-fields.
	flag bool
	// policy says whether the policy is bound to the namespace.
	policy bool
	// user writes the Memcacheds.
	user string
}

var installs = []install{
	{name: "flag off without policy", namespace: "plain", user: author},
	{name: "flag off with policy", namespace: "policy", policy: true, user: author},
	{name: "flag on with policy as author", namespace: "author", flag: true, policy: true, user: author},
	{name: "flag on with policy as editor", namespace: "editor", flag: true, policy: true, user: editor},
}

// neighbour is the namespace of another tenant whose Memcacheds the same operator runs.
func (i install) neighbour() string { return i.namespace + "-neighbour" }

// accepts returns whether admission lets the row pass.
func (i install) accepts(t *testing.T, r row) bool {
	t.Helper()
	if !i.policy {
		return true
	}
	for _, right := range r.rights {
		ok, err := allowed(t.Context(), i.user, right, i.namespace)
		testenv.NoError(t, err)
		if !ok {
			return false
		}
	}
	return true
}

// startOperator runs the operator for the install's namespaces until the test ends or
// stop is called.
func (i install) startOperator(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	p := testenv.StartBinary(t, suite.Binary, append([]string{"--kubeconfig", testenv.Kubeconfig(t, suite.Operator, ""),
		"--watch-namespaces", i.namespace + "," + i.neighbour(), "--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...)...)
	stop = sync.OnceFunc(func() {
		if status := p.Terminate(t); status != 0 {
			t.Errorf("the operator exits with %d:\n%s", status, p.Log.String())
		}
	})
	t.Cleanup(stop)
	return stop
}
