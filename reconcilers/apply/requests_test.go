// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

// requests records what an operator's clients sent. Tests write a request as "apply deployments/cache", with
// the status of the answer when it is an error: "apply deployments/cache 409".
type requests struct{ testenv.Recorder }

// config is the operator's, whose clients report to r.
func (r *requests) config() *rest.Config {
	config := rest.CopyConfig(suite.Operator)
	config.Wrap(r.Wrap)
	return config
}

// between calls f before the next request of that name is sent: after the operator's
// look at an object and before its write.
func (r *requests) between(request string, f func()) {
	r.OnFirst(func(sent testenv.Request) bool { return nameOf(sent) == request }, func(context.Context) { f() })
}

// take returns the requests sent since the last call, by object, since those for different ones
// are sent at the same moment; those for one object are in their order. A read directly before the apply of its object
// is part of that: it tells which fields the apply changes.
func (r *requests) take() []string {
	var names []string
	for _, request := range r.Take(func(r testenv.Request) bool { return !isVerification(r) }) {
		names = append(names, nameOf(request))
	}
	return withoutReads(byObject(names))
}

// withoutReads removes each "get" that the "apply" of its object follows.
func withoutReads(requests []string) []string {
	var rest []string
	for i, request := range requests {
		object, isRead := strings.CutPrefix(request, "get ")
		if next := i + 1; isRead && next < len(requests) && strings.HasPrefix(requests[next], "apply "+object) {
			continue
		}
		rest = append(rest, request)
	}
	return rest
}

// byObject sorts requests by the object that they are for.
func byObject(requests []string) []string {
	sorted := slices.Clone(requests)
	slices.SortStableFunc(sorted, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return sorted
}

// takeVerified returns how often the owner was read since the last call.
func (r *requests) takeVerified() int { return len(r.Take(isVerification)) }

// isVerification reports whether r reads the owner, which comes before each write for it.
func isVerification(r testenv.Request) bool {
	return strings.HasPrefix(nameOf(r), "get memcacheds/cache")
}

// mustBe compares the requests sent since the last look with want, object by object.
func (r *requests) mustBe(t *testing.T, when string, want ...string) {
	t.Helper()
	want = withoutReads(byObject(want))
	if sent := r.take(); !slices.Equal(sent, want) {
		t.Errorf("%s: sent\n\t%s\nwant\n\t%s", when, strings.Join(sent, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// nameOf names a request: what it does, the resource, the object's name, and the status of an error.
func nameOf(r testenv.Request) string {
	name := strings.ToLower(r.Method)
	if r.IsApply {
		name = "apply"
	}
	parts := strings.Split(r.Path, "/")
	if i := slices.Index(parts, "namespaces"); i >= 0 && len(parts) > i+2 {
		parts = parts[i+2:]
	}
	name += " " + strings.Join(parts, "/")
	if r.Status >= http.StatusBadRequest {
		name = fmt.Sprintf("%s %d", name, r.Status)
	}
	return name
}
