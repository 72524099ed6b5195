// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

const (
	namespace = "shop"
	alpha     = "v1alpha1"
	beta      = "v1beta1"
)

var (
	added    = []version{{name: alpha, served: true, stored: true}, {name: beta, served: true}}
	stored   = []version{{name: alpha, served: true, deprecated: true}, {name: beta, served: true, stored: true}}
	unserved = []version{{name: alpha, deprecated: true}, {name: beta, served: true, stored: true}}
	removed  = []version{{name: beta, served: true, stored: true}}
)

// walk is the way through docs/crd-versions.md.
type walk struct {
	*reader
	// operators are programs by the version that they speak.
	operators map[string]string
	// deployment is the one of the Memcached that stays, before the first step.
	deployment *appsv1.Deployment
	// children are those of that Memcached, as they were last seen.
	children map[string]string
}

// TestVersions_AddStoreMigrateRemove is one test, since each step begins where the last one ended.
func TestVersions_AddStoreMigrateRemove(t *testing.T) {
	t.Parallel()
	w := walk{reader: newReader(t), operators: map[string]string{alpha: build(t, alpha), beta: build(t, beta)}}
	w.begins(t)
	w.adds(t)
	w.stores(t)
	w.stopsServing(t)
	w.migratesWithoutManagedFields(t)
	w.migrates(t)
	w.removes(t)
	w.findsLeftovers(t)
}

// begins creates what exists before: two Memcacheds that stay, one of them stalled, and one to be
// deleted in each step.
func (w *walk) begins(t *testing.T) {
	t.Helper()
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	// As if `make install` had installed the CRD, and not the control plane: force takes what it changes
	// from the other managers.
	w.releases(t, version{name: alpha, served: true, stored: true, deprecated: true})
	w.runs(t, "kubectl apply --server-side --force-conflicts -f "+crdFile)
	w.releases(t, version{name: alpha, served: true, stored: true})
	w.runs(t, "kubectl apply --server-side -f "+crdFile)

	stop := w.start(t, w.operators[alpha])
	testenv.NoError(t, w.Client.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stalled"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}))
	w.gitOps(t, alpha, "kept", `{"size":2,"podMetadata":{"annotations":{"example.com/a":"b"}}}`)
	names := []string{"deleted-1", "deleted-2", "deleted-3", "deleted-5", "orphan"}
	for _, name := range append(names, "stalled") {
		w.gitOps(t, alpha, name, `{"size":0}`)
	}
	w.ready(t, alpha, append(names, "kept")...)
	w.stalled(t, alpha, "stalled")
	stop()
	w.deployment = w.Deployment(t, namespace, "kept")
	w.children = w.childrenNow(t, "kept")
}

func (w *walk) adds(t *testing.T) {
	t.Helper()
	t.Log("1. Add v1beta1")
	stop := w.start(t, w.operators[alpha])
	w.releases(t, added...)
	w.does(t, "1", 0)
	testenv.Eventually(t, "both versions should be served", func() bool {
		output, err := w.tries(t, w.steps["1"][1])
		return err == nil && strings.Count(output, "memcached.cache.example.com/kept") == 2
	})
	w.collects(t, alpha, "deleted-1")
	stop()
	same(t, "the operator wrote nothing", w.children, w.childrenNow(t, "kept"))
}

func (w *walk) stores(t *testing.T) {
	t.Helper()
	t.Log("2. Store v1beta1, deprecate v1alpha1")
	stop := w.start(t, w.operators[alpha])
	w.releases(t, stored...)
	w.does(t, "2", 0)
	w.storedIn(t, alpha, beta)
	w.collects(t, beta, "deleted-2")
	if output := w.does(t, "2", 1); !strings.Contains(output, "Deployment shop/kept\n") || strings.Count(output, "shop/kept") != 3 {
		t.Errorf("the children that name v1alpha1 are:\n%s", output)
	}
	if output := w.runs(t, "kubectl get memcacheds.v1alpha1.cache.example.com -n shop"); !strings.Contains(output, "deprecated") {
		t.Errorf("no warning: %s", output)
	}
	if output := w.does(t, "2", 2); !strings.Contains(output, `version="v1alpha1"`) {
		t.Errorf("no metric: %s", output)
	}
	stop()
	// Children that no operator updates: what happens to one that was missed.
	w.forgotten(t, "orphan")
	w.forgotten(t, "kept")
	// The upgrade, back to the last release, and the upgrade again.
	w.speaks(t, beta, 0)
	w.speaks(t, alpha, 3)
	w.speaks(t, beta, 0)
	w.children = w.childrenNow(t, "kept")
}

// speaks runs an operator of that version until so many children of the Memcached that
// stays name v1alpha1, and tells that none of its pods was touched.
func (w *walk) speaks(t *testing.T, version string, left int) {
	t.Helper()
	stop := w.start(t, w.operators[version])
	testenv.Eventually(t, "the children should name "+version, func() bool {
		output := w.does(t, "2", 1)
		return strings.Count(output, "shop/kept") == left && (left > 0 || output == "")
	})
	w.ready(t, beta, "kept")
	stop()
	w.podsAreUntouched(t)
}

func (w *walk) stopsServing(t *testing.T) {
	t.Helper()
	t.Log("3. Stop serving v1alpha1")
	w.releases(t, unserved...)
	w.does(t, "3", 0)
	testenv.Eventually(t, "v1alpha1 should not be served", func() bool {
		_, err := w.tries(t, "kubectl get memcacheds.v1alpha1.cache.example.com -n shop")
		return err != nil
	})
	stop := w.start(t, w.operators[beta])
	w.collectorLooks(t)
	w.collects(t, beta, "deleted-3")
	w.collects(t, beta, "orphan")
	w.collectorLooks(t)
	stop()
	for owner, why := range map[string]string{"orphan": "is not collected", "kept": "is not deleted while its owner lives"} {
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "forgotten-" + owner}, &corev1.ConfigMap{}); err != nil {
			t.Errorf("a child that names a version that is not served %s, the page says: %v", why, err)
		}
	}
}

// migratesWithoutManagedFields does what the page warns of, and goes back a step.
func (w *walk) migratesWithoutManagedFields(t *testing.T) {
	t.Helper()
	t.Log("What comes of a migration without managedFields")
	w.releases(t, removed...)
	if output, err := w.tries(t, w.steps["5"][0]); err == nil || !strings.Contains(output, "must remain in spec.versions until a storage migration") {
		t.Errorf("v1alpha1 is removed while it is stored: %v\n%s", err, output)
	}
	w.runs(t, "kubectl get memcacheds -A -o yaml | kubectl replace -f -")
	w.does(t, "4", 2)
	w.does(t, "5", 0)
	testenv.Eventually(t, "server-side apply should fail", func() bool {
		output, err := w.tries(t, manifest(beta, "kept", `{"size":2}`))
		return err != nil && strings.Contains(output, "request to convert CR to an invalid group/version")
	})
	w.releases(t, unserved...)
	w.does(t, "5", 0)
}

func (w *walk) migrates(t *testing.T) {
	t.Helper()
	t.Log("4. Migrate what is stored")
	if output := w.does(t, "4", 1); output == "" {
		t.Error("nothing is to be migrated; then this proves nothing")
	}
	stop := w.start(t, w.operators[beta])
	testenv.Eventually(t, "nothing should be left to migrate", func() bool {
		w.does(t, "4", 0)
		return w.does(t, "4", 1) == ""
	})
	versions := w.resourceVersions(t)
	if output := w.does(t, "4", 0); output != "" {
		t.Errorf("it prints %s", output)
	}
	same(t, "a second time writes nothing", versions, w.resourceVersions(t))
	w.does(t, "4", 2)
	w.storedIn(t, beta)
	stop()
}

func (w *walk) removes(t *testing.T) {
	t.Helper()
	t.Log("5. Remove v1alpha1")
	w.releases(t, removed...)
	w.does(t, "5", 0)
	if output := w.does(t, "5", 1); !strings.Contains(output, "kept") {
		t.Errorf("the Memcacheds are:\n%s", output)
	}
	versions := w.resourceVersions(t)
	stop := w.start(t, w.operators[beta])
	w.gitOps(t, beta, "new", `{"size":0}`)
	w.ready(t, beta, "new")
	after := w.resourceVersions(t)
	delete(after, "new")
	same(t, "the operator writes nothing", versions, after)
	same(t, "no child was written since step 2", w.children, w.childrenNow(t, "kept"))
	w.podsAreUntouched(t)
	w.collects(t, beta, "deleted-5")
	// Both field managers give up what they no longer say: Stalled, and podMetadata.
	w.Delete(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stalled"}})
	w.gitOps(t, beta, "stalled", `{"size":1}`)
	w.ready(t, beta, "stalled")
	if mc := w.memcached(t, beta, "stalled"); condition(mc, "Stalled") != nil {
		t.Errorf("Stalled stays: %v", mc.Object["status"])
	}
	w.gitOps(t, beta, "kept", `{"size":2}`)
	if spec, _, _ := unstructured.NestedMap(w.memcached(t, beta, "kept").Object, "spec"); spec["podMetadata"] != nil {
		t.Errorf("podMetadata stays: %v", spec)
	}
	w.ready(t, beta, "kept")
	stop()
}

func (w *walk) podsAreUntouched(t *testing.T) {
	t.Helper()
	same(t, "no pod was touched", template(w.deployment), template(w.Deployment(t, namespace, "kept")))
}
