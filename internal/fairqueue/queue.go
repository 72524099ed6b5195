// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var _ priorityqueue.PriorityQueue[reconcile.Request] = &Queue{}

// Queue is a rate-limiting work queue that serves namespaces in turn. Make it with New.
// A worker that has called Done must call Get again or end the process: the request
// that Done makes eligible may have no other worker to wake.
type Queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	backlog *backlog
}

// New returns a Queue for that many workers, with metrics under name.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], workers int) *Queue {
	b := newBacklog(workers)
	// Both layers need the name: metrics of delays are the upper one's.
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
		Name:  name,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: b}),
	})
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{DelayingQueue: delaying}),
		backlog: b,
	}
}

// Add adds request with normal priority.
func (q *Queue) Add(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{}, request)
}

// AddAfter adds request with normal priority once the delay has passed.
func (q *Queue) AddAfter(request reconcile.Request, delay time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: delay}, request)
}

// AddRateLimited adds request with normal priority once the rate limiter allows it.
func (q *Queue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// AddWithOpts implements priorityqueue.PriorityQueue. Priorities below 0 are low, all
// others are normal. A rate limit replaces a delay.
func (q *Queue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	at := normal
	if options.Priority != nil && *options.Priority < 0 {
		at = low
	}
	for _, request := range requests {
		q.backlog.ask(request, at)
		switch {
		case options.RateLimited:
			q.TypedRateLimitingInterface.AddRateLimited(request)
		case options.After > 0:
			q.TypedRateLimitingInterface.AddAfter(request, options.After)
		default:
			q.TypedRateLimitingInterface.Add(request)
		}
	}
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *Queue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, shutdown = q.Get()
	if !shutdown && q.backlog.levelOf(request) == low {
		priority = handler.LowPriority
	}
	return request, priority, shutdown
}

// Done marks request as no longer in process.
func (q *Queue) Done(request reconcile.Request) {
	// In this order: the work queue's Done wakes a worker for what is eligible by then.
	q.backlog.release(request)
	q.TypedRateLimitingInterface.Done(request)
}

// ShutDown ends the queue at once. What waits is dropped: the next leader, or the next
// start, lists everything again.
func (q *Queue) ShutDown() {
	q.backlog.close()
	q.TypedRateLimitingInterface.ShutDown()
}

// ShutDownWithDrain is ShutDown; controller-runtime does not drain.
func (q *Queue) ShutDownWithDrain() {
	q.ShutDown()
}
