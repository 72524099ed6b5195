// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// gitOps applies a Memcached as a GitOps tool does.
func (r *reader) gitOps(t *testing.T, version, name, spec string) {
	t.Helper()
	r.runs(t, manifest(version, name, spec))
}

func manifest(version, name, spec string) string {
	return `kubectl apply --server-side --field-manager=gitops -f - <<'END'
{"apiVersion":"cache.example.com/` + version + `","kind":"Memcached","metadata":{"namespace":"` + namespace + `","name":"` + name + `"},"spec":` + spec + `}
END`
}

func (r *reader) memcached(t *testing.T, version, name string) *unstructured.Unstructured {
	t.Helper()
	mc := &unstructured.Unstructured{}
	mc.SetGroupVersionKind(schema.GroupVersionKind{Group: "cache.example.com", Version: version, Kind: "Memcached"})
	testenv.Eventually(t, "the Memcached should be readable", func() bool {
		return r.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, mc) == nil
	})
	return mc
}

// condition is the condition of a kind; nil when there is none.
func condition(mc *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(mc.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return nil
}

func (r *reader) ready(t *testing.T, version string, names ...string) {
	t.Helper()
	for _, name := range names {
		testenv.Eventually(t, name+" should be ready", func() bool {
			mc := r.memcached(t, version, name)
			c := condition(mc, "Ready")
			return c != nil && c["status"] == "True" && c["observedGeneration"] == mc.GetGeneration()
		})
	}
}

func (r *reader) stalled(t *testing.T, version, name string) {
	t.Helper()
	testenv.Eventually(t, name+" should be stalled", func() bool { return condition(r.memcached(t, version, name), "Stalled") != nil })
}

// template is what the pods of a Deployment depend on.
func template(d *appsv1.Deployment) map[string]string {
	return map[string]string{"uid": string(d.UID), "template": d.Spec.Template.String()}
}

// childrenNow are the resourceVersions of the children of a Memcached that only the operator writes.
func (r *reader) childrenNow(t *testing.T, name string) map[string]string {
	t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	r.Get(t, s)
	return map[string]string{"Service": s.ResourceVersion}
}

func (r *reader) resourceVersions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for line := range strings.Lines(r.runs(t, "kubectl get memcacheds -n shop --no-headers -o custom-columns=N:.metadata.name,V:.metadata.resourceVersion")) {
		fields := strings.Fields(line)
		versions[fields[0]] = fields[1]
	}
	return versions
}

func same(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("%s, the page says: %s was %s and is %s", what, key, want[key], got[key])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s, the page says: %v, not %v", what, got, want)
	}
}

// storedIn waits until these are the versions something may be stored in.
func (r *reader) storedIn(t *testing.T, want ...string) {
	t.Helper()
	testenv.Eventually(t, "status.storedVersions should be "+strings.Join(want, " and "), func() bool {
		output := r.runs(t, "kubectl get customresourcedefinition memcacheds.cache.example.com -o jsonpath='{.status.storedVersions[*]}'")
		return slices.Equal(strings.Fields(output), want)
	})
}

// collects deletes a Memcached and waits until its children are gone.
func (r *reader) collects(t *testing.T, version, name string) {
	t.Helper()
	r.Delete(t, r.memcached(t, version, name))
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: name}
	r.EventuallyGone(t, &appsv1.Deployment{ObjectMeta: metadata})
	r.EventuallyGone(t, &corev1.Service{ObjectMeta: metadata})
}

// collectorLooks waits until the garbage collector has looked which kinds and versions there are, which it does every 30 s:
// until it knows a new kind, an object of which it deletes since its owner does not exist.
func (r *reader) collectorLooks(t *testing.T) {
	t.Helper()
	r.canaries++
	kind := fmt.Sprintf("Canary%d", r.canaries)
	testenv.NoError(t, r.ApplyYAML(t.Context(), testenv.CustomResource("test.example.com", kind, "Namespaced", "type: object")))
	canary := &unstructured.Unstructured{}
	canary.SetGroupVersionKind(schema.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: kind})
	canary.SetNamespace(namespace)
	canary.SetName("canary")
	canary.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "absent", UID: "absent"}})
	testenv.Eventually(t, "the new kind should be served", func(ctx context.Context) (bool, error) {
		err := r.Client.Create(ctx, canary)
		return err == nil, client.IgnoreNotFound(ignoreNoMatch(err))
	})
	testenv.Within(t, testenv.Timeout+time.Minute, "the garbage collector should look at the kinds", func(ctx context.Context) (bool, error) {
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(canary), canary)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func ignoreNoMatch(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// forgotten makes a child of a Memcached that names v1alpha1 and that no operator updates.
func (r *reader) forgotten(t *testing.T, owner string) {
	t.Helper()
	mc := r.memcached(t, alpha, owner)
	testenv.NoError(t, r.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "forgotten-" + owner,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(mc, schema.GroupVersionKind{Group: "cache.example.com", Version: alpha, Kind: "Memcached"})},
	}}))
}

// findsLeftovers tells that objects are known as leftovers whichever version their owner had.
func (r *reader) findsLeftovers(t *testing.T) {
	t.Helper()
	cfg := rest.CopyConfig(r.Config)
	cfg.WarningHandler = rest.NoWarnings{}
	clients, err := kubernetes.NewForConfig(cfg)
	testenv.NoError(t, err)
	objects, err := metadata.NewForConfig(cfg)
	testenv.NoError(t, err)
	for _, version := range []string{alpha, beta} {
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "leftover", Labels: map[string]string{render.ManagedByLabel: render.ManagedBy},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "cache.example.com/" + version, Kind: cachev1alpha1.MemcachedKind.Kind, Name: "kept",
				UID: r.memcached(t, beta, "kept").GetUID(), Controller: new(true),
			}},
		}}
		r.Create(t, child)
		stale := preflight.StaleKinds{Discovery: clients.Discovery(), Rules: clients.AuthorizationV1().SelfSubjectRulesReviews(), Metadata: objects, Namespaces: []string{metav1.NamespaceAll}}
		kinds, err := stale.Find(t.Context(), nil)
		testenv.NoError(t, err)
		if !slices.Contains(kinds, corev1.SchemeGroupVersion.WithKind("ConfigMap")) {
			t.Errorf("a leftover of an owner in %s is not found: %v", version, kinds)
		}
		r.Delete(t, child)
	}
}
