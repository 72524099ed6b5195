// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// parse returns the request of "namespace/name".
func parse(text string) reconcile.Request {
	namespace, name, _ := strings.Cut(text, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// run performs steps on a backlog for that many workers and returns what it handed out. Steps
// are separated by blanks:
//
//	a/1      request 1 of namespace a is added with normal priority
//	a/1:low  the same with low priority
//	pop      a request is handed out; "-" is the result when none may be
//	done:a/1 request 1 of namespace a is no longer in process
func run(t *testing.T, workers int, steps string) string {
	t.Helper()
	b := newBacklog(workers)
	var handedOut []string
	for step := range strings.FieldsSeq(steps) {
		released, isDone := strings.CutPrefix(step, "done:")
		name, isLow := strings.CutSuffix(step, ":low")
		switch {
		case step == "pop" && b.Len() == 0:
			handedOut = append(handedOut, "-")
		case step == "pop":
			handedOut = append(handedOut, b.Pop().String())
		case isDone:
			b.release(parse(released))
		default:
			at := normal
			if isLow {
				at = low
			}
			b.ask(parse(name), at)
			if _, ok := b.waiting[parse(name)]; ok {
				b.Touch(parse(name))
			} else {
				b.Push(parse(name))
			}
		}
	}
	return strings.Join(handedOut, " ")
}

func TestBacklog_OrdersRequests(t *testing.T) {
	t.Parallel()
	const unlimited = 1000
	for name, test := range map[string]struct {
		workers     int
		steps, want string
	}{
		"is first in, first out within a namespace": {
			unlimited, "a/1 a/3 a/2 pop pop pop", "a/1 a/3 a/2"},
		"takes namespaces in turn": {
			unlimited, "a/1 a/2 a/3 b/1 b/2 c/1 pop pop pop pop pop pop", "a/1 b/1 c/1 a/2 b/2 a/3"},
		"gives a new namespace the last turn": {
			unlimited, "a/1 a/2 a/3 b/1 b/2 pop c/1 pop pop pop pop pop", "a/1 b/1 a/2 c/1 b/2 a/3"},
		"hands out normal before low": {
			unlimited, "a/1:low b/1:low a/2 c/1 pop pop pop pop", "a/2 c/1 a/1 b/1"},
		"keeps the place of a request that is added again": {
			unlimited, "a/1 a/2 a/1 pop pop pop", "a/1 a/2 -"},
		"raises a low request that is added with normal priority": {
			unlimited, "a/1:low a/2:low b/1:low a/2 pop pop pop", "a/2 a/1 b/1"},
		"does not lower a normal request that is added with low priority": {
			unlimited, "a/1 a/2:low a/1:low pop pop pop", "a/1 a/2 -"},
		"skips a namespace that occupies all workers it may": {
			4, "a/1 a/2 a/3 a/4 pop pop pop pop b/1 pop", "a/1 a/2 a/3 - b/1"},
		"hands out a skipped request once a worker of its namespace is free": {
			4, "a/1 a/2 a/3 a/4 pop pop pop pop done:a/2 pop", "a/1 a/2 a/3 - a/4"},
		"hands out low while all normal requests are skipped": {
			4, "a/1 a/2 a/3 a/4 b/1:low pop pop pop pop", "a/1 a/2 a/3 b/1"},
		"keeps the turn of a skipped namespace": {
			4, "a/1 a/2 a/3 a/4 pop pop pop b/1 b/2 b/3 pop done:a/1 pop pop", "a/1 a/2 a/3 b/1 a/4 b/2"},
		"gives a single worker to everybody": {
			1, "a/1 a/2 b/1 pop done:a/1 pop done:b/1 pop", "a/1 b/1 a/2"},
		"leaves one of two workers to others": {
			2, "a/1 a/2 b/1 pop pop pop", "a/1 b/1 -"},
		"leaves a quarter of many workers to others": {
			8, "a/1 a/2 a/3 a/4 a/5 a/6 a/7 pop pop pop pop pop pop pop", "a/1 a/2 a/3 a/4 a/5 a/6 -"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, test.workers, test.steps); got != test.want {
				t.Errorf("%s\nhands out %s\nwant      %s", test.steps, got, test.want)
			}
		})
	}
}

func TestBacklog_LowPriorityDoesNotStarve(t *testing.T) {
	t.Parallel()
	steps := "z/1:low z/2:low"
	for i := range 3 * lowShare {
		steps += " a/" + strings.Repeat("1", i+1)
	}
	got := strings.Fields(run(t, 1000, steps+strings.Repeat(" pop", 3*lowShare)))
	for nth, want := range map[int]string{1: "z/1", 2: "z/2"} {
		if index := slices.Index(got, want); index+1 != nth*lowShare {
			t.Errorf("%s is request %d, want %d", want, index+1, nth*lowShare)
		}
	}
}

func TestBacklog_ForgetsDoneRequests(t *testing.T) {
	t.Parallel()
	b := newBacklog(4)
	for _, name := range []string{"a/1", "a/2", "b/1"} {
		b.ask(parse(name), low)
		b.Push(parse(name))
		b.ask(parse(name), normal)
		b.Touch(parse(name))
	}
	for b.Len() > 0 {
		b.release(b.Pop())
	}
	if kept := b.kept(); kept > 0 {
		t.Errorf("%d entries are left: %+v", kept, b)
	}
}

// kept returns the number of entries of all maps and lists.
func (b *backlog) kept() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := len(b.waiting) + len(b.asked) + len(b.inProcess) + len(b.occupied)
	for _, l := range b.lanes {
		kept += l.turns.Len() + len(l.namespaces) + len(l.requests)
	}
	return kept
}
