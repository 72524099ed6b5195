// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
)

// requests records the requests of a client, except watches, initial lists and events.
type requests struct {
	mu   sync.Mutex
	seen []string
	// answers are the requests with the status of their response.
	answers []answered
	// before is called before a request is sent.
	before func(ctx context.Context, request string)
}

type answered struct {
	request string
	status  int
}

// onFirst calls f with the context of the first request that has method and ends with path, before
// it is sent.
func (r *requests) onFirst(method, path string, f func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var once sync.Once
	r.before = func(ctx context.Context, request string) {
		if strings.HasPrefix(request, method) && strings.HasSuffix(request, path) {
			once.Do(func() { f(ctx) })
		}
	}
}

// statuses returns the statuses of the answers to requests that end with path.
func (r *requests) statuses(path string) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var statuses []int
	for _, answer := range r.answers {
		if strings.HasSuffix(answer.request, path) {
			statuses = append(statuses, answer.status)
		}
	}
	return statuses
}

func (r *requests) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		path := req.URL.Path
		if req.URL.Query().Get("watch") != "" || strings.Contains(path, "/events") || isList(req) {
			return next.RoundTrip(req)
		}
		request := req.Method + " " + path
		r.mu.Lock()
		r.seen = append(r.seen, request)
		before := r.before
		r.mu.Unlock()
		if before != nil {
			before(req.Context(), request)
		}
		response, err := next.RoundTrip(req)
		if err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.answers = append(r.answers, answered{request, response.StatusCode})
		}
		return response, err
	})
}

// isList reports whether req is a list or discovery request, which a restart needs.
func isList(req *http.Request) bool {
	return req.Method == http.MethodGet && req.URL.Query().Has("limit") || req.URL.Query().Has("resourceVersion") ||
		req.Method == http.MethodGet && (strings.HasSuffix(req.URL.Path, "/api") || strings.HasSuffix(req.URL.Path, "/apis") || strings.Count(req.URL.Path, "/") <= 3)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// matching returns the requests so far that contain all of parts.
func (r *requests) matching(parts ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var result []string
	for _, request := range r.seen {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(request, part)
		}
		if all {
			result = append(result, request)
		}
	}
	return result
}
