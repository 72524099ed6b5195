// SPDX-License-Identifier: Apache-2.0

package features

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// requests notes by namespace what goes over the operator's transport, watches, lists
// and events left out.
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
		if i := slices.Index(parts, "namespaces"); i >= 0 && len(parts) > i+3 {
			r.note(parts[i+1], request{req.Method, strings.Join(parts[i+2:], "/")})
		}
		return next.RoundTrip(req)
	})
}

func (r *requests) note(namespace string, sent request) {
	if strings.HasPrefix(sent.object, "events/") {
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
