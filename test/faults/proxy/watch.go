// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is an event of a watch.
type Event struct {
	// Resource is the plural name, such as deployments.
	Resource string
	// Type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type   string
	Object metav1.PartialObjectMetadata
}

// watches are the faults of watches, by resource. The proxy's lock guards them.
type watches struct {
	// frozen has a channel for each frozen resource, which is closed when it is thawed.
	frozen map[string]chan struct{}
	// stale has the resource version as of which lists are answered.
	stale map[string]string
	// held counts the streams that have an event for a client and do not pass it.
	held map[string]int
	// hides reports whether an event is not passed.
	hides func(Event) bool
	open  []*stream
}

// stream is an open watch.
type stream struct {
	resource string
	expired  chan struct{}
}

// Freeze stops the watches of resources: streams stay open and new ones open, but no event
// arrives until Thaw.
func (p *Proxy) Freeze(resources ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, resource := range resources {
		if p.watches.frozen[resource] == nil {
			p.watches.frozen[resource] = make(chan struct{})
		}
	}
}

// FreezeAt is Freeze, and answers lists of resources as of version until Thaw.
func (p *Proxy) FreezeAt(version string, resources ...string) {
	p.Freeze(resources...)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, resource := range resources {
		p.watches.stale[resource] = version
	}
}

// Thaw ends Freeze and FreezeAt for all resources. Events that were held arrive now.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for resource, thawed := range p.watches.frozen {
		close(thawed)
		delete(p.watches.frozen, resource)
	}
	clear(p.watches.stale)
}

// Holds reports whether a frozen watch of resource has an event that it does not pass.
func (p *Proxy) Holds(resource string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watches.held[resource] > 0
}

// Hide drops the watch events for which hides returns true; nil drops none.
func (p *Proxy) Hide(hides func(Event) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches.hides = hides
}

// Expire ends the open watches of resource with 410 Expired, so that the client lists anew.
func (p *Proxy) Expire(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []*stream
	for _, s := range p.watches.open {
		if s.resource == resource {
			close(s.expired)
		} else {
			left = append(left, s)
		}
	}
	p.watches.open = left
}

// query returns the query of a forwarded request. The API server itself answers a list as of
// an earlier version.
func (p *Proxy) query(r *http.Request, request *Request) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	version := p.watches.stale[request.Resource]
	query := r.URL.Query()
	if request.Verb != "list" || version == "" || query.Has("continue") {
		return r.URL.RawQuery
	}
	query.Set("resourceVersion", version)
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	return query.Encode()
}

// refuseWatchList refuses to send a list by a watch where lists are stale, and reports whether
// that is so: clients then send a list request.
func (p *Proxy) refuseWatchList(w http.ResponseWriter, r *http.Request, request *Request) bool {
	p.mu.Lock()
	version := p.watches.stale[request.Resource]
	p.mu.Unlock()
	if version == "" || request.Verb != "watch" || r.URL.Query().Get("sendInitialEvents") != "true" {
		return false
	}
	fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	return true
}

// stream passes the events of a watch.
func (p *Proxy) stream(w http.ResponseWriter, r *http.Request, request *Request, response *http.Response) {
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(w)
	if flusher.Flush() != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &stream{resource: request.Resource, expired: make(chan struct{})}
	p.update(func() { p.watches.open = append(p.watches.open, s) })
	defer p.forget(s)
	frames := make(chan []byte)
	go p.read(ctx, request.Resource, json.NewDecoder(response.Body), frames)
	for {
		select {
		case frame, ok := <-frames:
			if !ok {
				return
			}
			if _, err := w.Write(append(frame, '\n')); err != nil || flusher.Flush() != nil {
				return
			}
		case <-s.expired:
			_, _ = w.Write([]byte(expired)) // The client may be gone.
			return
		}
	}
}

const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// read sends the events that pass to frames, and closes it at the end of the stream.
func (p *Proxy) read(ctx context.Context, resource string, decoder *json.Decoder, frames chan<- []byte) {
	defer close(frames)
	for {
		var frame json.RawMessage
		if decoder.Decode(&frame) != nil {
			return
		}
		if !p.pass(ctx, resource, frame) {
			continue
		}
		select {
		case frames <- frame:
		case <-ctx.Done():
			return
		}
	}
}

// pass waits while resource is frozen, and reports whether the client gets the event.
func (p *Proxy) pass(ctx context.Context, resource string, frame []byte) bool {
	event := Event{Resource: resource}
	if json.Unmarshal(frame, &event) != nil {
		return true
	}
	isBookmark := event.Type == "BOOKMARK" && !strings.Contains(string(frame), metav1.InitialEventsAnnotationKey)
	held := false
	for {
		p.mu.Lock()
		if held {
			p.watches.held[resource]--
		}
		thawed := p.watches.frozen[resource]
		if held = thawed != nil && !isBookmark; held {
			p.watches.held[resource]++
		}
		hidden := thawed == nil && p.watches.hides != nil && p.watches.hides(event) || thawed != nil && isBookmark
		p.mu.Unlock()
		if !held {
			return !hidden
		}
		select {
		case <-thawed:
		case <-ctx.Done():
			p.update(func() { p.watches.held[resource]-- })
			return false
		}
	}
}

// forget removes s from the open watches.
func (p *Proxy) forget(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, open := range p.watches.open {
		if open == s {
			p.watches.open = append(p.watches.open[:i], p.watches.open[i+1:]...)
			return
		}
	}
}
