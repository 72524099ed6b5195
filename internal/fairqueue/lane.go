// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"container/list"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// lane holds the waiting requests of one level: round robin over namespaces, first in,
// first out within each. Adding and removing take constant time, so that a flood is
// cheap to queue.
type lane struct {
	// turns lists the namespaces that have requests, the next one first.
	turns *list.List
	// namespaces finds the elements of turns.
	namespaces map[string]*list.Element
	// requests finds the elements of tenant.requests.
	requests map[reconcile.Request]*list.Element
}

// tenant is the value of an element of lane.turns.
type tenant struct {
	namespace string
	requests  *list.List
}

func newLane() lane {
	return lane{turns: list.New(), namespaces: map[string]*list.Element{}, requests: map[reconcile.Request]*list.Element{}}
}

// push adds request as the last one of its namespace. A namespace that had none takes
// the last turn.
func (l *lane) push(request reconcile.Request) {
	turn, ok := l.namespaces[request.Namespace]
	if !ok {
		turn = l.turns.PushBack(tenant{request.Namespace, list.New()})
		l.namespaces[request.Namespace] = turn
	}
	l.requests[request] = turn.Value.(tenant).requests.PushBack(request)
}

// remove takes out request, which is in the lane.
func (l *lane) remove(request reconcile.Request) {
	turn := l.namespaces[request.Namespace]
	requests := turn.Value.(tenant).requests
	requests.Remove(l.requests[request])
	delete(l.requests, request)
	if requests.Len() == 0 {
		l.turns.Remove(turn)
		delete(l.namespaces, request.Namespace)
	}
}

// next returns the turn of the first namespace that isFree lets through, or nil. Few
// namespaces can occupy all the workers they may, so the search is short.
func (l *lane) next(isFree func(namespace string) bool) *list.Element {
	for turn := l.turns.Front(); turn != nil; turn = turn.Next() {
		if isFree(turn.Value.(tenant).namespace) {
			return turn
		}
	}
	return nil
}

// pop takes out the first request of the next namespace, whose next turn is the last
// one then. It reports whether there was one.
func (l *lane) pop(isFree func(namespace string) bool) (request reconcile.Request, ok bool) {
	turn := l.next(isFree)
	if turn == nil {
		return request, false
	}
	request = turn.Value.(tenant).requests.Front().Value.(reconcile.Request)
	l.turns.MoveToBack(turn)
	l.remove(request)
	return request, true
}
