// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// inBubble runs test on a queue for that many workers, where time passes once nobody works.
func inBubble(t *testing.T, workers int, test func(t *testing.T, q *Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := New("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute), workers)
		defer q.ShutDown()
		test(t, q)
	})
}

// crew is workers that take a time for each request.
type crew struct {
	mu      sync.Mutex
	working map[reconcile.Request]bool
	started []reconcile.Request
	workers sync.WaitGroup
}

// hire starts count workers on q, which take work(request) for a request.
func (c *crew) hire(t *testing.T, q *Queue, count int, work func(reconcile.Request) time.Duration) {
	c.working = map[reconcile.Request]bool{}
	for range count {
		c.workers.Go(func() {
			for {
				request, _, shutdown := q.GetWithPriority()
				if shutdown {
					return
				}
				c.mu.Lock()
				if c.working[request] {
					t.Errorf("%s is handed out while it is in process", request)
				}
				c.working[request] = true
				c.started = append(c.started, request)
				c.mu.Unlock()
				time.Sleep(work(request))
				c.mu.Lock()
				delete(c.working, request)
				c.mu.Unlock()
				q.Done(request)
			}
		})
	}
}

// busy returns how many workers each namespace occupies.
func (c *crew) busy() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := map[string]int{}
	for request := range c.working {
		count[request.Namespace]++
	}
	return count
}

func TestQueue_ServesOtherNamespacesDuringFlood(t *testing.T) {
	t.Parallel()
	inBubble(t, 8, func(t *testing.T, q *Queue) {
		c := &crew{}
		c.hire(t, q, 8, func(r reconcile.Request) time.Duration {
			if r.Namespace == "flood" {
				return time.Minute
			}
			return time.Second
		})
		for i := range 1000 {
			q.Add(parse(fmt.Sprintf("flood/%d", i)))
		}
		synctest.Wait()
		if got := c.busy()["flood"]; got != 6 {
			t.Errorf("the flood occupies %d workers, want 6", got)
		}
		q.Add(parse("other/1"))
		synctest.Wait()
		if got := c.busy()["other"]; got != 1 {
			t.Errorf("the other namespace is served by %d workers, want 1", got)
		}
		q.ShutDown()
		c.workers.Wait()
	})
}

func TestQueue_WakesAWorkerForEachEligibleRequest(t *testing.T) {
	t.Parallel()
	const workers, namespaces, requests = 8, 5, 40
	inBubble(t, workers, func(t *testing.T, q *Queue) {
		c := &crew{}
		c.hire(t, q, workers, func(r reconcile.Request) time.Duration {
			return time.Duration(len(r.Name)) * 7 * time.Millisecond
		})
		for i := range namespaces * requests {
			// The namespaces' shares differ, and many requests are added while they are in process.
			name := fmt.Sprintf("%d/%*d", min(i%11, namespaces-1), i%requests, 1)
			q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-(i % 3)), After: time.Duration(i%5) * time.Millisecond}, parse(name))
			time.Sleep(time.Millisecond)
			synctest.Wait()
			busy := 0
			for namespace, count := range c.busy() {
				if busy += count; count > workers-workers/4 {
					t.Fatalf("namespace %s occupies %d of %d workers", namespace, count, workers)
				}
			}
			if waiting := q.Len(); busy < workers && waiting > 0 {
				t.Fatalf("after %d additions %d workers are idle while %d requests wait", i, workers-busy, waiting)
			}
		}
		time.Sleep(time.Hour)
		if kept := q.backlog.kept(); len(c.busy()) > 0 || kept > 0 {
			t.Errorf("after an hour %v workers are busy and the backlog has %d entries", c.busy(), kept)
		}
		q.ShutDown()
		c.workers.Wait()
	})
}

func TestQueue_ReturnsPriority(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		add  func(q *Queue, request reconcile.Request)
		want int
	}{
		"returns 0 for a plain addition": {
			func(q *Queue, r reconcile.Request) { q.Add(r) }, 0},
		"returns the low priority of handlers": {
			func(q *Queue, r reconcile.Request) {
				q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, r)
			}, handler.LowPriority},
		"returns the higher priority of two": {
			func(q *Queue, r reconcile.Request) {
				q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, r)
				q.Add(r)
			}, 0},
		"returns the priority of a delayed addition": {
			func(q *Queue, r reconcile.Request) {
				q.AddWithOpts(priorityqueue.AddOpts{After: time.Minute, Priority: new(handler.LowPriority)}, r)
			}, handler.LowPriority},
		"returns the priority of a retry": {
			func(q *Queue, r reconcile.Request) {
				q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: new(handler.LowPriority)}, r)
			}, handler.LowPriority},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, 1, func(t *testing.T, q *Queue) {
				request := parse("a/1")
				test.add(q, request)
				got, priority, shutdown := q.GetWithPriority()
				if got != request || priority != test.want || shutdown {
					t.Errorf("got %s with priority %d, shutdown %t, want %s with %d", got, priority, shutdown, request, test.want)
				}
				q.Done(request)
			})
		})
	}
}

func TestQueue_DelaysRequests(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, q *Queue) {
		request := parse("a/1")
		for _, test := range []struct {
			how  string
			add  func()
			want time.Duration
		}{
			{"AddAfter", func() { q.AddAfter(request, time.Hour) }, time.Hour},
			{"the first retry", func() { q.AddRateLimited(request) }, time.Second},
			{"the second retry", func() { q.AddRateLimited(request) }, 2 * time.Second},
			{"a retry after success", func() { q.Forget(request); q.AddRateLimited(request) }, time.Second},
		} {
			start := time.Now()
			test.add()
			q.Get()
			if got := time.Since(start); got != test.want {
				t.Errorf("%s: handed out after %s, want %s", test.how, got, test.want)
			}
			q.Done(request)
		}
	})
}

func TestQueue_RequeuesRequestAddedInProcess(t *testing.T) {
	t.Parallel()
	inBubble(t, 4, func(t *testing.T, q *Queue) {
		request := parse("a/1")
		q.Add(request)
		q.Get()
		q.Add(request)
		if q.Len() != 0 {
			t.Error("a request in process waits")
		}
		q.Done(request)
		if got, _ := q.Get(); got != request {
			t.Errorf("got %s, want %s", got, request)
		}
		q.Done(request)
	})
}

func TestQueue_ShutDownDropsRequests(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, q *Queue) {
		c := &crew{}
		c.hire(t, q, 2, func(reconcile.Request) time.Duration { return time.Minute })
		for _, name := range []string{"a/1", "a/2", "b/1", "b/2"} {
			q.Add(parse(name))
		}
		synctest.Wait()
		q.ShutDown()
		c.workers.Wait()
		if want := []reconcile.Request{parse("a/1"), parse("b/1")}; !slices.Equal(slices.SortedFunc(slices.Values(c.started), compare), want) {
			t.Errorf("%v were handed out, want %v alone", c.started, want)
		}
		if !q.ShuttingDown() {
			t.Error("the queue is not shutting down")
		}
	})
}

func compare(a, b reconcile.Request) int {
	if a.String() < b.String() {
		return -1
	}
	return 1
}
