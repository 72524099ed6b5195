// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

// request is what requests are counted by.
type request struct {
	// verb is get, list, watch, dry-run, apply, or the method in lower case.
	verb string
	// resource is the plural name, with the subresource behind a slash; empty for discovery.
	resource string
	// namespace is empty for requests across namespaces.
	namespace string
}

// isLease reports whether r belongs to the leader election.
func (r request) isLease() bool { return r.resource == "leases" }

// isDiscovery reports whether r asks what the API server serves.
func (r request) isDiscovery() bool { return r.resource == "" }

// isReview reports whether r asks for permissions or about a token.
func (r request) isReview() bool { return strings.HasSuffix(r.resource, "reviews") }

// isEvent reports whether r records an event.
func (r request) isEvent() bool { return r.resource == "events" }

// isWrite reports whether r changes something other than leases and events.
func (r request) isWrite() bool {
	switch r.verb {
	case "get", "list", "watch", "dry-run":
		return false
	default:
		return !r.isLease() && !r.isReview() && !r.isEvent()
	}
}

// counts holds how often each request was made.
type counts map[request]int

// of returns how many of the requests keep holds for.
func (c counts) of(keep func(request) bool) int {
	total := 0
	for r, count := range c {
		if keep(r) {
			total += count
		}
	}
	return total
}

// since returns the requests that c has and before has not.
func (c counts) since(before counts) counts {
	difference := counts{}
	for r, count := range c {
		if more := count - before[r]; more > 0 {
			difference[r] = more
		}
	}
	return difference
}

// proxy is a reverse proxy before the API server that counts requests. It speaks HTTP/2 both
// ways, as clients and API server do without it.
type proxy struct {
	server *httptest.Server

	mu   sync.Mutex
	seen counts
	// answered is when the last request was answered that is about neither leases nor reviews,
	// and wrote when the last one of these was that changes something or is an event.
	answered, wrote time.Time
	// leads is when the lease was first written since forgetLease.
	leads time.Time
}

// newProxy starts a proxy before the API server of config, until the test ends.
func newProxy(t *testing.T, config *rest.Config) *proxy {
	t.Helper()
	target, err := url.Parse(config.Host)
	testenv.NoError(t, err)
	upstream := rest.AnonymousClientConfig(config)
	upstream.DisableCompression = true // what the client asks for is passed on as it is
	transport, err := rest.TransportFor(upstream)
	testenv.NoError(t, err)
	p := &proxy{seen: counts{}}
	silent := log.New(io.Discard, "", 0) // clients that are stopped break their connections off
	p.server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		ModifyResponse: p.count,
		ErrorLog:       silent,
	})
	p.server.Config.ErrorLog = silent
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// through returns config for clients that shall use the proxy.
func (p *proxy) through(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = p.server.URL
	config.TLSClientConfig = rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}),
	}
	return config
}

// count counts the request of response when its answer begins.
func (p *proxy) count(response *http.Response) error {
	r := parse(response.Request)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[r]++
	switch {
	case r.isLease() && r.verb != "get" && response.StatusCode < http.StatusMultipleChoices && p.leads.IsZero():
		p.leads = time.Now()
	case !r.isLease() && !r.isReview():
		p.answered = time.Now()
		if r.isWrite() || r.isEvent() {
			p.wrote = p.answered
		}
	}
	return nil
}

// counts returns what was counted so far.
func (p *proxy) counts() counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.seen)
}

// lastAnswer returns when the last request was answered that is about neither leases nor
// reviews.
func (p *proxy) lastAnswer() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered
}

// lastWrite returns when the last write or event was answered.
func (p *proxy) lastWrite() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrote
}

// forgetLease makes the next write of the lease count as the first one.
func (p *proxy) forgetLease() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leads = time.Time{}
}

// leaderSince returns when the lease was first written since forgetLease.
func (p *proxy) leaderSince() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leads
}

// parse returns what req asks for.
func parse(req *http.Request) request {
	path := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case path[0] == "api" && len(path) > 2:
		path = path[2:]
	case path[0] == "apis" && len(path) > 3:
		path = path[3:]
	default:
		return request{verb: "get"}
	}
	var r request
	if path[0] == "namespaces" && len(path) > 2 {
		r.namespace, path = path[1], path[2:]
	}
	r.resource = path[0]
	if len(path) > 2 {
		r.resource += "/" + path[2]
	}
	switch {
	case req.URL.Query().Has("watch"):
		r.verb = "watch"
	case req.Method == http.MethodGet && len(path) == 1:
		r.verb = "list"
	case req.URL.Query().Has("dryRun"):
		r.verb = "dry-run"
	case req.Header.Get("Content-Type") == "application/apply-patch+yaml" || req.Header.Get("Content-Type") == "application/apply-patch+cbor":
		r.verb = "apply"
	default:
		r.verb = strings.ToLower(req.Method)
	}
	return r
}
