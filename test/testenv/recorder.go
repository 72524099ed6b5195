// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// RoundTripper is a function as an http.RoundTripper.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Request is a request and the status of its answer: 0 until it arrives, and when there is none.
type Request struct {
	Method, Path string
	// IsApply reports whether it is a server-side apply.
	IsApply bool
	Status  int
}

// String returns the request as "PATCH /api/v1/…".
func (r Request) String() string { return r.Method + " " + r.Path }

// Recorder records the requests that go over a client's transport. The zero value records all
// of them.
type Recorder struct {
	// Skip selects requests that are not recorded.
	Skip func(*http.Request) bool
	// Before is called before a recorded request is sent.
	Before func(Request)

	mu       sync.Mutex
	requests []*Request
	onFirst  func(context.Context, Request)
}

// OnFirst calls f before the first request that matches is sent, with the context of the request.
func (r *Recorder) OnFirst(matches func(Request) bool, f func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var once sync.Once
	r.onFirst = func(ctx context.Context, request Request) {
		if matches(request) {
			once.Do(func() { f(ctx) })
		}
	}
}

// Wrap is for rest.Config.Wrap.
func (r *Recorder) Wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(req *http.Request) (*http.Response, error) {
		if r.Skip != nil && r.Skip(req) {
			return next.RoundTrip(req)
		}
		// Before it is sent, since its effect may be seen before its answer.
		request := &Request{
			Method: req.Method, Path: req.URL.Path,
			IsApply: strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch"),
		}
		r.mu.Lock()
		r.requests = append(r.requests, request)
		before, onFirst := r.Before, r.onFirst
		r.mu.Unlock()
		if before != nil {
			before(*request)
		}
		if onFirst != nil {
			onFirst(req.Context(), *request)
		}
		response, err := next.RoundTrip(req)
		if err == nil {
			r.mu.Lock()
			request.Status = response.StatusCode
			r.mu.Unlock()
		}
		return response, err
	})
}

// Matching returns the requests so far that contain all of parts.
func (r *Recorder) Matching(parts ...string) []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var matching []Request
	for _, request := range r.requests {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(request.String(), part) }) {
			matching = append(matching, *request)
		}
	}
	return matching
}

// Take returns the requests that keep accepts, and forgets them; nil accepts all.
func (r *Recorder) Take(keep func(Request) bool) []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken []Request
	r.requests = slices.DeleteFunc(r.requests, func(request *Request) bool {
		if keep != nil && !keep(*request) {
			return false
		}
		taken = append(taken, *request)
		return true
	})
	return taken
}
