// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

// staleReader reads through live until it is frozen, and from then on what live showed.
type staleReader struct {
	live   client.Reader
	frozen map[schema.GroupKind]toolscache.Indexer
	// isFrozen is read by the handlers of watch events too.
	isFrozen atomic.Bool
}

// freeze makes the operator's cache show what it shows now, for the kinds to apply.
func (w *env) freeze() {
	w.t.Helper()
	frozen := map[schema.GroupKind]toolscache.Indexer{}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		testenv.NoError(w.t, suite.Client.List(w.t.Context(), list, client.InNamespace(w.namespace)))
		indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, apply.OwnerIndexers)
		for _, item := range list.Items {
			object, err := apply.NewCached(suite.scheme, kind)
			testenv.NoError(w.t, err)
			err = suite.cache.Get(w.t.Context(), client.ObjectKeyFromObject(&item), object)
			testenv.NoError(w.t, client.IgnoreNotFound(err))
			if err == nil {
				testenv.NoError(w.t, indexer.Add(object))
			}
		}
		frozen[kind.GroupKind()] = indexer
	}
	w.cache.frozen = frozen
	w.cache.isFrozen.Store(true)
}

// Get implements client.Reader.
func (r *staleReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if r.frozen == nil {
		return r.live.Get(ctx, key, object, options...)
	}
	kind, err := apiutil.GVKForObject(object, suite.scheme)
	if err != nil {
		return err
	}
	cached, exists, err := r.frozen[kind.GroupKind()].GetByKey(key.String())
	if err != nil {
		return err
	}
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(cached.(client.Object).DeepCopyObject()).Elem())
	return nil
}

// List implements client.Reader, for the one index that the operator reads.
func (r *staleReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if r.frozen == nil {
		return r.live.List(ctx, list, options...)
	}
	kind, err := apiutil.GVKForObject(list, suite.scheme)
	if err != nil {
		return err
	}
	var selected client.ListOptions
	selected.ApplyOptions(options)
	owner, _ := selected.FieldSelector.RequiresExactMatch(apply.OwnerIndex)
	kind.Kind = kind.Kind[:len(kind.Kind)-len("List")]
	cached, err := r.frozen[kind.GroupKind()].ByIndex("field:"+apply.OwnerIndex, selected.Namespace+"/"+owner)
	if err != nil {
		return err
	}
	objects := make([]runtime.Object, len(cached))
	for i, object := range cached {
		objects[i] = object.(runtime.Object).DeepCopyObject()
	}
	return meta.SetList(list, objects)
}

// The objects have the name of the owner, by which they are looked up, and another one, by which they are not.
var extras = map[string]string{
	"of the owner's name": `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}`,
	"of another name":     `{apiVersion: v1, kind: ConfigMap, metadata: {name: cache-a}}`,
	"a custom resource":   `{apiVersion: test.example.com/v1, kind: Widget, metadata: {name: cache-a}}`,
}

func TestPrune_CacheIsOutOfDate(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]func(w *env, extra *unstructured.Unstructured){
		"deletes an object once that the cache still shows": func(w *env, extra *unstructured.Unstructured) {
			w.applied(extra)
			w.freeze()
			w.mustPrune(extra)
			w.mustPrune()
			w.mustPrune()
		},
		"sends one request for an object that another client deleted": func(w *env, extra *unstructured.Unstructured) {
			w.applied(extra)
			w.freeze()
			suite.Delete(w.t, extra.DeepCopy())
			w.prune()
			if sent := w.requests.take(); len(sent) != 1 {
				w.t.Errorf("sent %v", sent)
			}
			w.mustPrune()
		},
		"deletes an object that the cache does not show yet": func(w *env, extra *unstructured.Unstructured) {
			w.freeze()
			w.apply("at first", apply.Created, extra)
			w.requests.take()
			w.mustPrune(extra)
			w.mustPrune()
			w.mustBeGone(extra)
		},
		"keeps an object that the cache does not show yet": func(w *env, extra *unstructured.Unstructured) {
			w.freeze()
			w.apply("at first", apply.Created, extra)
			w.requests.take()
			if pruned := w.prune(extra); pruned != nil {
				w.t.Errorf("pruned %v", pruned)
			}
			w.requests.mustBe(w.t, "while it is rendered")
		},
	} {
		for kind, text := range extras {
			t.Run(sentence+", "+kind, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t)
				test(w, w.made(text))
			})
		}
	}
}

// mustPrune prunes all and checks that just objects are deleted, with a request for each.
func (w *env) mustPrune(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	var names []string
	for _, object := range objects {
		names = append(names, object.GetKind()+" "+object.GetName())
	}
	if pruned := w.prune(); !slices.Equal(pruned, names) {
		w.t.Errorf("pruned %v, want %v", pruned, names)
	}
	if sent := w.requests.take(); len(sent) != len(objects) {
		w.t.Errorf("sent %v to delete %v", sent, names)
	}
}

func TestApply_ObjectDeletedThatCacheShows(t *testing.T) {
	t.Parallel()
	for kind, text := range extras {
		for sentence, test := range map[string]struct {
			finalizers []string
			want       apply.Action
		}{
			"is created again":                    {want: apply.Created},
			"is waited for if finalizers keep it": {finalizers: []string{"example.com/keep"}, want: apply.Waiting},
		} {
			t.Run(kind+" "+sentence, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t)
				extra := w.made(text)
				w.applied(extra)
				live := extra.DeepCopy()
				testenv.NoError(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(live), live))
				live.SetFinalizers(test.finalizers)
				testenv.NoError(t, suite.Client.Update(t.Context(), live))
				t.Cleanup(func() {
					live := extra.DeepCopy()
					if err := suite.Client.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(live), live); err == nil {
						live.SetFinalizers(nil)
						testenv.NoError(t, suite.Client.Update(context.WithoutCancel(t.Context()), live))
					}
				})
				w.freeze()
				w.mustPrune(extra)
				w.apply("rendered again", test.want, extra)
			})
		}
	}
}

// The API server that the cache lists from lags behind: it shows an object that is being deleted and was created again since.
func TestApply_CacheShowsWhatWasDeleted(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(extras["of another name"])
	held := object.DeepCopy()
	held.SetFinalizers([]string{"example.com/held"})
	w.applied(held)
	w.delete(object)
	w.settle(object)
	w.apply("while it is being deleted", apply.Waiting, object)
	w.freeze()
	w.update("test", object, func(live *unstructured.Unstructured) { live.SetFinalizers(nil) })
	w.apply("once it is gone", apply.Created, object)
	w.restart()
	w.requests.take()
	if result := w.apply("after a restart", apply.Unchanged, object)[0]; !result.NotYetCached || result.Live.GetDeletionTimestamp() != nil {
		t.Errorf("it is seen as %v", result.Live)
	}
	if sent := w.requests.take(); len(sent) != 1 {
		t.Errorf("sent %v", sent)
	}
}

// An event that comes while a write is in progress may be the reversal of it.
func TestPendingWrites_IsPendingDuringAWrite(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	object := w.made(extras["of another name"])
	inProgress := false
	testenv.NoError(t, w.pending.Write(object, func() (client.Object, error) {
		inProgress = w.pending.IsPending(object)
		return nil, nil
	}))
	if !inProgress || w.pending.IsPending(object) {
		t.Errorf("pending during the write: %v, afterwards: %v", inProgress, w.pending.IsPending(object))
	}
}
