// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

// deadline is how long a test waits for what must come: far longer than it takes.
const deadline = 30 * time.Second

// env is a namespace with a Memcached in it and an operator that works for it.
type env struct {
	t         *testing.T
	namespace string
	owner     *cachev1alpha1.Memcached
	requests  *requests
	applier   *apply.Applier
	pending   *apply.PendingWrites
	clock     clock
	// cache is the operator's cache.
	cache *staleReader
}

// clock is a clock that stands still unless a test advances it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// newEnv creates an env of t's own. The Memcached is called cache and has size 3.
func newEnv(t *testing.T) *env {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "apply-"}}
	must(t, suite.admin.Create(t.Context(), namespace))
	w := &env{t: t, namespace: namespace.Name, requests: &requests{}, cache: &staleReader{live: suite.cache}}
	w.owner = w.memcached("cache", 3)
	w.restart()
	return w
}

// memcached makes a further Memcached.
func (w *env) memcached(name string, size int32) *cachev1alpha1.Memcached {
	w.t.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	mc.Spec.Size = &size
	must(w.t, suite.admin.Create(w.t.Context(), mc))
	return mc
}

// restart starts the operator anew: it remembers nothing, and its cache is filled.
func (w *env) restart() {
	w.t.Helper()
	config := w.requests.watch(suite.operator)
	cached, err := client.New(config, client.Options{
		Scheme: suite.scheme, Mapper: suite.mapper,
		Cache: &client.CacheOptions{Reader: w.cache, Unstructured: true},
	})
	must(w.t, err)
	live, err := client.New(config, client.Options{Scheme: suite.scheme, Mapper: suite.mapper})
	must(w.t, err)
	w.pending = apply.NewPendingWrites(suite.scheme)
	w.forgetWhatIsDeleted(w.pending)
	w.applier = apply.New(cached, live, suite.types, w.pending, apply.Options{Now: w.clock.Now})
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
		object, err := apply.NewObject(suite.scheme, kind)
		must(w.t, err)
		informer, err := suite.cache.GetInformer(w.t.Context(), object)
		must(w.t, err)
		registration, err := informer.AddEventHandler(handler)
		must(w.t, err)
		w.t.Cleanup(func() { _ = informer.RemoveEventHandler(registration) })
	}
}

// rendered are the shipped objects for the Memcached: Service, Deployment and
// PodDisruptionBudget.
func (w *env) rendered() []*unstructured.Unstructured {
	w.t.Helper()
	objects, err := suite.renderer.Render(w.owner)
	must(w.t, err)
	return objects
}

// deployment is the shipped Deployment alone.
func (w *env) deployment() *unstructured.Unstructured {
	w.t.Helper()
	for _, object := range w.rendered() {
		if object.GetKind() == "Deployment" {
			return object
		}
	}
	w.t.Fatal("no Deployment is rendered")
	return nil
}

// made is the object of text as the renderer would emit it for the Memcached: in
// its namespace, of its name unless it has one, with our label and owner reference.
func (w *env) made(text string) *unstructured.Unstructured {
	w.t.Helper()
	object := parse(w.t, text)
	object.SetNamespace(w.namespace)
	if object.GetName() == "" {
		object.SetName(w.owner.Name)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[render.ManagedByLabel] = render.ManagedBy
	object.SetLabels(labels)
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.owner, cachev1alpha1.MemcachedKind)})
	return object
}

// foreign is the object of text as another client has it: nothing is added but the
// namespace, and the Memcached's name unless it has one.
func (w *env) foreign(text string) *unstructured.Unstructured {
	w.t.Helper()
	object := parse(w.t, text)
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
	results, err := w.applier.Apply(w.t.Context(), w.applier.Owner(w.owner), objects)
	must(w.t, err)
	return results
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
		var last string
		err := wait.PollUntilContextTimeout(w.t.Context(), time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
			live, err := liveVersion(ctx, object)
			if err != nil {
				return false, err
			}
			cached, err := version(ctx, object, suite.cache.Get)
			if err != nil {
				return false, err
			}
			seen, err := version(ctx, object, w.get)
			last = fmt.Sprintf("the server has version %q, the cache %q, the operator sees %q", live, cached, seen)
			return live == cached && live == seen, err
		})
		if err != nil {
			w.t.Fatalf("waiting for the cache to show %s %s: %v; %s", object.GetKind(), object.GetName(), err, last)
		}
	}
}

// liveVersion is the resourceVersion of object on the server; empty when it is gone
// or lost the label by which caches select.
func liveVersion(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	err := suite.admin.Get(ctx, client.ObjectKeyFromObject(object), live)
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
	seen, err := apply.NewObject(suite.scheme, object.GroupVersionKind())
	if err != nil {
		return "", err
	}
	err = get(ctx, client.ObjectKeyFromObject(object), seen)
	return seen.GetResourceVersion(), client.IgnoreNotFound(err)
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	// Through JSON, since that reads whole numbers as int64, as the renderer does.
	content, err := yaml.YAMLToJSON([]byte(text))
	must(t, err)
	must(t, object.UnmarshalJSON(content))
	return object
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
