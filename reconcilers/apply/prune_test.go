// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// prune prunes all but desired and returns what was pruned, as "Kind name".
func (w *env) prune(desired ...*unstructured.Unstructured) []string {
	w.t.Helper()
	pruned, err := w.applier.Prune(w.t.Context(), w.applier.Owner(w.owner), kinds, w.desired(desired))
	testenv.NoError(w.t, err)
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
	if want := []string{
		"ConfigMap cache-a", "ConfigMap cache-b", "Gadget cache", "NetworkPolicy cache",
		"Role cache", "Service cache-c", "ServiceAccount cache", "Widget cache",
	}; !slices.Equal(pruned, want) {
		t.Errorf("pruned %v, want %v", pruned, want)
	}
	w.requests.mustBe(t, "once they are not rendered",
		"delete configmaps/cache-a", "delete configmaps/cache-b", "delete gadgets/cache", "delete networkpolicies/cache",
		"delete roles/cache", "delete serviceaccounts/cache", "delete services/cache-c", "delete widgets/cache")
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
	for sentence, changes := range map[string][]change{
		"nobody's, with our label":                       {uncontrolled},
		"another Memcached's":                            {controlledByOther},
		"that of an earlier Memcached of the same name":  {controlledByEarlier},
		"another controller's":                           {controlledByConfigMap},
		"owned by us, but controlled by another owner":   {controlledByConfigMap, owned},
		"has our controller reference but not our label": {unlabel},
		"in another namespace":                           {inAnotherNamespace},
	} {
		// The object of the Memcached's own name is read by another way than the others.
		for _, name := range []string{"extra", "cache"} {
			t.Run(sentence+", called "+name, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t)
				object := w.made(`{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `}}`)
				for _, change := range changes {
					change(w, object)
				}
				object = w.create(apply.FieldManager, object)
				t.Cleanup(func() {
					_ = suite.Client.Delete(context.WithoutCancel(t.Context()), object)
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
}

func uncontrolled(_ *env, object *unstructured.Unstructured) { object.SetOwnerReferences(nil) }

func unlabel(_ *env, object *unstructured.Unstructured) { relabel(object, render.ManagedByLabel, "") }

func inAnotherNamespace(_ *env, object *unstructured.Unstructured) {
	object.SetNamespace("default")
	object.SetGenerateName("extra-")
	object.SetName("")
}

// An object that is on its way out is not deleted again.
func TestPrune_DoesNotRepeatDeletion(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(`{apiVersion: v1, kind: ConfigMap}`)
	w.applied(object)
	patched(`add /metadata/finalizers ["example.com/wait"]`)(w, object)
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
		isReplaced bool
		sent       string
	}{
		"it goes":        {false, "delete configmaps/cache 404"},
		"it is replaced": {true, "delete configmaps/cache 409"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(`{apiVersion: v1, kind: ConfigMap}`)
			w.applied(object)
			var stranger *unstructured.Unstructured
			w.requests.between("delete configmaps/cache", func() {
				w.delete(object)
				if test.isReplaced {
					stranger = w.create("someone", w.foreign(`{apiVersion: v1, kind: ConfigMap}`))
				}
			})
			if pruned := w.prune(); pruned != nil {
				t.Errorf("pruned %v", pruned)
			}
			w.requests.mustBe(t, "pruning", test.sent)
			if test.isReplaced {
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
