// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// requests lists what an operator's client sent, as "apply deployments/cache", with
// the server's answer added when it is an error: "apply deployments/cache 409".
type requests struct {
	mu   sync.Mutex
	sent []string
	// verified counts the reads of the owner, which sent does not have.
	verified int
	// before is called before a request is sent: what happens between the operator's
	// look at an object and its write.
	before func(request string)
}

// verification is the request that comes before each write for an owner; the answer
// may be an error.
const verification = "get memcacheds/cache"

// watch makes config's clients report to r.
func (r *requests) watch(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			name := nameOf(request)
			r.mu.Lock()
			before := r.before
			r.mu.Unlock()
			if before != nil {
				before(name)
			}
			response, err := next.RoundTrip(request)
			if err == nil && response.StatusCode >= http.StatusBadRequest {
				name = fmt.Sprintf("%s %d", name, response.StatusCode)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if strings.HasPrefix(name, verification) {
				r.verified++
			} else {
				r.sent = append(r.sent, name)
			}
			return response, err
		})
	})
	return config
}

// between calls f before the next request of that name is sent.
func (r *requests) between(request string, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var once sync.Once
	r.before = func(name string) {
		if name == request {
			once.Do(f)
		}
	}
}

// take returns the requests sent since the last call, by object, since those for different ones
// are sent at the same moment; those for one object are in their order.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return byObject(sent)
}

// byObject sorts requests by the object that they are for.
func byObject(requests []string) []string {
	sorted := slices.Clone(requests)
	slices.SortStableFunc(sorted, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return sorted
}

// takeVerified returns how often the owner was read since the last call.
func (r *requests) takeVerified() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	verified := r.verified
	r.verified = 0
	return verified
}

// mustBe compares the requests sent since the last look with want, object by object.
func (r *requests) mustBe(t *testing.T, when string, want ...string) {
	t.Helper()
	want = byObject(want)
	if sent := r.take(); !slices.Equal(sent, want) {
		t.Errorf("%s: sent\n\t%s\nwant\n\t%s", when, strings.Join(sent, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// nameOf names a request: what it does, the resource, and the object's name.
func nameOf(request *http.Request) string {
	verb := strings.ToLower(request.Method)
	if request.Method == http.MethodPatch {
		verb = "patch"
		if strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch") {
			verb = "apply"
		}
	}
	parts := strings.Split(request.URL.Path, "/")
	if i := slices.Index(parts, "namespaces"); i >= 0 && len(parts) > i+2 {
		parts = parts[i+2:]
	}
	return verb + " " + strings.Join(parts, "/")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
