// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// env is a namespace with a Memcached in it and an operator that works for it.
type env struct {
	t         *testing.T
	namespace string
	owner     *cachev1alpha1.Memcached
	requests  *requests
	applier   *apply.Applier
	pending   *apply.PendingWrites
	clock     *testingclock.FakeClock
	// cache is the operator's cache.
	cache *staleReader
	// asksForWhole reports that the last desired objects were asked for as a whole.
	asksForWhole bool
}

// newEnv creates an env of t's own. The Memcached is called cache and has size 3.
func newEnv(t *testing.T) *env {
	t.Helper()
	w := &env{t: t, clock: testingclock.NewFakeClock(time.Now()), namespace: suite.NewNamespace(t), requests: &requests{}, cache: &staleReader{live: suite.cache}}
	w.owner = w.memcached("cache", 3)
	w.restart()
	return w
}

// memcached creates a further Memcached.
func (w *env) memcached(name string, size int32) *cachev1alpha1.Memcached {
	w.t.Helper()
	return suite.NewMemcached(w.t, w.namespace, name, size)
}

// restart starts the operator anew: it remembers nothing, and its cache is filled.
func (w *env) restart() {
	w.t.Helper()
	options := client.Options{Scheme: suite.scheme, Mapper: suite.Client.RESTMapper()}
	live, err := client.New(w.requests.config(), options)
	testenv.NoError(w.t, err)
	options.Cache = &client.CacheOptions{Reader: w.cache}
	cached, err := client.New(w.requests.config(), options)
	testenv.NoError(w.t, err)
	w.pending = apply.NewPendingWrites(suite.scheme)
	w.forgetWhatIsDeleted(w.pending)
	w.applier = apply.New(cached, live, suite.types, w.pending, apply.Options{Contention: apply.NewContention(w.clock.Now)})
}

// forgetWhatIsDeleted does what the reconciler's watches do.
func (w *env) forgetWhatIsDeleted(pending *apply.PendingWrites) {
	w.t.Helper()
	handler := toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if object, ok := object.(client.Object); ok && object.GetNamespace() == w.namespace && !w.cache.isFrozen.Load() {
			pending.ObserveDelete(object)
		}
	}}
	for _, kind := range kinds {
		object, err := apply.NewCached(suite.scheme, kind)
		testenv.NoError(w.t, err)
		informer, err := suite.cache.GetInformer(w.t.Context(), object)
		testenv.NoError(w.t, err)
		registration, err := informer.AddEventHandler(handler)
		testenv.NoError(w.t, err)
		w.t.Cleanup(func() { _ = informer.RemoveEventHandler(registration) })
	}
}

// rendered are the shipped objects for the Memcached: Service, Deployment and
// PodDisruptionBudget.
func (w *env) rendered() []*unstructured.Unstructured {
	w.t.Helper()
	objects, err := suite.renderer.Render(w.owner)
	testenv.NoError(w.t, err)
	return objects
}

// deployment is the shipped Deployment alone.
func (w *env) deployment() *unstructured.Unstructured {
	w.t.Helper()
	return ofKind("Deployment", w.rendered())
}

func ofKind(kind string, objects []*unstructured.Unstructured) *unstructured.Unstructured {
	return objects[slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == kind })]
}

// made is the object of text as the renderer would emit it for the Memcached: as foreign
// returns it, with our label and owner reference.
func (w *env) made(text string) *unstructured.Unstructured {
	w.t.Helper()
	object := w.foreign(text)
	relabel(object, render.ManagedByLabel, render.ManagedBy)
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.owner, cachev1alpha1.MemcachedKind)})
	return object
}

// foreign is the object of text as another client has it: nothing is added but the
// namespace, and the Memcached's name unless it has one.
func (w *env) foreign(text string) *unstructured.Unstructured {
	w.t.Helper()
	object := testenv.Parse(w.t, text)
	object.SetNamespace(w.namespace)
	if object.GetName() == "" {
		object.SetName(w.owner.Name)
	}
	return object
}

// apply applies objects and checks that every one came to want.
func (w *env) apply(when string, want apply.Action, objects ...*unstructured.Unstructured) []apply.Result {
	w.t.Helper()
	results := w.applyAll(objects)
	if want == apply.Unchanged && w.asksForWhole {
		w.t.Errorf("%s: nothing is written, and the whole objects were asked for", when)
	}
	for _, result := range results {
		if result.Action != want {
			w.t.Errorf("%s: %s is %s (%v), want %s", when, result.Object.GetKind(), result.Action, result.Err, want)
		}
	}
	return results
}

// applyAll applies objects for the Memcached, which is as it was read.
func (w *env) applyAll(objects []*unstructured.Unstructured) []apply.Result {
	w.t.Helper()
	results, err := w.applier.Apply(w.t.Context(), w.applier.Owner(w.owner), w.desired(objects))
	testenv.NoError(w.t, err)
	return results
}

// desired are objects, of which only the summary is at hand, as in a reconcile that follows another.
func (w *env) desired(objects []*unstructured.Unstructured) apply.Desired {
	w.asksForWhole = false
	whole := w.applier.Prepare(objects)
	return whole.Summary().Desired(func() apply.Desired {
		w.asksForWhole = true
		return whole
	})
}

// applied makes objects, waits for the cache and forgets the requests: the state
// from which most tests start.
func (w *env) applied(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	w.apply("at first", apply.Created, objects...)
	w.settle(objects...)
	w.requests.take()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// mustHold checks that objects need nothing: not now, not once the cache has caught
// up, and not after a restart.
func (w *env) mustHold(when string, objects ...*unstructured.Unstructured) {
	w.t.Helper()
	w.apply(when+", at once", apply.Unchanged, objects...)
	w.requests.mustBe(w.t, when+", at once")
	w.settle(objects...)
	w.apply(when+", later", apply.Unchanged, objects...)
	w.requests.mustBe(w.t, when+", later")
	w.restart()
	w.apply(when+", after a restart", apply.Unchanged, objects...)
	w.requests.mustBe(w.t, when+", after a restart")
}

// settle waits until the cache shows objects as they are, and the operator too.
func (w *env) settle(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	for _, object := range objects {
		var live, cached, seen string
		err := testenv.Poll(w.t.Context(), testenv.Timeout, func(ctx context.Context) (_ bool, err error) {
			if live, err = liveVersion(ctx, object); err != nil {
				return false, err
			}
			if cached, err = version(ctx, object, suite.cache.Get); err != nil {
				return false, err
			}
			seen, err = version(ctx, object, w.get)
			return live == cached && live == seen, err
		})
		if err != nil {
			w.t.Fatalf("waiting for the cache to show %s %s: %v; the server has version %q, the cache %q, the operator sees %q",
				object.GetKind(), object.GetName(), err, live, cached, seen)
		}
	}
}

// liveVersion is the resourceVersion of object on the server; empty when it is gone
// or lost the label by which caches select.
func liveVersion(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	live := likeness(object)
	err := suite.Client.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) || live.GetLabels()[render.ManagedByLabel] != render.ManagedBy {
		return "", client.IgnoreNotFound(err)
	}
	return live.GetResourceVersion(), err
}

// get reads as the operator does: what it wrote last, until the cache has it.
func (w *env) get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	seen, err := w.pending.Get(ctx, suite.cache, key, object)
	if err == nil {
		object.SetResourceVersion(seen.GetResourceVersion())
	}
	return err
}

// version is the resourceVersion of object as get reads it; empty when there is none.
func version(ctx context.Context, object *unstructured.Unstructured, get func(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error) (string, error) {
	seen, err := apply.NewCached(suite.scheme, object.GroupVersionKind())
	if err != nil {
		return "", err
	}
	err = get(ctx, client.ObjectKeyFromObject(object), seen)
	return seen.GetResourceVersion(), client.IgnoreNotFound(err)
}
