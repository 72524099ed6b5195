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
	"github.com/example/memcached-operator/test/testenv"
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
	*testenv.Env
	proxy *proxy
	// operator is the operator's identity, whose requests go through the proxy.
	operator *rest.Config
}

// newEnv starts an env, until the test ends.
func newEnv(t *testing.T) *env {
	t.Helper()
	shared := testenv.New(t, testenv.Setup{Identity: true})
	p := newProxy(t, shared.Config)
	e := &env{Env: shared, proxy: p, operator: p.through(shared.Operator)}
	for i := range namespaces {
		e.createNamespace(t, namespaceOf(i))
	}
	e.createNamespace(t, newNamespace)
	return e
}

func (e *env) createNamespace(t *testing.T, name string) {
	t.Helper()
	testenv.NoError(t, e.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// namespaceOf returns the namespace of Memcached i.
func namespaceOf(i int) string { return fmt.Sprintf("scale-%d", i%namespaces) }

// createMemcacheds creates count Memcacheds.
func (e *env) createMemcacheds(t *testing.T, count int) []*cachev1alpha1.Memcached {
	t.Helper()
	created := make([]*cachev1alpha1.Memcached, count)
	testenv.NoError(t, inParallel(count, func(i int) error {
		created[i] = testenv.Memcached(namespaceOf(i), fmt.Sprintf("cache-%d", i), 0)
		return e.Client.Create(t.Context(), created[i])
	}))
	return created
}

// checkReady fails unless there are count Memcacheds and all of them are ready.
func (e *env) checkReady(t *testing.T, count int) {
	t.Helper()
	list := &cachev1alpha1.MemcachedList{}
	testenv.NoError(t, e.Client.List(t.Context(), list))
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
	testenv.NoError(t, err)
	return watcher
}
