// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
)

func TestApply_WritesShippedObjectsOnce(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	objects := w.rendered()
	results := w.apply("at first", apply.Created, objects...)
	w.requests.mustBe(t, "at first", "apply services/cache", "apply deployments/cache", "apply poddisruptionbudgets/cache")
	for _, result := range results {
		if result.Live == nil || result.Live.GetUID() == "" || result.Err != nil || result.Mutation != "" || result.NotYetCached {
			t.Errorf("%s: result %+v", result.Object.GetKind(), result)
		}
	}
	w.mustHold("again", objects...)
}

func TestApply_NotYetCachedUntilCacheShowsObject(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	w.applied(w.deployment())
	// The cache cannot show what happens in the same instant: pending stands in for it.
	resized := w.deployment()
	set(t, resized, int64(7), "spec", "replicas")
	written := w.apply("resized", apply.Configured, resized)[0]
	w.settle(resized)
	wrote(w.pending, newer(written.Live))
	if result := w.apply("before the cache knows", apply.Unchanged, resized)[0]; !result.NotYetCached {
		t.Error("the answer counts as confirmed, though the cache does not show it")
	}
	w.restart()
	if result := w.apply("once it does", apply.Unchanged, resized)[0]; result.NotYetCached {
		t.Error("the answer counts as unconfirmed, though the cache shows it")
	}
}

// Objects are recognised however the server stores what was rendered.
func TestApply_SkipsUnchanged(t *testing.T) {
	t.Parallel()
	for sentence, text := range skipped {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(text)
			result := w.apply("at first", apply.Created, object)[0]
			if result.Mutation != "" {
				t.Errorf("it is said that the server changed %s", result.Mutation)
			}
			w.requests.take()
			w.mustHold("again", object)
		})
	}
}

// newer is object as it would be after one more write.
func newer(object client.Object) client.Object {
	next := object.DeepCopyObject().(client.Object)
	next.SetResourceVersion(next.GetResourceVersion() + "0")
	return next
}
