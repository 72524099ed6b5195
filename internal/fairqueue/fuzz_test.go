// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// model is what FuzzQueue expects of a queue, by the simplest means.
type model struct {
	t       *testing.T
	q       *Queue
	limit   int
	dirty   map[reconcile.Request]bool // added, and not handed out since
	working []reconcile.Request
	// passed counts, for each namespace that waits, how often each other one was served since.
	passed map[string]map[string]int
}

func (m *model) occupied(namespace string) (count int) {
	for _, request := range m.working {
		if request.Namespace == namespace {
			count++
		}
	}
	return count
}

func (m *model) isWorking(request reconcile.Request) bool {
	return slices.Contains(m.working, request)
}

// eligible returns the namespaces that have a request to hand out.
func (m *model) eligible() map[string]bool {
	found := map[string]bool{}
	for request := range m.dirty {
		if !m.isWorking(request) && m.occupied(request.Namespace) < m.limit {
			found[request.Namespace] = true
		}
	}
	return found
}

func (m *model) add(request reconcile.Request, priority int) {
	m.dirty[request] = true
	m.q.AddWithOpts(priorityqueue.AddOpts{Priority: new(priority)}, request)
}

// get takes a request if the model has one that is eligible, and judges it.
func (m *model) get() {
	eligible := m.eligible()
	if (m.q.Len() > 0) != (len(eligible) > 0) {
		m.t.Fatalf("the queue holds %d requests, and %v are eligible", m.q.Len(), eligible)
	}
	if len(eligible) == 0 {
		return
	}
	waiting := m.waiting(eligible)
	request, priority, _ := m.q.GetWithPriority()
	switch {
	case !m.dirty[request]:
		m.t.Fatalf("%s was not added", request)
	case m.isWorking(request):
		m.t.Fatalf("%s is in process", request)
	case !eligible[request.Namespace]:
		m.t.Fatalf("namespace %s occupies all workers it may", request.Namespace)
	}
	delete(m.dirty, request)
	m.working = append(m.working, request)
	m.checkFairness(waiting, request.Namespace, priority)
}

// checkFairness checks that no namespace was served twice while another one waited with a request of
// normal priority. A request of low priority takes no turn among these, so it does not count.
func (m *model) checkFairness(waiting map[string]bool, served string, priority int) {
	for namespace := range m.passed {
		if !waiting[namespace] {
			delete(m.passed, namespace)
		}
	}
	if priority < 0 {
		return
	}
	delete(m.passed, served)
	for namespace := range waiting {
		if namespace == served {
			continue
		}
		if m.passed[namespace] == nil {
			m.passed[namespace] = map[string]int{}
		}
		if m.passed[namespace][served]++; m.passed[namespace][served] > 1 {
			m.t.Fatalf("%s was served twice while %s waited", served, namespace)
		}
	}
}

// waiting returns the eligible namespaces that have a request of normal priority.
func (m *model) waiting(eligible map[string]bool) map[string]bool {
	found := map[string]bool{}
	for request, at := range m.q.backlog.waiting {
		if at == normal && eligible[request.Namespace] {
			found[request.Namespace] = true
		}
	}
	return found
}

func (m *model) done(index int) {
	request := m.working[index]
	m.working = slices.Delete(m.working, index, index+1)
	m.q.Done(request)
}

// FuzzQueue performs a sequence of additions, gets and dones, two bytes each, and compares the
// queue with a model after each of them.
func FuzzQueue(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for length := 2; length < 1<<11; length *= 2 {
		steps := make([]byte, length)
		for i := range steps {
			steps[i] = byte(random.Uint32())
		}
		f.Add(uint8(length), steps)
	}
	f.Fuzz(func(t *testing.T, workers uint8, steps []byte) {
		count := 1 + int(workers%16)
		q := New("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute), count)
		defer q.ShutDown()
		m := &model{t: t, q: q, limit: q.backlog.limit, dirty: map[reconcile.Request]bool{}, passed: map[string]map[string]int{}}
		for ; len(steps) >= 2; steps = steps[2:] {
			kind, what := steps[0], steps[1]
			switch {
			case kind%4 < 2:
				m.add(parse(string(rune('a'+what%5))+"/"+string(rune('0'+what/5%8))), -int(kind/4%3/2))
			case kind%4 == 2 && len(m.working) < count:
				m.get()
			case len(m.working) > 0:
				m.done(int(what) % len(m.working))
			}
		}
		for len(m.dirty) > 0 || len(m.working) > 0 {
			if m.get(); len(m.working) > 0 {
				m.done(0)
			}
		}
		if q.Len() > 0 || len(q.backlog.waiting) > 0 {
			t.Errorf("%v still waits", q.backlog.waiting)
		}
	})
}
