// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

func TestHidden_TransientEvents(t *testing.T) {
	figure := measure(t, "R3 hidden events, then a new list: same end state")
	o := startOperator(t)
	hidden := 0
	for _, resource := range watched {
		for _, kind := range []string{"ADDED", "MODIFIED", "DELETED"} {
			if testing.Short() && !slices.Contains(shortHidden, resource+"/"+kind) {
				continue
			}
			t.Run(resource+"/"+kind, func(t *testing.T) {
				hiddenEvent(t, o, resource, kind)
				hidden++
			})
		}
	}
	figure.set("%d events hidden", hidden)
}

// shortHidden are the events that the short form hides.
var shortHidden = []string{"memcacheds/ADDED", "memcacheds/DELETED", "deployments/MODIFIED", "services/DELETED"}

// hiddenEvent hides one event of a Memcached's life, as a client misses it whose watch has to
// be started anew.
func hiddenEvent(t *testing.T, o *operator, resource, kind string) {
	namespace := suite.NewNamespace(t)
	h := record(t, namespace)
	hidden := &atomic.Bool{}
	hide := func() {
		o.Hide(func(e proxy.Event) bool {
			return e.Resource == resource && e.Type == kind && e.Object.Namespace == namespace && hidden.CompareAndSwap(false, true)
		})
	}
	t.Cleanup(func() { o.Hide(nil) })
	missed := func() {
		eventually(t, "an event should be hidden", func(context.Context) (bool, error) { return hidden.Load(), nil })
		watches := func() int {
			return len(o.Requests(func(r *proxy.Request) bool { return r.Verb == "watch" && r.Resource == resource }))
		}
		before := watches()
		o.Expire(resource)
		// Until then the client waits, and what happens comes to it as part of a list.
		eventually(t, "the watch should be started again", func(context.Context) (bool, error) { return watches() > before, nil })
	}
	if kind == "ADDED" {
		hide()
		mc := newMemcached(t, namespace, specOf(1))
		missed()
		finish(t, o, h, mc)
		return
	}
	mc := newMemcached(t, namespace, specOf(1))
	settled(t, mc)
	hide()
	switch {
	case kind == "MODIFIED":
		editTo(t, mc, 2)
	case resource == "memcacheds":
		remove(t, mc)
		mc = newMemcached(t, namespace, specOf(2))
	default:
		removeOne(t, namespace, resource)
	}
	missed()
	finish(t, o, h, mc)
}

// finish waits until mc is as a fresh one, and checks what came before.
func finish(t *testing.T, o *operator, h *history, mc *cachev1alpha1.Memcached) {
	t.Helper()
	equalsFresh(t, o, mc)
	h.catchUp(t, mc)
	h.verify(t)
}

// removeOne deletes an object of resource in namespace, as another client does.
func removeOne(t *testing.T, namespace, resource string) {
	t.Helper()
	for _, kind := range append([]schema.GroupVersionKind{pod}, childKinds...) {
		if resourceOf(kind.Kind) != resource {
			continue
		}
		objects, err := list(t.Context(), namespace, kind)
		testenv.NoError(t, err)
		if len(objects) == 0 {
			t.Fatalf("there are no %s", resource)
		}
		testenv.NoError(t, suite.Client.Delete(t.Context(), &objects[0], client.PropagationPolicy(metav1.DeletePropagationBackground)))
		replaced(t, namespace, &objects[0])
	}
}

// replaced waits until object is gone; what has its name later is another one.
func replaced(t *testing.T, namespace string, object *unstructured.Unstructured) {
	t.Helper()
	eventually(t, object.GetKind()+" "+object.GetName()+" should be gone", func(ctx context.Context) (bool, error) {
		objects, err := list(ctx, namespace, object.GroupVersionKind())
		for _, other := range objects {
			if other.GetUID() == object.GetUID() {
				return false, err
			}
		}
		return err == nil, err
	})
}

// resourceOf returns the resource of one of the kinds of this suite.
func resourceOf(kind string) string {
	name := strings.ToLower(kind)
	if rest, ok := strings.CutSuffix(name, "y"); ok {
		return rest + "ies"
	}
	return name + "s"
}
