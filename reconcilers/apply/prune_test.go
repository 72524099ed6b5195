// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

// prune prunes all but desired and returns what was pruned, as "Kind name".
func (w *env) prune(desired ...*unstructured.Unstructured) []string {
	w.t.Helper()
	pruned, err := w.applier.Prune(w.t.Context(), w.applier.Owner(w.owner), kinds, desired)
	must(w.t, err)
	var names []string
	for _, object := range pruned {
		names = append(names, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	return names
}

func TestPrune_DeletesStaleObjects(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	keep := w.rendered()
	leftovers := []*unstructured.Unstructured{
		w.made(`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}`),
		w.made(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}`),
		w.made(`{apiVersion: v1, kind: ConfigMap, metadata: {name: cache-a}}`),
		w.made(`{apiVersion: v1, kind: ConfigMap, metadata: {name: cache-b}}`),
		w.made(`{apiVersion: v1, kind: Service, metadata: {name: cache-c}, spec: {ports: [{port: 1, protocol: TCP}]}}`),
		w.made(`{apiVersion: v1, kind: ServiceAccount}`),
		w.made(`{apiVersion: test.example.com/v1, kind: Widget}`),
		w.made(`{apiVersion: loose.example.com/v1, kind: Gadget}`),
	}
	all := slices.Concat(keep, leftovers)
	w.applied(all...)
	if pruned := w.prune(all...); pruned != nil {
		t.Errorf("pruned %v, and all is rendered", pruned)
	}
	w.requests.mustBe(t, "while all is rendered")

	pruned := w.prune(keep...)
	slices.Sort(pruned)
	want := []string{
		"ConfigMap cache-a", "ConfigMap cache-b", "Gadget cache", "NetworkPolicy cache",
		"Role cache", "Service cache-c", "ServiceAccount cache", "Widget cache",
	}
	if !slices.Equal(pruned, want) {
		t.Errorf("pruned %v, want %v", pruned, want)
	}
	sent := w.requests.take()
	slices.Sort(sent)
	if want := []string{
		"delete configmaps/cache-a", "delete configmaps/cache-b", "delete gadgets/cache", "delete networkpolicies/cache",
		"delete roles/cache", "delete serviceaccounts/cache", "delete services/cache-c", "delete widgets/cache",
	}; !slices.Equal(sent, want) {
		t.Errorf("sent %v, want %v", sent, want)
	}
	for _, object := range leftovers {
		w.mustBeGone(object)
	}
	w.settle(all...)
	if pruned := w.prune(keep...); pruned != nil {
		t.Errorf("pruned again: %v", pruned)
	}
	w.requests.mustBe(t, "again")
	w.mustHold("what is rendered", keep...)
}

// What is not controlled by this very Memcached is not pruned, whatever its label.
func TestPrune_KeepsObjectsOfOtherOwners(t *testing.T) {
	t.Parallel()
	const text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}`
	for sentence, change := range map[string]func(w *env, object *unstructured.Unstructured){
		"nobody's, with our label": func(_ *env, object *unstructured.Unstructured) {
			object.SetOwnerReferences(nil)
		},
		"another Memcached's": func(w *env, object *unstructured.Unstructured) {
			other := w.memcached("other", 1)
			object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(other, cachev1alpha1.MemcachedKind)})
		},
		"that of an earlier Memcached of the same name": func(_ *env, object *unstructured.Unstructured) {
			control(object, "cache.example.com/v1alpha1", "Memcached", "cache", "6b8b4567-0000-4000-8000-000000000000")
		},
		"another controller's": func(_ *env, object *unstructured.Unstructured) {
			control(object, "v1", "ConfigMap", "elsewhere", "1")
		},
		"owned by us, but controlled by another owner": func(w *env, object *unstructured.Unstructured) {
			ours := *metav1.NewControllerRef(w.owner, cachev1alpha1.MemcachedKind)
			ours.Controller = nil
			control(object, "v1", "ConfigMap", "elsewhere", "1")
			object.SetOwnerReferences(append(object.GetOwnerReferences(), ours))
		},
		"has our controller reference but not our label": func(_ *env, object *unstructured.Unstructured) {
			relabel(object, render.ManagedByLabel, "")
		},
		"in another namespace": func(_ *env, object *unstructured.Unstructured) {
			object.SetNamespace("default")
			object.SetGenerateName("extra-")
			object.SetName("")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(text)
			change(w, object)
			object = w.create(apply.FieldManager, object)
			t.Cleanup(func() {
				_ = suite.admin.Delete(context.WithoutCancel(t.Context()), object)
			})
			w.settle(object)
			if pruned := w.prune(); pruned != nil {
				t.Errorf("pruned %v", pruned)
			}
			w.requests.mustBe(t, "pruning")
			w.mustBeUntouched(object)
		})
	}
}

// An object that is on its way out is not deleted again.
func TestPrune_DoesNotRepeatDeletion(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(`{apiVersion: v1, kind: ConfigMap}`)
	w.applied(object)
	w.update("someone", object, func(live *unstructured.Unstructured) { live.SetFinalizers([]string{"example.com/wait"}) })
	w.settle(object)
	if pruned := w.prune(); !slices.Equal(pruned, []string{"ConfigMap cache"}) {
		t.Errorf("pruned %v", pruned)
	}
	w.requests.mustBe(t, "at first", "delete configmaps/cache")
	w.settle(object)
	if pruned := w.prune(); pruned != nil {
		t.Errorf("pruned again: %v", pruned)
	}
	w.requests.mustBe(t, "while it goes")
}

// Between the look and the deletion, the object may go, and another take its name.
func TestPrune_DeletesOnlyObservedUID(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		between func(w *env, object *unstructured.Unstructured) (stranger *unstructured.Unstructured)
		sent    string
	}{
		"it goes": {
			func(w *env, object *unstructured.Unstructured) *unstructured.Unstructured {
				w.delete(object)
				return nil
			}, "delete configmaps/cache 404",
		},
		"it is replaced": {
			func(w *env, object *unstructured.Unstructured) *unstructured.Unstructured {
				w.delete(object)
				return w.create("someone", w.foreign(`{apiVersion: v1, kind: ConfigMap}`))
			}, "delete configmaps/cache 409",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(`{apiVersion: v1, kind: ConfigMap}`)
			w.applied(object)
			var stranger *unstructured.Unstructured
			w.requests.between("delete configmaps/cache", func() { stranger = test.between(w, object) })
			if pruned := w.prune(); pruned != nil {
				t.Errorf("pruned %v", pruned)
			}
			w.requests.mustBe(t, "pruning", test.sent)
			if stranger != nil {
				w.mustBeUntouched(stranger)
			}
		})
	}
}

func TestPrune_ReturnsErrors(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(`{apiVersion: v1, kind: ConfigMap}`)
	w.applied(object)

	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.requests.between("delete configmaps/cache", cancel)
	_, err := w.applier.Prune(cancelled, w.applier.Owner(w.owner), kinds, nil)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "pruning ConfigMap cache: ") {
		t.Errorf("got %v", err)
	}
	_, err = w.applier.Prune(t.Context(), w.applier.Owner(w.owner), []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "listing Secret objects: ") {
		t.Errorf("got %v: no informer may start by accident", err)
	}
	_, err = w.applier.Prune(t.Context(), w.applier.Owner(w.owner), []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Delete"}}, nil)
	if err == nil {
		t.Error("kinds without a list are pruned")
	}
	w.mustBeUntouched(w.live(object))
}
