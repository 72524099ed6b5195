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
		if !ok || contention.Wait != delay || contention.Reverts != edits-1 {
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
