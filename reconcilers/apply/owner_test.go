// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
)

// The owner of these tests was read before it changed, as from a cache that is out of date.
func TestOwner_OfAnOldCacheWritesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, w *world)
		reason string
	}{
		"deleted": {
			change: func(t *testing.T, w *world) { must(t, env.admin.Delete(t.Context(), w.liveOwner())) },
			reason: "it was deleted",
		},
		"being deleted": {
			change: func(t *testing.T, w *world) {
				mc := w.liveOwner()
				mc.Finalizers = []string{"example.com/wait"}
				must(t, env.admin.Update(t.Context(), mc))
				must(t, env.admin.Delete(t.Context(), mc))
			},
			reason: "it is being deleted",
		},
		"replaced": {
			change: func(t *testing.T, w *world) {
				must(t, env.admin.Delete(t.Context(), w.liveOwner()))
				w.memcached("cache", 3)
			},
			reason: "another one has its name",
		},
		"edited": {
			change: func(t *testing.T, w *world) {
				mc := w.liveOwner()
				mc.Spec.Size = new(int32(5))
				must(t, env.admin.Update(t.Context(), mc))
			},
			reason: "it has generation 2, not 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			deployment := w.deployment()
			w.applied(deployment)
			test.change(t, w)
			edited := deployment.DeepCopy()
			set(t, edited, int64(7), "spec", "replicas")
			created := w.made("{apiVersion: v1, kind: ConfigMap}")
			for write, do := range map[string]func() error{
				"update": func() error {
					_, err := w.applier.Apply(t.Context(), w.applier.Owner(w.owner), []*unstructured.Unstructured{edited})
					return err
				},
				"create": func() error {
					_, err := w.applier.Apply(t.Context(), w.applier.Owner(w.owner), []*unstructured.Unstructured{deployment, created})
					return err
				},
				"prune": func() error {
					_, err := w.applier.Prune(t.Context(), w.applier.Owner(w.owner), kinds, nil)
					return err
				},
			} {
				stale, ok := errors.AsType[*apply.StaleOwnerError](do())
				if !ok || stale.Reason != test.reason {
					t.Errorf("%s: got %v, want the reason %q", write, stale, test.reason)
				}
				if sent := w.requests.take(); len(sent) > 0 {
					t.Errorf("%s: sent %v", write, sent)
				}
			}
		})
	}
}

func TestOwner_IsReadBeforeEachWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rendered := w.rendered()
	for _, step := range []struct {
		name string
		want int
	}{
		{"create all objects", len(rendered)},
		{"nothing to do", 0},
	} {
		w.requests.takeVerified()
		if _, err := w.applier.Apply(t.Context(), w.applier.Owner(w.owner), rendered); err != nil {
			t.Fatal(err)
		}
		w.settle(rendered...)
		if got := w.requests.takeVerified(); got != step.want {
			t.Errorf("%s: the owner was read %d times, want %d", step.name, got, step.want)
		}
	}
}

// Whoever deletes a Memcached while its objects are written gets at most one more.
func TestOwner_DeletedBetweenWrites(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first string
		do    func(w *world, objects ...*unstructured.Unstructured) error
	}{
		"the second object is not created": {"apply configmaps/cache", func(w *world, objects ...*unstructured.Unstructured) error {
			_, err := w.applier.Apply(w.t.Context(), w.applier.Owner(w.owner), objects)
			return err
		}},
		"the second object is not pruned": {"delete configmaps/cache", func(w *world, objects ...*unstructured.Unstructured) error {
			w.applied(objects...)
			_, err := w.applier.Prune(w.t.Context(), w.applier.Owner(w.owner), []schema.GroupVersionKind{objects[0].GroupVersionKind(), objects[1].GroupVersionKind()}, nil)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.requests.between(test.first, func() {
				w.requests.take()
				must(t, env.admin.Delete(t.Context(), w.liveOwner()))
			})
			err := test.do(w, w.made("{apiVersion: v1, kind: ConfigMap}"), w.deployment())
			if _, ok := errors.AsType[*apply.StaleOwnerError](err); !ok {
				t.Errorf("got %v, want a StaleOwnerError", err)
			}
			w.requests.mustBe(t, name, test.first)
		})
	}
}

// liveOwner returns the Memcached as the server has it.
func (w *world) liveOwner() *cachev1alpha1.Memcached {
	w.t.Helper()
	mc := &cachev1alpha1.Memcached{}
	must(w.t, env.admin.Get(w.t.Context(), client.ObjectKeyFromObject(w.owner), mc))
	return mc
}
