// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is a controller's work queue that serves namespaces in turn.
//
// A plain work queue is first in, first out, so that 10,000 requests of one namespace delay all others by 10,000
// reconciles. Here each namespace has its own queue, and the queues are served round robin: however many requests
// one namespace adds, the next request of another waits for at most one request of each. A namespace cannot
// occupy all workers either, so that slow reconciles in one do not block the others.
//
// There are two priorities. Requests of normal priority are served first, but one request in lowShare is of low
// priority when any is waiting, so that neither starves.
//
// Delays, rate limits, de-duplication and metrics are those of client-go's work queue,
// for which backlog is the storage. Queue implements controller-runtime's priorityqueue.PriorityQueue, so that
// handlers add the objects of an initial list, which are usually unchanged, with low priority.
package fairqueue
