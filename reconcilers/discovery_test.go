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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/controlplane"
)

const (
	notServed    = "; skipped Monitor: not served by the API server"
	notPermitted = "; skipped Monitor: the operator lacks permission"
	// often is the discovery interval of the operators in these tests.
	often = 200 * time.Millisecond
)

func TestDiscovery_FollowsCRD(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.grant(t)
	o := setUp{edits: m.edits(), discoveryInterval: often}.start(t, suite.operator, namespace)
	mc, plain := newMonitored(t, namespace, "sample"), newMemcached(t, namespace, "plain", 0)

	says(t, mc, notServed)
	says(t, plain, "")
	deploymentNow(t, namespace, "sample")
	fatal(t, suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "sample"}, service(namespace, "sample")))
	skippedEvent(t, namespace, 1)

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
		t.Errorf("the Deployment of the Memcached without optional objects was written: %v", writes)
	}
}

func TestDiscovery_WritesNothingAfterRestart(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newServedMonitors(t, namespace)
	first := setUp{edits: m.edits(), discoveryInterval: often}.start(t, suite.operator, namespace)
	mc := newMonitored(t, namespace, "sample")
	m.made(t, namespace, "sample")
	says(t, mc, "")
	first.stop()

	var refreshes atomic.Int32
	cfg := rest.CopyConfig(suite.operator)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/apis/"+m.group+"/v1" {
				refreshes.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	second := setUp{edits: m.edits(), discoveryInterval: often}.start(t, cfg, namespace)
	before := refreshes.Load()
	poll(t, "the operator should refresh", func(context.Context) (bool, error) { return refreshes.Load() > before+3, nil })
	if requests := second.matching(); len(requests) > 0 {
		t.Errorf("requests of a restart, or at rest: %v", requests)
	}
}

func TestDiscovery_ReportsOwnershipConflict(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.grant(t)
	setUp{edits: m.edits(), discoveryInterval: often}.start(t, suite.operator, namespace)
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
		return is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonOwnershipConflict)
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
func TestDiscovery_KeepsKindWhenObjectIsNotFound(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newServedMonitors(t, namespace)
	// No refresh happens during the test.
	o := setUp{edits: m.edits(), discoveryInterval: 24 * time.Hour}.start(t, suite.operator, namespace)
	users := m.monitor(namespace, "sample")
	fatal(t, suite.Client.Create(t.Context(), users))
	o.onFirst(http.MethodGet, "/monitors/sample", func(context.Context) {
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
func TestDiscovery_DoesNotPruneKindThatBecomesAvailable(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.install(t)
	m.served(t, namespace)
	var refreshes, watches atomic.Int32
	cfg := rest.CopyConfig(suite.operator)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			switch {
			case req.URL.Path == "/apis/"+m.group+"/v1":
				refreshes.Add(1)
			case strings.HasSuffix(req.URL.Path, "/monitors"):
				watches.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	o := setUp{edits: m.edits(), discoveryInterval: often}.start(t, cfg, namespace)
	mc := newMonitored(t, namespace, "sample")
	says(t, mc, notPermitted)
	owned := m.monitor(namespace, "sample")
	owned.SetLabels(map[string]string{render.ManagedByLabel: render.ManagedBy})
	owned.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(mc, cachev1alpha1.SchemeGroupVersion.WithKind("Memcached"))})
	fatal(t, suite.Client.Create(t.Context(), owned))
	o.onFirst(http.MethodPatch, "/deployments/sample", func(context.Context) {
		m.grant(t)
		poll(t, "the operator should watch Monitors", func(context.Context) (bool, error) { return watches.Load() > 0, nil })
		// A refresh ends before the next one begins.
		before := refreshes.Load()
		poll(t, "the operator should use Monitors", func(context.Context) (bool, error) { return refreshes.Load() > before+1, nil })
	})
	patch(t, mc, `{"spec":{"minReadySeconds":7}}`)
	if now := m.made(t, namespace, "sample"); now.GetUID() != owned.GetUID() {
		t.Error("the Monitor was pruned and made again")
	}
}

func TestDiscovery_UsesKindOncePermitted(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.install(t)
	m.served(t, namespace)
	setUp{edits: m.edits(), discoveryInterval: often}.start(t, suite.operator, namespace)
	mc := newMonitored(t, namespace, "sample")
	says(t, mc, notPermitted)
	m.grant(t)
	m.made(t, namespace, "sample")
	says(t, mc, "")
}

func TestDiscovery_SkipsClusterScopedKind(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	m := newMonitors(namespace)
	m.grant(t)
	setUp{edits: m.edits(), discoveryInterval: often}.start(t, suite.operator, namespace)
	mc := newMonitored(t, namespace, "sample")
	says(t, mc, notServed)
	fatal(t, suite.Apply(t.Context(), definition(t, m.group, "monitors", "Monitor", "Cluster")))
	says(t, mc, "; skipped Monitor: cluster-scoped")
}

// The control plane is this test's own: what makes it OpenShift would change the pods
// of the other tests.
func TestDiscovery_DetectsOpenShiftLater(t *testing.T) {
	t.Parallel()
	plane, err := controlplane.Start("--without-controllers")
	fatal(t, err)
	t.Cleanup(func() { fatal(t, plane.Stop()) })
	namespace := "default"
	o := setUp{discoveryInterval: often}.start(t, plane.Config, namespace)
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
	again := setUp{discoveryInterval: often}.start(t, plane.Config, namespace)
	fatal(t, plane.Client.Patch(t.Context(), mc, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":0}}`))))
	poll(t, "the change is made", func(ctx context.Context) (bool, error) {
		return user() == nil && *d.Spec.Replicas == 0, nil
	})
	if writes := again.matching("PATCH", "/deployments/sample"); len(writes) != 1 {
		t.Errorf("one change is written by %v", writes)
	}
}
