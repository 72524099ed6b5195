// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/controlplane"
)

const (
	notServed    = "; left out, since this API server does not serve them: Monitor"
	notPermitted = "; left out, since the operator lacks permission for them: Monitor"
	// often is how often operators of these tests look for optional kinds.
	often = 200 * time.Millisecond
)

// monitors is a kind like ServiceMonitor. Definitions are the cluster's, so each test
// has a group of its own.
type monitors struct {
	group string
}

func newMonitors(namespace string) monitors {
	return monitors{namespace + ".example.test"}
}

// edits bring a Monitor where a Memcached has labels for its pods.
func (m monitors) edits() edit {
	return edit{
		"components/podMetadata/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [monitor.yaml]\n",
		"components/podMetadata/monitor.yaml":       "apiVersion: " + m.group + "/v1\nkind: Monitor\nmetadata: {name: memcached}\nspec: {endpoints: [{port: metrics, interval: 30s}]}\n",
	}
}

func (m monitors) definition(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return definition(t, m.group, "monitors", "Monitor", "Namespaced")
}

// definition is a minimal CustomResourceDefinition of version v1.
func definition(t *testing.T, group, plural, kind, scope string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	fatal(t, yaml.Unmarshal([]byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+plural+`.`+group+`}
spec:
  group: `+group+`
  names: {kind: `+kind+`, plural: `+plural+`}
  scope: `+scope+`
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              endpoints:
                type: array
                items: {type: object, x-kubernetes-preserve-unknown-fields: true}
`), &object.Object))
	return object
}

// newServedMonitors returns a kind that is served, and that the operator may use.
func newServedMonitors(t *testing.T, namespace string) monitors {
	t.Helper()
	m := newMonitors(namespace)
	m.grant(t)
	m.install(t)
	m.served(t, namespace)
	return m
}

// install makes the definition; the operator finds out by itself.
func (m monitors) install(t *testing.T) {
	t.Helper()
	fatal(t, suite.Apply(t.Context(), m.definition(t)))
}

// served waits until a client can read Monitors and their schema, which is published later.
func (m monitors) served(t *testing.T, namespace string) {
	t.Helper()
	poll(t, "Monitors should be served", func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: m.group, Version: "v1", Kind: "MonitorList"})
		return suite.Client.List(ctx, list, client.InNamespace(namespace)) == nil, nil
	})
	discovered, err := discovery.NewDiscoveryClientForConfig(suite.Config)
	fatal(t, err)
	poll(t, "the schema of Monitors should be published", func(context.Context) (bool, error) {
		paths, err := discovered.OpenAPIV3().Paths()
		if err != nil || paths["apis/"+m.group+"/v1"] == nil {
			return false, err
		}
		schema, err := paths["apis/"+m.group+"/v1"].Schema("application/json")
		return strings.Contains(string(schema), `"Monitor"`), err
	})
}

// grant lets the operator work with Monitors.
func (m monitors) grant(t *testing.T) {
	t.Helper()
	metadata := metav1.ObjectMeta{Name: m.group}
	fatal(t, suite.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metadata, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{m.group}, Resources: []string{"monitors"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
	}}}))
	fatal(t, suite.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metadata,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: m.group},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: controlplane.OperatorNamespace, Name: controlplane.OperatorServiceAccount}},
	}))
}

func (m monitors) monitor(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: m.group, Version: "v1", Kind: "Monitor"})
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// made waits until the Monitor of a Memcached is as the template says.
func (m monitors) made(t *testing.T, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	object := m.monitor(namespace, name)
	poll(t, "the Monitor should be made", func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		endpoints, _, _ := unstructured.NestedSlice(object.Object, "spec", "endpoints")
		return err == nil && len(endpoints) == 1 && endpoints[0].(map[string]any)["interval"] == "30s", client.IgnoreNotFound(err)
	})
	return object
}

// newMonitored makes a Memcached with a Monitor.
func newMonitored(t *testing.T, namespace, name string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cachev1alpha1.MemcachedSpec{
			Size:        new(int32(0)),
			PodMetadata: &cachev1alpha1.PodMetadata{Labels: map[string]cachev1alpha1.LabelValue{"team": "web"}},
		},
	}
	fatal(t, suite.Client.Create(t.Context(), mc))
	return mc
}

// says waits until mc is ready with a message that ends with words, or does not speak
// of anything left out when there are none.
func says(t *testing.T, mc *cachev1alpha1.Memcached, words string) {
	t.Helper()
	eventually(t, mc, "ready, and it should say "+words, func(mc *cachev1alpha1.Memcached) bool {
		message := ""
		if c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); c != nil {
			message = c.Message
		}
		return isReady(mc) && strings.HasSuffix(message, words) && (words != "" || !strings.Contains(message, "left out"))
	})
}

func TestAnOptionalKindComesAndGoes(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.grant(t)
	o := setUp{edits: m.edits(), lookEvery: often}.start(t, suite.operator, namespace)
	mc, plain := newMonitored(t, namespace, "sample"), newMemcached(t, namespace, "plain", 0)

	says(t, mc, notServed)
	says(t, plain, "")
	deploymentNow(t, namespace, "sample")
	fatal(t, suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "sample"}, service(namespace, "sample")))
	leftOutEvent(t, namespace, 1)

	m.install(t)
	monitor := m.made(t, namespace, "sample")
	says(t, mc, "")
	if !metav1.IsControlledBy(monitor, mc) {
		t.Errorf("the Monitor's owners are %v", monitor.GetOwnerReferences())
	}
	patch(t, monitor, `{"spec":{"endpoints":[{"port":"other"}]}}`)
	m.made(t, namespace, "sample")

	patch(t, mc, `{"spec":{"podMetadata":null}}`)
	gone(t, monitor)
	says(t, mc, "")
	patch(t, mc, `{"spec":{"podMetadata":{"labels":{"team":"web"}}}}`)
	m.made(t, namespace, "sample")

	fatal(t, suite.Client.Delete(t.Context(), m.definition(t)))
	says(t, mc, notServed)
	patch(t, mc, `{"spec":{"podMetadata":{"labels":{"team":"another"}}}}`)
	eventually(t, deployment(namespace, "sample"), "a change while the kind is gone", isOfTeam("another"))
	says(t, mc, notServed)

	m.install(t)
	m.made(t, namespace, "sample")
	says(t, mc, "")
	if writes := o.matching("PATCH", "/deployments/plain"); len(writes) != 1 {
		t.Errorf("the Memcached that asks for nothing optional was written for: %v", writes)
	}
}

// leftOutEvent waits for the event that says that something is left out, which is
// recorded count times.
func leftOutEvent(t *testing.T, namespace string, count int) {
	t.Helper()
	poll(t, "an event should say so", func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		err := suite.Client.List(ctx, list, client.InNamespace(namespace))
		found := 0
		for _, event := range list.Items {
			if event.Reason == "LeftOut" && event.Type == "Warning" && strings.HasSuffix(notServed, event.Note) {
				found++
			}
		}
		return found == count, err
	})
}

func TestAnOptionalKindThatIsThereAtTheStartCostsNothingAtRest(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newServedMonitors(t, namespace)
	first := setUp{edits: m.edits(), lookEvery: often}.start(t, suite.operator, namespace)
	mc := newMonitored(t, namespace, "sample")
	m.made(t, namespace, "sample")
	says(t, mc, "")
	first.stop()

	var looks atomic.Int32
	cfg := rest.CopyConfig(suite.operator)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/apis/"+m.group+"/v1" {
				looks.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	second := setUp{edits: m.edits(), lookEvery: often}.start(t, cfg, namespace)
	before := looks.Load()
	poll(t, "the operator should look", func(context.Context) (bool, error) { return looks.Load() > before+3, nil })
	if requests := second.matching(); len(requests) > 0 {
		t.Errorf("requests of a restart, or at rest: %v", requests)
	}
}

func TestAnOptionalObjectOfAUserIsLeftAlone(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.grant(t)
	setUp{edits: m.edits(), lookEvery: often}.start(t, suite.operator, namespace)
	mc := newMonitored(t, namespace, "sample")
	says(t, mc, notServed)
	m.install(t)
	users := m.monitor(namespace, "other")
	poll(t, "the user should make a Monitor", func(ctx context.Context) (bool, error) {
		users.SetResourceVersion("")
		return suite.Client.Create(ctx, users) == nil, nil
	})
	m.made(t, namespace, "sample")

	other := newMonitored(t, namespace, "other")
	eventually(t, other, "stalled by the user's object", func(mc *cachev1alpha1.Memcached) bool {
		return is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonForeignObject)
	})
	patch(t, other, `{"spec":{"podMetadata":null}}`)
	ready(t, other)
	now := m.monitor(namespace, "other")
	fatal(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(now), now))
	if now.GetUID() != users.GetUID() || now.GetResourceVersion() != users.GetResourceVersion() {
		t.Errorf("the user's Monitor was changed:\n%v", now.Object)
	}
}

// A 404 may be the object's, or that of a namespace that is gone; neither says anything about
// the kind, which every Memcached shares.
func TestOptionalKind_StaysInUseWhenAnObjectVanishes(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newServedMonitors(t, namespace)
	// No look at what is served comes within the test.
	o := setUp{edits: m.edits(), lookEvery: 24 * time.Hour}.start(t, suite.operator, namespace)
	users := m.monitor(namespace, "sample")
	fatal(t, suite.Client.Create(t.Context(), users))
	o.onFirst(http.MethodGet, "/monitors/sample", func() {
		if err := suite.Client.Delete(t.Context(), users); err != nil {
			t.Error(err)
		}
	})
	mc := newMonitored(t, namespace, "sample")
	m.made(t, namespace, "sample")
	says(t, mc, "")
	if statuses := o.statuses("/monitors/sample"); !slices.Contains(statuses, http.StatusNotFound) {
		t.Errorf("the requests for the Monitor were answered with %v, want a 404 among them", statuses)
	}
}

// The kind can be used from the middle of a reconcile on, which did not render its objects.
func TestOptionalKind_ObjectIsNotPrunedWhenTheKindComesDuringAReconcile(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.install(t)
	m.served(t, namespace)
	var looks, watches atomic.Int32
	cfg := rest.CopyConfig(suite.operator)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			switch {
			case req.URL.Path == "/apis/"+m.group+"/v1":
				looks.Add(1)
			case strings.HasSuffix(req.URL.Path, "/monitors"):
				watches.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	o := setUp{edits: m.edits(), lookEvery: often}.start(t, cfg, namespace)
	mc := newMonitored(t, namespace, "sample")
	says(t, mc, notPermitted)
	owned := m.monitor(namespace, "sample")
	owned.SetLabels(map[string]string{render.ManagedByLabel: render.ManagedBy})
	owned.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(mc, cachev1alpha1.SchemeGroupVersion.WithKind("Memcached"))})
	fatal(t, suite.Client.Create(t.Context(), owned))
	o.onFirst(http.MethodPatch, "/deployments/sample", func() {
		m.grant(t)
		poll(t, "the operator should watch Monitors", func(context.Context) (bool, error) { return watches.Load() > 0, nil })
		// One look ends before the next one begins.
		before := looks.Load()
		poll(t, "the operator should use Monitors", func(context.Context) (bool, error) { return looks.Load() > before+1, nil })
	})
	patch(t, mc, `{"spec":{"minReadySeconds":7}}`)
	if now := m.made(t, namespace, "sample"); now.GetUID() != owned.GetUID() {
		t.Error("the Monitor was pruned and made again")
	}
}

func TestAnOptionalKindWithoutPermissionIsUsedOnceItIsGranted(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.install(t)
	m.served(t, namespace)
	setUp{edits: m.edits(), lookEvery: often}.start(t, suite.operator, namespace)
	mc := newMonitored(t, namespace, "sample")
	says(t, mc, notPermitted)
	m.grant(t)
	m.made(t, namespace, "sample")
	says(t, mc, "")
}

func TestAnOptionalKindThatIsClusterScopedIsLeftOut(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.grant(t)
	setUp{edits: m.edits(), lookEvery: often}.start(t, suite.operator, namespace)
	mc := newMonitored(t, namespace, "sample")
	says(t, mc, notServed)
	fatal(t, suite.Apply(t.Context(), definition(t, m.group, "monitors", "Monitor", "Cluster")))
	says(t, mc, "; left out, since they are cluster-scoped: Monitor")
}

// The control plane is this test's own: what makes it OpenShift would change the pods
// of the other tests.
func TestOpenShiftIsFoundLater(t *testing.T) {
	t.Parallel()
	plane, err := controlplane.Start("--without-controllers")
	fatal(t, err)
	t.Cleanup(func() { fatal(t, plane.Stop()) })
	namespace := "default"
	o := setUp{lookEvery: often}.start(t, plane.Config, namespace)
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"}}
	fatal(t, plane.Client.Create(t.Context(), mc))
	d := deployment(namespace, "sample")
	user := func() *int64 {
		fatal(t, client.IgnoreNotFound(plane.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d)))
		if d.UID == "" || d.Spec.Template.Spec.SecurityContext == nil {
			return new(int64(-1))
		}
		return d.Spec.Template.Spec.SecurityContext.RunAsUser
	}
	poll(t, "the user is the image's", func(context.Context) (bool, error) { u := user(); return u != nil && *u == 11211, nil })
	fatal(t, plane.Apply(t.Context(), definition(t, "security.openshift.io", "securitycontextconstraints", "SecurityContextConstraints", "Cluster")))
	poll(t, "the user is OpenShift's to assign", func(context.Context) (bool, error) { return user() == nil, nil })
	o.stop()

	// An operator that starts on OpenShift knows it before it writes.
	again := setUp{lookEvery: often}.start(t, plane.Config, namespace)
	fatal(t, plane.Client.Patch(t.Context(), mc, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":0}}`))))
	poll(t, "the change is made", func(ctx context.Context) (bool, error) {
		return user() == nil && *d.Spec.Replicas == 0, nil
	})
	if writes := again.matching("PATCH", "/deployments/sample"); len(writes) != 1 {
		t.Errorf("one change is written by %v", writes)
	}
}
