// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// history holds every version of the Memcacheds and Deployments of a namespace, as a client
// of its own watches them.
type history struct {
	namespace string

	mu          sync.Mutex
	memcacheds  []*cachev1alpha1.Memcached
	deployments []*appsv1.Deployment
}

// record records the history of namespace from now on.
func record(t *testing.T, namespace string) *history {
	t.Helper()
	h := &history{namespace: namespace}
	watcher, err := client.NewWithWatch(suite.Config, client.Options{Scheme: suite.Client.Scheme()})
	testenv.NoError(t, err)
	for _, list := range []client.ObjectList{&cachev1alpha1.MemcachedList{}, &appsv1.DeploymentList{}} {
		w, err := watcher.Watch(t.Context(), list, client.InNamespace(namespace))
		testenv.NoError(t, err)
		t.Cleanup(w.Stop)
		go func() {
			for event := range w.ResultChan() {
				h.add(event)
			}
		}()
	}
	return h
}

func (h *history) add(event watch.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if event.Type == watch.Deleted {
		return // It shows the last version once more.
	}
	switch object := event.Object.(type) {
	case *cachev1alpha1.Memcached:
		h.memcacheds = append(h.memcacheds, object)
	case *appsv1.Deployment:
		h.deployments = append(h.deployments, object)
	}
}

// catchUp waits until the history has the present version of mc.
func (h *history) catchUp(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	eventually(t, "the history should have the last version", func(ctx context.Context) (bool, error) {
		now := &cachev1alpha1.Memcached{}
		if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), now); err != nil {
			return false, err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, version := range h.memcacheds {
			if version.ResourceVersion == now.ResourceVersion {
				return true, nil
			}
		}
		return false, nil
	})
}

// verify checks that no status is of a generation that its Memcached did not have, and that no
// Deployment went back to an earlier edit.
func (h *history) verify(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, mc := range h.memcacheds {
		if mc.Status.ObservedGeneration > mc.Generation {
			t.Errorf("%s: observedGeneration is %d at generation %d", h.namespace, mc.Status.ObservedGeneration, mc.Generation)
		}
		for _, c := range mc.Status.Conditions {
			if c.ObservedGeneration > mc.Generation {
				t.Errorf("%s: %s has observedGeneration %d at generation %d", h.namespace, c.Type, c.ObservedGeneration, mc.Generation)
			}
		}
	}
	last := 0
	for _, d := range h.deployments {
		now, err := strconv.Atoi(d.Spec.Template.Annotations[editAnnotation])
		if err != nil {
			t.Errorf("%s: the Deployment has no edit: %v", h.namespace, err)
			return
		}
		if now < last {
			t.Errorf("%s: the Deployment went from edit %d back to %d", h.namespace, last, now)
		}
		last = max(last, now)
	}
}

// createdFor returns the objects that o created in namespace for the Memcached of uid after
// that moment.
func createdFor(o *operator, namespace string, uid types.UID, after time.Time) []proxy.Request {
	return o.Requests(func(r *proxy.Request) bool {
		if r.Namespace != namespace || r.Status != http.StatusCreated || r.IsEvent() || !r.Received.After(after) {
			return false
		}
		for _, owner := range r.Object().OwnerReferences {
			if owner.UID == uid {
				return true
			}
		}
		return false
	})
}

// deletedIn returns the objects that o deleted in namespace.
func deletedIn(o *operator, namespace string) []proxy.Request {
	return o.Requests(func(r *proxy.Request) bool {
		return r.Namespace == namespace && r.Verb == "delete" && r.Succeeded()
	})
}

// notCreatedForDead checks that at most one object was created for the Memcached of uid after
// its deletion was answered.
func notCreatedForDead(t *testing.T, o *operator, namespace string, uid types.UID, answered time.Time) {
	t.Helper()
	if created := createdFor(o, namespace, uid, answered); len(created) > 1 {
		t.Errorf("%s: %d objects were created for a deleted Memcached", namespace, len(created))
		for _, r := range created {
			t.Logf("%s after the answer: %s", r.Received.Sub(answered), r.String())
		}
	}
}

// nothingDeleted checks that o deleted nothing in namespace.
func nothingDeleted(t *testing.T, o *operator, namespace string) {
	t.Helper()
	for _, r := range deletedIn(o, namespace) {
		t.Errorf("the operator deleted something: %s", r.String())
	}
}
