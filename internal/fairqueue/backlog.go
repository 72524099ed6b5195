// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// lowShare is the number of requests served per request of low priority while requests of both priorities are
// waiting. Requests of low priority usually find nothing to do.
const lowShare = 8

// level is the priority of a request.
type level int

const (
	low level = iota
	normal
	levels
)

// backlog holds the requests that are waiting for a worker. It implements workqueue.Queue. The work queue
// guarantees that a request is not in it twice, nor in it and in process at once.
type backlog struct {
	// limit is how many requests of one namespace may be in process at once.
	limit int

	mu    sync.Mutex
	lanes [levels]lane
	// waiting holds the level of each request in lanes.
	waiting map[reconcile.Request]level
	// asked holds the highest level asked for since the request was last pushed.
	asked map[reconcile.Request]level
	// inProcess holds the level of each request that was handed out.
	inProcess map[reconcile.Request]level
	// occupied counts the requests in process by namespace.
	occupied map[string]int
	// sinceLow counts the requests handed out since the last one of low priority.
	sinceLow int
	closed   bool
}

// newBacklog returns an empty backlog for that many workers. A namespace may occupy
// all but a quarter of them, and of two or more always leaves one free.
func newBacklog(workers int) *backlog {
	b := &backlog{
		limit:     max(1, workers-max(1, workers/4)),
		waiting:   map[reconcile.Request]level{},
		asked:     map[reconcile.Request]level{},
		inProcess: map[reconcile.Request]level{},
		occupied:  map[string]int{},
	}
	for i := range b.lanes {
		b.lanes[i] = newLane()
	}
	return b
}

// ask records the level at which request is about to be pushed. The highest one wins.
func (b *backlog) ask(request reconcile.Request, at level) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, ok := b.asked[request]; !ok || before < at {
		b.asked[request] = at
	}
}

// takeAsked returns and removes the recorded level of request. A request without one is a delayed one whose level
// was used by an earlier push; it gets normal priority.
func (b *backlog) takeAsked(request reconcile.Request) level {
	at, ok := b.asked[request]
	if !ok {
		return normal
	}
	delete(b.asked, request)
	return at
}

// Push implements workqueue.Queue.
func (b *backlog) Push(request reconcile.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(request, b.takeAsked(request))
}

// Touch implements workqueue.Queue. A waiting request that is added again at a higher
// level moves there.
func (b *backlog) Touch(request reconcile.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.takeAsked(request)
	if now, ok := b.waiting[request]; ok && now < at {
		b.lanes[now].remove(request)
		b.add(request, at)
	}
}

func (b *backlog) add(request reconcile.Request, at level) {
	b.waiting[request] = at
	b.lanes[at].push(request)
}

// Len implements workqueue.Queue. It is 0 while no waiting request may be handed out,
// which makes the work queue wait, and once the backlog is closed, so that a shutdown
// does not work through it.
func (b *backlog) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.lanes[normal].next(b.isFree) == nil && b.lanes[low].next(b.isFree) == nil {
		return 0
	}
	return len(b.waiting)
}

// Pop implements workqueue.Queue. Len has said that there is something to hand out, and
// only Pop can take that back.
func (b *backlog) Pop() reconcile.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	first, second := normal, low
	if b.sinceLow >= lowShare-1 {
		first, second = low, normal
	}
	request, ok := b.lanes[first].pop(b.isFree)
	if !ok {
		request, _ = b.lanes[second].pop(b.isFree)
	}
	at := b.waiting[request]
	delete(b.waiting, request)
	if at == low || len(b.lanes[low].requests) == 0 {
		b.sinceLow = 0
	} else {
		b.sinceLow++
	}
	b.inProcess[request] = at
	b.occupied[request.Namespace]++
	return request
}

// isFree reports whether namespace may occupy another worker.
func (b *backlog) isFree(namespace string) bool {
	return b.occupied[namespace] < b.limit
}

// levelOf returns the level at which a request in process was handed out.
func (b *backlog) levelOf(request reconcile.Request) level {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inProcess[request]
}

// release records that request is no longer in process.
func (b *backlog) release(request reconcile.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.inProcess[request]; !ok {
		return
	}
	delete(b.inProcess, request)
	if b.occupied[request.Namespace]--; b.occupied[request.Namespace] == 0 {
		delete(b.occupied, request.Namespace)
	}
}

// close stops the backlog from handing anything out.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
