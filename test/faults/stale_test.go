// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// watched are the resources that the operator watches for the Memcacheds of this suite.
var watched = []string{"memcacheds", "deployments", "services", "poddisruptionbudgets", "networkpolicies", "pods"}

// calmFor is how long the operator has to have written nothing before a scenario goes on.
const calmFor = time.Second

func TestStale_FrozenWatch(t *testing.T) {
	figure := measure(t, "R2 frozen watch: no child of a dead Memcached, no older generation, no wrong delete")
	o := startOperator(t)
	scenarios := 0
	for _, resource := range watched {
		for name, scenario := range map[string]func(*testing.T, *operator, string){
			"edit": frozenEdit, "delete": frozenDelete, "re-create": frozenRecreate, "toggle": frozenToggle,
		} {
			if testing.Short() && resource != "memcacheds" && !slices.Contains(shortFrozen, resource+"/"+name) {
				continue
			}
			t.Run(resource+"/"+name, func(t *testing.T) {
				t.Cleanup(o.Thaw)
				scenario(t, o, resource)
			})
			scenarios++
		}
	}
	figure.set("%d scenarios", scenarios)
}

// shortFrozen are the scenarios, beside those of Memcacheds, that the short form has.
var shortFrozen = []string{"deployments/re-create", "networkpolicies/toggle"}

// frozenToggle adds and removes the network policy while a watch is frozen, so that the cache shows neither
// the creation nor the deletion.
func frozenToggle(t *testing.T, o *operator, resource string) {
	namespace := suite.NewNamespace(t)
	h := record(t, namespace)
	without := specOf(1)
	without.NetworkPolicy = nil
	mc := newMemcached(t, namespace, without)
	settled(t, mc)
	policies := func(n int) {
		t.Helper()
		if resource == "memcacheds" { // The operator sees no edit.
			heldBack(t, o, resource)
			return
		}
		eventually(t, fmt.Sprintf("there should be %d network policies", n), func(ctx context.Context) (bool, error) {
			objects, err := list(ctx, namespace, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
			return len(objects) == n, err
		})
	}
	o.Freeze(resource)
	editTo(t, mc, 1)
	policies(1)
	edit(t, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = nil })
	policies(0)
	editTo(t, mc, 1)
	policies(1)
	edit(t, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = nil })
	policies(0)
	o.quiet(t, namespace, calmFor)
	o.Thaw()
	equalsFresh(t, o, mc)
	h.catchUp(t, mc)
	h.verify(t)
}

// frozenEdit edits a Memcached while a watch is frozen, and has the operator look at it.
func frozenEdit(t *testing.T, o *operator, resource string) {
	namespace := suite.NewNamespace(t)
	h := record(t, namespace)
	mc := newMemcached(t, namespace, specOf(1))
	settled(t, mc)
	o.Freeze(resource)
	editTo(t, mc, 2)
	if resource == "memcacheds" {
		heldBack(t, o, resource)
		// The deletion wakes the operator, whose Memcached is old.
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mc.Name}}
		testenv.NoError(t, suite.Client.Delete(t.Context(), service))
	} else {
		deploymentShows(t, mc, 2)
	}
	editTo(t, mc, 3)
	if resource != "memcacheds" {
		deploymentShows(t, mc, 3)
	}
	o.quiet(t, namespace, calmFor)
	o.Thaw()
	equalsFresh(t, o, mc)
	h.catchUp(t, mc)
	h.verify(t)
	nothingDeleted(t, o, namespace)
}

// frozenDelete deletes a Memcached while a watch is frozen.
func frozenDelete(t *testing.T, o *operator, resource string) {
	namespace := suite.NewNamespace(t)
	h := record(t, namespace)
	mc := newMemcached(t, namespace, specOf(1))
	settled(t, mc)
	o.Freeze(resource)
	answered := remove(t, mc)
	emptied(t, namespace)
	o.quiet(t, namespace, calmFor)
	o.Thaw()
	o.quiet(t, namespace, calmFor)
	emptied(t, namespace)
	notCreatedForDead(t, o, namespace, mc.UID, answered)
	h.verify(t)
	nothingDeleted(t, o, namespace)
}

// frozenRecreate replaces a Memcached by another one of its name while a watch is frozen.
func frozenRecreate(t *testing.T, o *operator, resource string) {
	namespace := suite.NewNamespace(t)
	h := record(t, namespace)
	mc := newMemcached(t, namespace, specOf(1))
	settled(t, mc)
	editTo(t, mc, 2)
	editTo(t, mc, 3)
	settled(t, mc)
	o.Freeze(resource)
	answered := remove(t, mc)
	next := newMemcached(t, namespace, specOf(4))
	switch resource {
	case "memcacheds":
		heldBack(t, o, resource)
	case "deployments":
		// The cached one is its predecessor's.
	default:
		deploymentShows(t, next, 4)
	}
	o.quiet(t, namespace, calmFor)
	o.Thaw()
	equalsFresh(t, o, next)
	notCreatedForDead(t, o, namespace, mc.UID, answered)
	h.catchUp(t, next)
	h.verify(t)
	nothingDeleted(t, o, namespace)
}

// heldBack waits until the proxy holds an event of resource.
func heldBack(t *testing.T, o *operator, resource string) {
	t.Helper()
	eventually(t, "the proxy should hold an event", func(context.Context) (bool, error) { return o.Holds(resource), nil })
}

// emptied waits until namespace is empty.
func emptied(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the namespace should be empty", func(ctx context.Context) (bool, error) { return isEmpty(ctx, namespace) })
}

func TestStale_Lists(t *testing.T) {
	figure := measure(t, "R2 restart on stale lists: nothing goes back, no wrong delete")
	scenarios := 0
	stale := [][]string{watched}
	for _, resource := range form(watched, nil) {
		stale = append(stale, []string{resource})
	}
	o := startOperator(t)
	for _, resources := range stale {
		name := resources[0]
		if len(resources) > 1 {
			name = "all"
		}
		t.Run(name, func(t *testing.T) {
			for _, isReplaced := range []bool{false, true} {
				staleRestart(t, o, resources, isReplaced)
				scenarios++
			}
		})
	}
	figure.set("%d restarts", scenarios)
}

// staleRestart restarts the operator on lists from before three edits, or from before the
// Memcached was replaced.
func staleRestart(t *testing.T, o *operator, resources []string, isReplaced bool) {
	t.Cleanup(o.Thaw)
	namespace := suite.NewNamespace(t)
	h := record(t, namespace)
	first := specOf(1)
	first.NetworkPolicy = nil
	mc := newMemcached(t, namespace, first)
	settled(t, mc)
	dead, answered := mc.UID, time.Now()
	version := mc.ResourceVersion
	if isReplaced {
		answered = remove(t, mc)
		mc = newMemcached(t, namespace, specOf(2))
		settled(t, mc)
	}
	editTo(t, mc, 3)
	settled(t, mc)
	editTo(t, mc, 4)
	settled(t, mc)
	o.process.Kill()
	o.FreezeAt(version, resources...)
	o.restart()
	o.process.Ready(t)
	o.quiet(t, namespace, calmFor)
	o.Thaw()
	equalsFresh(t, o, mc)
	h.catchUp(t, mc)
	h.verify(t)
	nothingDeleted(t, o, namespace)
	if isReplaced {
		notCreatedForDead(t, o, namespace, dead, answered)
	}
}

func TestStale_DeletedDuringReconcile(t *testing.T) {
	for name, test := range map[string]struct {
		hooks func(remove func(*proxy.Request)) proxy.Hooks
		// most is how many objects may be created after the deletion was answered.
		most int
	}{
		"after the first object: at most the others written concurrently": {
			hooks: func(remove func(*proxy.Request)) proxy.Hooks { return proxy.Hooks{After: remove} },
			most:  2,
		},
		"between the read and the writes: at most the objects written concurrently": {
			hooks: func(remove func(*proxy.Request)) proxy.Hooks { return proxy.Hooks{AfterGet: remove} },
			most:  3,
		},
	} {
		t.Run(name, func(t *testing.T) { deletedDuringReconcile(t, name, test.hooks, test.most) })
	}
}

func deletedDuringReconcile(t *testing.T, moment string, hooks func(func(*proxy.Request)) proxy.Hooks, most int) {
	figure := measure(t, "R2 deleted "+moment)
	o := startOperator(t)
	namespace := suite.NewNamespace(t)
	spec := specOf(1)
	spec.NetworkPolicy = nil
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"}, Spec: spec}
	answered := make(chan time.Time, 1)
	var once sync.Once
	ctx := context.WithoutCancel(t.Context())
	o.SetHooks(hooks(func(r *proxy.Request) {
		if r.Namespace != namespace || !r.Succeeded() || r.IsEvent() {
			return
		}
		once.Do(func() {
			if err := suite.Client.Delete(ctx, mc); err != nil {
				t.Error(err)
			}
			answered <- time.Now()
		})
	}))
	testenv.NoError(t, suite.Client.Create(t.Context(), mc))
	var deleted time.Time
	eventually(t, "the Memcached should be deleted during its first reconcile", func(context.Context) (bool, error) {
		select {
		case deleted = <-answered:
			return true, nil
		default:
			return false, nil
		}
	})
	emptied(t, namespace)
	o.quiet(t, namespace, calmFor)
	emptied(t, namespace)
	created := createdFor(o, namespace, mc.UID, deleted)
	figure.set("%d objects after the answer", len(created))
	if len(created) > most {
		t.Errorf("%d objects were created for a deleted Memcached, want at most %d", len(created), most)
	}
	for _, r := range created {
		t.Logf("%s after the answer: %s", r.Received.Sub(deleted), r.String())
	}
}
