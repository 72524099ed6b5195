// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

// slice returns an EndpointSlice whose only name is that of the pod with address.
func (w *env) slice(address string) *unstructured.Unstructured {
	w.t.Helper()
	return w.made(strings.ReplaceAll(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cache-nodes-ipv4}
addressType: IPv4
ports: [{name: memcached, port: 11211, protocol: TCP}]
endpoints: [{addresses: [ADDRESS], hostname: cache-0, targetRef: {kind: Pod, name: a, uid: ADDRESS}}]
`, "ADDRESS", address))
}

// address returns the address in what the operator knows of its EndpointSlice.
func (w *env) address() string {
	w.t.Helper()
	known, err := w.applier.Owned(w.t.Context(), w.applier.Owner(w.owner), apply.EndpointSliceKind)
	testenv.NoError(w.t, err)
	if len(known) != 1 {
		w.t.Fatalf("known are %d EndpointSlices", len(known))
	}
	return known[0].(*discoveryv1.EndpointSlice).Endpoints[0].Addresses[0]
}

// What a slice holds follows from what it held, so an operator that has not seen the last version must not write: another leader,
// whose cache is behind.
func TestApply_ChangesAnEndpointSliceThatItHasSeenOnly(t *testing.T) {
	t.Parallel()
	for state, write := range map[string]func(w *env){
		"changed since": func(w *env) {
			w.applied(w.slice("10.0.0.1"))
			w.freeze()
			w.apply("another pod", apply.Configured, w.slice("10.0.0.2"))
		},
		"created since": func(w *env) {
			w.freeze()
			w.apply("the first pod", apply.Created, w.slice("10.0.0.2"))
		},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			write(w)
			if got := w.address(); got != "10.0.0.2" {
				t.Errorf("after its own write the operator knows %s", got)
			}
			w.restart()
			for _, result := range w.apply("a new leader", apply.Failed, w.slice("10.0.0.3")) {
				if !apply.IsRace(result.Err) {
					t.Errorf("it fails with %v", result.Err)
				}
			}
			w.cache.frozen = nil
			w.cache.isFrozen.Store(false)
			w.settle(w.slice("10.0.0.3"))
			if got := w.address(); got != "10.0.0.2" {
				t.Errorf("then it knows %s", got)
			}
			w.apply("with a newer cache", apply.Configured, w.slice("10.0.0.3"))
		})
	}
}

// One without our label is in no cache.
func TestApply_FindsAnEndpointSliceThatNoCacheHolds(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	w.applied(w.slice("10.0.0.1"))
	suite.Patch(t, w.slice("10.0.0.1"), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	w.settle(w.slice("10.0.0.1"))
	w.restart()
	w.apply("at first", apply.Failed, w.slice("10.0.0.2"))
	if got := w.address(); got != "10.0.0.1" {
		t.Errorf("it knows %s", got)
	}
	w.apply("then", apply.Configured, w.slice("10.0.0.2"))
	w.settle(w.slice("10.0.0.2"))
	w.requests.take()
	w.mustHold("with its label", w.slice("10.0.0.2"))
}

// The pods must not be replaced now. Those that are get new addresses all the same, and a list of them is changed with the size.
func TestApply_ChangesEndpointsAndListsWhilePodsWait(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	deployment := w.deployment()
	list := func(nodes string) *unstructured.Unstructured {
		return w.made("{apiVersion: v1, kind: ConfigMap, metadata: {name: cache-list, annotations: {cache.example.com/follows-size: 'true'}}, data: {nodes: " + nodes + "}}")
	}
	w.apply("at first", apply.Created, deployment, w.slice("10.0.0.1"), list("10.0.0.1"))
	w.updateStatus(deployment, func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"replicas": int64(3)} })
	w.settle(deployment, w.slice("10.0.0.1"), list("10.0.0.1"))
	container(deployment)["image"] = "memcached:1.6.46"
	owner, states := w.applier.Owner(w.owner), map[string]bool{}
	owner.MayReplacePods = func(outdated string) bool { states[outdated] = true; return false }
	for _, address := range []string{"10.0.0.2", "10.0.0.3"} {
		results, err := w.applier.Apply(t.Context(), owner, w.applier.Prepare([]*unstructured.Unstructured{deployment, w.slice(address), list(address)}))
		testenv.NoError(t, err)
		if results[0].Action != apply.Deferred || results[1].Action != apply.Configured || results[2].Action != apply.Configured {
			t.Errorf("Deployment %s, EndpointSlice %s, ConfigMap %s", results[0].Action, results[1].Action, results[2].Action)
		}
	}
	if len(states) != 1 {
		t.Error("a new address is taken for a change by another client")
	}
}

// The API server stores no list for one that is rendered empty, as that of a slice is while no pod has a name.
func TestApply_TakesAnEmptyListForNone(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	none := w.slice("10.0.0.1")
	none.Object["endpoints"] = []any{}
	for _, step := range []struct {
		when   string
		want   apply.Action
		object *unstructured.Unstructured
	}{
		{"no pod", apply.Created, none}, {"still no pod", apply.Unchanged, none}, {"a pod", apply.Configured, w.slice("10.0.0.1")},
		{"no pod any more", apply.Configured, none}, {"still none", apply.Unchanged, none},
	} {
		if result := w.apply(step.when, step.want, step.object)[0]; result.Mutation != "" {
			t.Errorf("%s: it is said that the server changed %s", step.when, result.Mutation)
		}
		w.settle(step.object)
	}
	w.restart()
	w.apply("after a restart", apply.Unchanged, none)
}
