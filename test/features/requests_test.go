// SPDX-License-Identifier: Apache-2.0

package features

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// requests notes by namespace what goes over the operator's transport, less watches, lists,
// events, the reads that verify a Memcached, and what the server rejected as out of date.
type requests struct {
	mu   sync.Mutex
	sent map[string][]request
}

// request is one of them: its method, and its object as "deployments/cache" or
// "memcacheds/cache/status".
type request struct {
	method, object string
}

func (r *requests) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		parts := strings.Split(req.URL.Path, "/")
		i := slices.Index(parts, "namespaces")
		if i < 0 || len(parts) <= i+3 {
			return next.RoundTrip(req)
		}
		namespace, sent := parts[i+1], request{req.Method, strings.Join(parts[i+2:], "/")}
		// Before it is sent, since its effect may be seen before its answer.
		r.note(namespace, sent)
		response, err := next.RoundTrip(req)
		if err == nil && response.StatusCode == http.StatusConflict && strings.HasSuffix(sent.object, "/status") {
			r.remove(namespace, sent)
		}
		return response, err
	})
}

// remove takes back a note.
func (r *requests) remove(namespace string, sent request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.sent[namespace], sent); i >= 0 {
		r.sent[namespace] = slices.Delete(r.sent[namespace], i, i+1)
	}
}

func (r *requests) note(namespace string, sent request) {
	verification := sent.method == http.MethodGet && strings.HasPrefix(sent.object, "memcacheds/")
	if strings.HasPrefix(sent.object, "events/") || verification {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sent == nil {
		r.sent = map[string][]request{}
	}
	r.sent[namespace] = append(r.sent[namespace], sent)
}

// take returns the requests about namespace since the last call.
func (r *requests) take(namespace string) []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent[namespace]
	delete(r.sent, namespace)
	return sent
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
