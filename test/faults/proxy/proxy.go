// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/certificate"
)

// Proxy is a running proxy. It is safe for use by many goroutines.
type Proxy struct {
	upstream  *url.URL
	transport *http.Transport
	config    *rest.Config
	tls       *tls.Config

	mu       sync.Mutex
	address  string
	server   *http.Server
	requests []*Request
	hooks    Hooks
	// fail decides about each request; calm is closed when it is replaced.
	fail    func(*Request) Fault
	calm    chan struct{}
	watches watches
}

// Hooks are functions that the proxy calls for requests. Those of leases have a hook of their own.
type Hooks struct {
	// Before is called before the write is forwarded. If it returns false, the write is not
	// forwarded and its connection is reset.
	Before func(*Request) bool
	// After is called when the API server has answered a write, before the answer is passed on.
	After func(*Request)
	// AfterGet is the same for reads of one object.
	AfterGet func(*Request)
	// BeforeLease is called before the write of a lease is forwarded.
	BeforeLease func(*Request)
}

// before reports whether request may be forwarded.
func (h Hooks) before(request *Request) bool {
	if h.BeforeLease != nil && request.IsWrite() && request.IsLease() {
		h.BeforeLease(request)
	}
	return h.Before == nil || !request.IsWrite() || request.IsLease() || h.Before(request)
}

// after calls the hook for request, which the API server has answered.
func (h Hooks) after(request *Request) {
	switch {
	case request.IsLease():
	case request.IsWrite() && h.After != nil:
		h.After(request)
	case request.Verb == "get" && request.Name != "" && h.AfterGet != nil:
		h.AfterGet(request)
	}
}

// Start starts a proxy to the API server of cfg, whose credentials Config keeps. It stops
// with the test.
func Start(t *testing.T, cfg *rest.Config) *Proxy {
	t.Helper()
	upstream, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pair := certificate.New(t, "127.0.0.1")
	p := &Proxy{
		upstream: upstream,
		transport: &http.Transport{
			TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
		},
		tls:     &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}},
		address: "127.0.0.1:0",
		calm:    make(chan struct{}),
		watches: watches{frozen: map[string]chan struct{}{}, stale: map[string]string{}, held: map[string]int{}},
	}
	if err := p.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.config = rest.CopyConfig(cfg)
	p.config.Host = "https://" + p.address
	p.config.TLSClientConfig = rest.TLSClientConfig{CAData: pair.Certificate}
	t.Cleanup(func() {
		p.Fail(nil)
		p.Interrupt()
		p.transport.CloseIdleConnections()
	})
	return p
}

// Config returns a configuration that leads through the proxy.
func (p *Proxy) Config() *rest.Config { return p.config }

// Resume accepts connections, at the same address as before.
func (p *Proxy) Resume(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	p.address = listener.Addr().String()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	p.server = &http.Server{
		Handler: p, TLSConfig: p.tls, Protocols: protocols,
		ReadHeaderTimeout: time.Minute,
		// Clients that are killed leave broken connections.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func(server *http.Server) {
		// It returns when the server is closed.
		_ = server.ServeTLS(listener, "", "")
	}(p.server)
	return nil
}

// Interrupt closes all connections and accepts none until Resume: clients see a connection
// that is refused, as when the API server is down.
func (p *Proxy) Interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Connections that are still open are not needed any more.
	_ = p.server.Close()
}

// SetHooks sets the functions to call for each request; the zero value calls none.
func (p *Proxy) SetHooks(hooks Hooks) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks = hooks
}

// Requests returns the requests received so far, in that order, that match.
func (p *Proxy) Requests(matches func(*Request) bool) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Request
	for _, request := range p.requests {
		if matches(request) {
			found = append(found, *request)
		}
	}
	return found
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The client is gone.
	}
	request := newRequest(r, body)
	hooks, fault := p.admit(request)
	defer func() { p.update(func() { request.Answered = time.Now() }) }()
	if p.refuse(w, r, request, fault) {
		return
	}
	if !hooks.before(request) {
		reset(w)
		return
	}
	if p.refuseWatchList(w, r, request) {
		return
	}
	response, err := p.forward(r, request, body)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return
		}
		reset(w)
		return
	}
	defer response.Body.Close()
	p.update(func() { request.Status = response.StatusCode })
	if request.Verb == "watch" && response.StatusCode == http.StatusOK {
		p.stream(w, r, request, response)
		return
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		reset(w)
		return
	}
	hooks.after(request)
	answer(w, response, content, fault)
}

// admit records request and decides about it.
func (p *Proxy) admit(request *Request) (Hooks, Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, request)
	if p.fail != nil {
		request.Fault = p.fail(request)
	}
	return p.hooks, request.Fault
}

// update changes what is recorded.
func (p *Proxy) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// forward sends the request to the API server. A write goes on when its client is gone, since
// the bytes are on their way.
func (p *Proxy) forward(r *http.Request, request *Request, body []byte) (*http.Response, error) {
	ctx := r.Context()
	if request.IsWrite() {
		ctx = context.WithoutCancel(ctx)
	}
	target := *p.upstream
	target.Path, target.RawPath, target.RawQuery = r.URL.Path, r.URL.RawPath, p.query(r, request)
	forwarded, err := http.NewRequestWithContext(ctx, r.Method, target.String(), newBody(body))
	if err != nil {
		return nil, err
	}
	forwarded.Header = r.Header.Clone()
	for _, name := range []string{"Accept-Encoding", "Connection"} {
		forwarded.Header.Del(name)
	}
	if accept := jsonOnly(r.Header.Get("Accept")); accept != "" {
		forwarded.Header.Set("Accept", accept)
	}
	return p.transport.RoundTrip(forwarded)
}

// answer passes the API server's answer on, or half of it.
func answer(w http.ResponseWriter, response *http.Response, content []byte, fault Fault) {
	switch fault {
	case ResetAfter:
		reset(w)
		return
	case HalfBody:
		halve(w, response.StatusCode, response.Header.Get("Content-Type"), content)
		return
	default:
	}
	for name, values := range response.Header {
		if !slices.Contains([]string{"Content-Length", "Connection", "Transfer-Encoding"}, name) {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	// The client may be gone.
	_, _ = w.Write(content)
}
