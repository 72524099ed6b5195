// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

var writesNothingWhenStaleTests = map[string]struct {
	change func(t *testing.T, w *env)
	reason string
}{
	"deleted": {
		change: func(t *testing.T, w *env) { suite.Delete(t, w.liveOwner()) },
		reason: "it was deleted",
	},
	"being deleted": {
		change: func(t *testing.T, w *env) {
			mc := w.liveOwner()
			mc.Finalizers = []string{"example.com/wait"}
			testenv.NoError(t, suite.Client.Update(t.Context(), mc))
			suite.Delete(t, mc)
		},
		reason: "it is being deleted",
	},
	"replaced": {
		change: func(t *testing.T, w *env) {
			suite.Delete(t, w.liveOwner())
			w.memcached("cache", 3)
		},
		reason: "it was replaced",
	},
	"edited": {
		change: func(t *testing.T, w *env) {
			mc := w.liveOwner()
			mc.Spec.Size = new(int32(5))
			testenv.NoError(t, suite.Client.Update(t.Context(), mc))
		},
		reason: "it has generation 2, not 1",
	},
}

// The owner of these tests was read before it changed, as from a cache that is out of date.
func TestOwner_WritesNothingWhenStale(t *testing.T) {
	t.Parallel()
	for name, test := range writesNothingWhenStaleTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			deployment := w.deployment()
			w.applied(deployment)
			test.change(t, w)
			edited := deployment.DeepCopy()
			set(t, edited, int64(7), "spec", "replicas")
			created := w.made("{apiVersion: v1, kind: ConfigMap}")
			for write, do := range map[string]func() error{
				"update": func() error {
					_, err := w.applier.Apply(t.Context(), w.applier.Owner(w.owner), w.applier.Prepare([]*unstructured.Unstructured{edited}))
					return err
				},
				"create": func() error {
					_, err := w.applier.Apply(t.Context(), w.applier.Owner(w.owner), w.applier.Prepare([]*unstructured.Unstructured{deployment, created}))
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

func TestOwner_VerifiesOncePerBatch(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	many := w.configMaps(9)
	for _, step := range []struct {
		name    string
		objects []*unstructured.Unstructured
		want    int
	}{
		{"create all objects", w.rendered(), 1},
		{"nothing to do", w.rendered(), 0},
		{"more objects than one batch", many, 2},
	} {
		w.requests.takeVerified()
		if _, err := w.applier.Apply(t.Context(), w.applier.Owner(w.owner), w.applier.Prepare(step.objects)); err != nil {
			t.Fatal(err)
		}
		w.settle(step.objects...)
		if got := w.requests.takeVerified(); got != step.want {
			t.Errorf("%s: the owner was read %d times, want %d", step.name, got, step.want)
		}
	}
}

var stopsWhenDeletedBetweenWritesTests = map[string]struct {
	// before is the request before which the Memcached is deleted.
	before string
	do     func(w *env) error
	sent   []string
}{
	"the second batch is not created": {
		before: "apply configmaps/cache-0",
		do:     func(w *env) error { return w.tryApply(w.configMaps(9)...) },
		sent: []string{
			"apply configmaps/cache-0", "apply configmaps/cache-1", "apply configmaps/cache-2", "apply configmaps/cache-3",
			"apply configmaps/cache-4", "apply configmaps/cache-5", "apply configmaps/cache-6", "apply configmaps/cache-7",
		},
	},
	"an existing object is not adopted": {
		before: "apply deployments/cache",
		do: func(w *env) error {
			w.tutorial("manager")
			return w.tryApply(w.deployment())
		},
		sent: []string{"apply deployments/cache 409"},
	},
	"an adopted object is not applied": {
		before: "patch deployments/cache",
		do: func(w *env) error {
			w.tutorial("manager")
			return w.tryApply(w.deployment())
		},
		sent: []string{"apply deployments/cache 409", "get deployments/cache", "patch deployments/cache"},
	},
	"an object is not applied after the transfer of a list": {
		before: "patch services/cache",
		do: func(w *env) error {
			service := w.made("{apiVersion: v1, kind: Service, spec: {ports: [{name: memcached, port: 11211, protocol: TCP, targetPort: 11211}]}}")
			w.applied(service)
			w.update("kubectl-edit", service, func(live *unstructured.Unstructured) {
				live.Object["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["port"] = int64(11212)
			})
			w.settle(service)
			return w.tryApply(service)
		},
		sent: []string{"apply services/cache 422", "get services/cache", "patch services/cache"},
	},
	"the second object is not pruned": {
		before: "delete configmaps/cache",
		do: func(w *env) error {
			objects := []*unstructured.Unstructured{w.made("{apiVersion: v1, kind: ConfigMap}"), w.deployment()}
			w.applied(objects...)
			_, err := w.applier.Prune(w.t.Context(), w.applier.Owner(w.owner), []schema.GroupVersionKind{objects[0].GroupVersionKind(), objects[1].GroupVersionKind()}, nil)
			return err
		},
		sent: []string{"delete configmaps/cache"},
	},
}

// After the deletion of a Memcached, only requests of the same batch are sent.
func TestOwner_StopsWhenDeletedBetweenWrites(t *testing.T) {
	t.Parallel()
	for name, test := range stopsWhenDeletedBetweenWritesTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			w.requests.between(test.before, func() { suite.Delete(t, w.liveOwner()) })
			err := test.do(w)
			if stale, ok := errors.AsType[*apply.StaleOwnerError](err); !ok || stale.Reason != "it was deleted" {
				t.Errorf("got %v, want that the owner was deleted", err)
			}
			w.requests.mustBe(t, name, test.sent...)
		})
	}
}

// A panic in any other goroutine than that of the reconcile ends the process.
func TestApply_PanicsInTheCaller(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	w.requests.between("apply deployments/cache", func() { panic("a bug") })
	defer func() {
		if p := recover(); p != "a bug" {
			t.Errorf("recovered %v, want the panic of the write", p)
		}
		w.requests.mustBe(t, "concurrent writes", "apply deployments/cache", "apply poddisruptionbudgets/cache", "apply services/cache")
	}()
	err := w.tryApply(w.rendered()...)
	t.Errorf("Apply returned %v, want a panic", err)
}

// tryApply applies objects and returns the error that Apply returns.
func (w *env) tryApply(objects ...*unstructured.Unstructured) error {
	w.t.Helper()
	_, err := w.applier.Apply(w.t.Context(), w.applier.Owner(w.owner), w.applier.Prepare(objects))
	return err
}

// configMaps returns n ConfigMaps for the owner, from cache-0 on.
func (w *env) configMaps(n int) []*unstructured.Unstructured {
	w.t.Helper()
	var objects []*unstructured.Unstructured
	for i := range n {
		object := w.made("{apiVersion: v1, kind: ConfigMap}")
		object.SetName(fmt.Sprintf("cache-%d", i))
		objects = append(objects, object)
	}
	return objects
}

// liveOwner returns the Memcached as the server has it.
func (w *env) liveOwner() *cachev1alpha1.Memcached {
	w.t.Helper()
	mc := &cachev1alpha1.Memcached{}
	testenv.NoError(w.t, suite.Client.Get(w.t.Context(), client.ObjectKeyFromObject(w.owner), mc))
	return mc
}
