// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// Another client changes the image each time that it is reverted.
func TestApply_BacksOffOnContendedObject(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.deployment()
	w.applied(object)
	edits := 0
	edit := func() {
		t.Helper()
		edits++
		w.update("someone", object, func(live *unstructured.Unstructured) {
			container(live)["image"] = fmt.Sprintf("memcached:%d", edits)
		})
		w.settle(object)
	}
	for i := range 5 {
		edit()
		w.apply(fmt.Sprintf("edit %d", i), apply.Configured, object)
	}
	for _, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		edit()
		w.requests.take()
		result := w.apply("too soon", apply.Failed, object)[0]
		contention, ok := errors.AsType[*apply.ContentionError](result.Err)
		if !ok || contention.Wait != delay || contention.Undone != edits-1 {
			t.Errorf("got %v, %+v, want a delay of %s", result.Err, contention, delay)
		}
		w.requests.mustBe(t, "too soon")
		w.clock.Step(delay)
		w.apply(fmt.Sprintf("after %s", delay), apply.Configured, object)
	}

	set(t, object, int64(7), "spec", "replicas")
	edit()
	w.apply("another desired state", apply.Configured, object)
	edit()
	w.apply("which is reverted at once", apply.Configured, object)

	w.clock.Step(time.Hour)
	for range 5 {
		edit()
		w.apply("once it was left alone for a while", apply.Configured, object)
	}
}

// undoings are what another client does to an object each time, and what the operator does about it.
var undoings = map[string]struct {
	undo func(w *env, object *unstructured.Unstructured)
	want apply.Action
}{
	"it is deleted": {(*env).delete, apply.Created},
	"the label by which caches select is removed": {patched("remove /metadata/labels/app.kubernetes.io~1managed-by"), apply.Configured},
	"another operator applies another state": {func(w *env, object *unstructured.Unstructured) {
		w.applyAs(apply.FieldManager, object, `{apiVersion: v1, kind: Service, metadata: {labels: {app.kubernetes.io/managed-by: memcached-operator, of: another}}}`)
	}, apply.Configured},
}

func TestApply_BacksOffHoweverItIsUndone(t *testing.T) {
	t.Parallel()
	for sentence, test := range undoings {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := ofKind("Service", w.rendered())
			w.applied(object)
			for i := range 5 {
				test.undo(w, object)
				w.settle(object)
				w.apply(fmt.Sprintf("time %d", i), test.want, object)
				w.settle(object)
			}
			test.undo(w, object)
			w.settle(object)
			w.requests.take()
			if result := w.apply("too soon", apply.Failed, object)[0]; !isContention(result.Err, time.Second) {
				t.Errorf("got %v", result.Err)
			}
			w.requests.mustBe(t, "too soon")
			w.clock.Step(time.Second)
			w.apply("after a second", test.want, object)
		})
	}
}

// Another client creates an object of the Memcached again each time that it is pruned.
func TestPrune_BacksOffOnContendedObject(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(`{apiVersion: v1, kind: ConfigMap}`)
	for range 6 {
		w.create("someone", object)
		w.settle(object)
		if pruned := w.prune(); len(pruned) != 1 {
			t.Fatalf("pruned %v", pruned)
		}
		w.settle(object)
	}
	w.create("someone", object)
	w.settle(object)
	if _, err := w.applier.Prune(t.Context(), w.applier.Owner(w.owner), kinds, nil); !isContention(err, time.Second) {
		t.Errorf("too soon: got %v", err)
	}
	w.clock.Step(time.Second)
	if pruned := w.prune(); len(pruned) != 1 {
		t.Errorf("after a second: pruned %v", pruned)
	}
}

// isContention reports whether err is a ContentionError with a delay of wait.
func isContention(err error, wait time.Duration) bool {
	contention, ok := errors.AsType[*apply.ContentionError](err)
	return ok && contention.Wait == wait
}
