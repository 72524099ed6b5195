// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is a controller's work queue that serves namespaces in turn.
//
// A plain work queue is first in, first out, so whoever adds 10,000 requests makes
// everybody else wait for 10,000 reconciles. Here each namespace has a queue of its own
// and they take turns: however many requests one namespace adds, the next request of
// another one waits for at most one request of each. No namespace may occupy all
// workers either, so slow reconciles of one do not block the others.
//
// There are two priorities. Requests of normal priority go first, but one request in
// lowShare is of low priority when any waits, so that neither starves.
//
// Delays, rate limits, de-duplication and metrics are those of client-go's work queue,
// to which backlog is the storage. Queue adds what controller-runtime asks of a
// priorityqueue.PriorityQueue: handlers then add the objects of an initial list, which
// are unchanged as a rule, with low priority.
package fairqueue
