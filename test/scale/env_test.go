// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
)

const (
	// namespaces is how many namespaces the Memcacheds are spread over, as those of several
	// tenants are: of one namespace the operator reconciles no more than 6 at a time.
	namespaces = 10
	// newNamespace holds the Memcacheds that are created while something is measured.
	newNamespace = "scale-new"
)

// env is a control plane with controllers and a simulated node. What the operator sends goes
// through a proxy.
type env struct {
	*controlplane.ControlPlane
	proxy *proxy
	// operator is the operator's identity, with the roles that `make deploy` gives it.
	operator *rest.Config
}

// newEnv starts an env, until the test ends.
func newEnv(t *testing.T) *env {
	t.Helper()
	plane, err := controlplane.Start()
	fatal(t, err)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	identity, err := plane.OperatorConfig(t.Context())
	fatal(t, err)
	p := newProxy(t, plane.Config)
	e := &env{ControlPlane: plane, proxy: p, operator: p.through(identity)}
	for i := range namespaces {
		e.createNamespace(t, namespaceOf(i))
	}
	e.createNamespace(t, newNamespace)
	return e
}

func (e *env) createNamespace(t *testing.T, name string) {
	t.Helper()
	fatal(t, e.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// namespaceOf returns the namespace of Memcached i.
func namespaceOf(i int) string { return fmt.Sprintf("scale-%d", i%namespaces) }

// memcached returns a Memcached of size 0: its children are all there, and no pod.
func memcached(namespace, name string) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0))},
	}
}

// createMemcacheds creates count Memcacheds.
func (e *env) createMemcacheds(t *testing.T, count int) []*cachev1alpha1.Memcached {
	t.Helper()
	created := make([]*cachev1alpha1.Memcached, count)
	fatal(t, inParallel(count, func(i int) error {
		created[i] = memcached(namespaceOf(i), fmt.Sprintf("cache-%d", i))
		return e.Client.Create(t.Context(), created[i])
	}))
	return created
}

// checkReady fails unless there are count Memcacheds and all of them are ready.
func (e *env) checkReady(t *testing.T, count int) {
	t.Helper()
	list := &cachev1alpha1.MemcachedList{}
	fatal(t, e.Client.List(t.Context(), list))
	ready := 0
	for _, mc := range list.Items {
		c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		if c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == mc.Generation {
			ready++
		}
	}
	if ready != count {
		t.Fatalf("%d Memcacheds are ready, want %d", ready, count)
	}
}

// metadataList returns an empty list of the metadata of objects of kind.
func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

// watcher returns the administrator's client for watches.
func (e *env) watcher(t *testing.T) client.WithWatch {
	t.Helper()
	watcher, err := client.NewWithWatch(e.Config, client.Options{Scheme: e.Client.Scheme()})
	fatal(t, err)
	return watcher
}
