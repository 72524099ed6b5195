// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	notServed     = "; skipped Monitor: not served by the API server"
	notPermitted  = "; skipped Monitor: the operator lacks permission"
	clusterScoped = "; skipped Monitor: cluster-scoped"
	// often is the discovery interval of the operators in these tests.
	often = 200 * time.Millisecond
)

func TestDiscovery_FollowsCRD(t *testing.T) {
	t.Parallel()
	m := newMonitors(t)
	m.grant(t)
	o := startWith(t, &suite, m.namespace, m.options())
	mc, plain := m.newMonitored(t, "sample"), suite.NewMemcached(t, m.namespace, "plain", 0)

	eventuallySays(t, mc, notServed)
	eventuallySays(t, plain, "")
	suite.Get(t, deployment(m.namespace, "sample"))
	suite.Get(t, service(m.namespace, "sample"))
	eventuallyWarns(t, m.namespace, "KindUnavailable", strings.TrimPrefix(notServed, "; skipped "), 1)

	m.install(t, "Namespaced")
	monitor := m.eventuallyApplied(t)
	eventuallySays(t, mc, "")
	if !metav1.IsControlledBy(monitor, mc) {
		t.Errorf("the Monitor's owners are %v", monitor.GetOwnerReferences())
	}
	suite.Patch(t, monitor, `{"spec":{"endpoints":[{"port":"other"}]}}`)
	m.eventuallyApplied(t)

	suite.Patch(t, mc, `{"spec":{"podMetadata":null}}`)
	suite.EventuallyGone(t, monitor)
	eventuallySays(t, mc, "")
	suite.Patch(t, mc, `{"spec":{"podMetadata":{"labels":{"team":"web"}}}}`)
	m.eventuallyApplied(t)

	suite.Delete(t, testenv.Parse(t, m.definition("Namespaced")))
	eventuallySays(t, mc, notServed)
	suite.Patch(t, mc, `{"spec":{"podMetadata":{"labels":{"team":"another"}}}}`)
	eventually(t, deployment(m.namespace, "sample"), "a change while the kind is gone", isOfTeam("another"))
	eventuallySays(t, mc, notServed)

	m.install(t, "Namespaced")
	m.eventuallyApplied(t)
	eventuallySays(t, mc, "")
	if writes := o.Matching("PATCH", "/deployments/plain"); len(writes) != 1 {
		t.Errorf("the Deployment of the Memcached without optional objects was written: %v", writes)
	}
}

// refreshes records the requests by which an operator looks whether Monitors can be used, also those
// of the checks at start, whose client it goes on with.
func (m monitors) refreshes(options *testenv.ManagerOptions) *testenv.Recorder {
	recorder := &testenv.Recorder{Skip: func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/apis/"+m.group+"/v1") }}
	options.Config = rest.CopyConfig(suite.Operator)
	options.Config.Wrap(recorder.Wrap)
	return recorder
}

// eventuallyRefreshes waits until count more refreshes have begun; all but the last one have ended then.
func (m monitors) eventuallyRefreshes(t *testing.T, recorder *testenv.Recorder, count int) {
	t.Helper()
	refreshes := func() int {
		return len(slices.DeleteFunc(recorder.Matching(), func(r testenv.Request) bool { return r.Path != "/apis/"+m.group+"/v1" }))
	}
	before := refreshes()
	testenv.Eventually(t, "the operator should refresh", func() bool { return refreshes() >= before+count })
}

func TestDiscovery_WritesNothingAfterRestart(t *testing.T) {
	t.Parallel()
	m := newMonitors(t)
	m.grant(t)
	m.installAndWait(t)
	options := m.options()
	first := startWith(t, &suite, m.namespace, options)
	mc := m.newMonitored(t, "sample")
	m.eventuallyApplied(t)
	eventuallySays(t, mc, "")
	first.stop()

	recorder := m.refreshes(&options)
	second := startWith(t, &suite, m.namespace, options)
	m.eventuallyRefreshes(t, recorder, 4)
	if requests := second.Matching(); len(requests) > 0 {
		t.Errorf("requests of a restart, or at rest: %v", requests)
	}
}

func TestDiscovery_ReportsOwnershipConflict(t *testing.T) {
	t.Parallel()
	m := newMonitors(t)
	m.grant(t)
	startWith(t, &suite, m.namespace, m.options())
	mc := m.newMonitored(t, "sample")
	eventuallySays(t, mc, notServed)
	m.install(t, "Namespaced")
	users := m.monitor("other")
	testenv.Eventually(t, "the user should create a Monitor", func(ctx context.Context) (bool, error) {
		users.SetResourceVersion("")
		return suite.Client.Create(ctx, users) == nil, nil
	})
	m.eventuallyApplied(t)

	other := m.newMonitored(t, "other")
	eventuallyIs(t, other, cachev1alpha1.ConditionStalled, cachev1alpha1.ReasonOwnershipConflict)
	suite.Patch(t, other, `{"spec":{"podMetadata":null}}`)
	suite.EventuallyReady(t, other)
	now := m.monitor("other")
	suite.Get(t, now)
	if now.GetUID() != users.GetUID() || now.GetResourceVersion() != users.GetResourceVersion() {
		t.Errorf("the user's Monitor was changed:\n%v", now.Object)
	}
}

// A 404 may be the object's, or that of a namespace that is gone; neither says anything about
// the kind, which every Memcached shares.
func TestDiscovery_KeepsKindWhenObjectIsNotFound(t *testing.T) {
	t.Parallel()
	m := newMonitors(t)
	m.grant(t)
	m.installAndWait(t)
	options := m.options()
	options.DiscoveryInterval = 24 * time.Hour // no refresh happens during the test
	o := startWith(t, &suite, m.namespace, options)
	users := m.monitor("sample")
	suite.Create(t, users)
	o.onFirst(http.MethodGet, "/monitors/sample", func(context.Context) {
		if err := suite.Client.Delete(t.Context(), users); err != nil {
			t.Error(err)
		}
	})
	mc := m.newMonitored(t, "sample")
	m.eventuallyApplied(t)
	eventuallySays(t, mc, "")
	if statuses := o.statuses("/monitors/sample"); !slices.Contains(statuses, http.StatusNotFound) {
		t.Errorf("the requests for the Monitor were answered with %v, want a 404 among them", statuses)
	}
}

// The kind can be used from the middle of a reconcile on, which did not render its objects.
func TestDiscovery_DoesNotPruneKindThatBecomesAvailable(t *testing.T) {
	t.Parallel()
	m := newMonitors(t)
	m.installAndWait(t)
	options := m.options()
	recorder := m.refreshes(&options)
	o := startWith(t, &suite, m.namespace, options)
	mc := m.newMonitored(t, "sample")
	eventuallySays(t, mc, notPermitted)
	owned := m.monitor("sample")
	owned.SetLabels(map[string]string{render.ManagedByLabel: render.ManagedBy})
	owned.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(mc, cachev1alpha1.MemcachedKind)})
	suite.Create(t, owned)
	o.onFirst(http.MethodPatch, "/deployments/sample", func(context.Context) {
		m.grant(t)
		testenv.Eventually(t, "the operator should watch Monitors", func() bool { return len(recorder.Matching("/monitors")) > 0 })
		m.eventuallyRefreshes(t, recorder, 2)
	})
	suite.Patch(t, mc, `{"spec":{"minReadySeconds":7}}`)
	if now := m.eventuallyApplied(t); now.GetUID() != owned.GetUID() {
		t.Error("the Monitor was pruned and created again")
	}
	eventuallySays(t, mc, "")
}

func TestDiscovery_UsesKindOncePermitted(t *testing.T) {
	t.Parallel()
	m := newMonitors(t)
	m.installAndWait(t)
	startWith(t, &suite, m.namespace, m.options())
	mc := m.newMonitored(t, "sample")
	eventuallySays(t, mc, notPermitted)
	m.grant(t)
	m.eventuallyApplied(t)
	eventuallySays(t, mc, "")
}

func TestDiscovery_SkipsClusterScopedKind(t *testing.T) {
	t.Parallel()
	m := newMonitors(t)
	m.grant(t)
	startWith(t, &suite, m.namespace, m.options())
	mc := m.newMonitored(t, "sample")
	eventuallySays(t, mc, notServed)
	m.install(t, "Cluster")
	eventuallySays(t, mc, clusterScoped)
}

// The control plane is this test's own: what makes it OpenShift would change the pods
// of the other tests.
func TestDiscovery_DetectsOpenShiftLater(t *testing.T) {
	t.Parallel()
	e := testenv.New(t, testenv.Setup{Arguments: []string{testenv.WithoutControllers}})
	options := testenv.ManagerOptions{Config: e.Config, DiscoveryInterval: often}
	o := startWith(t, e, "default", options)
	mc := e.NewMemcached(t, "default", "sample", 1)
	eventuallyRuns := func(want string, isSo func(user *int64, replicas int32) bool) {
		t.Helper()
		testenv.Eventually(t, want, func() bool {
			d := e.Deployment(t, "default", "sample")
			return d != nil && d.Spec.Template.Spec.SecurityContext != nil && isSo(d.Spec.Template.Spec.SecurityContext.RunAsUser, *d.Spec.Replicas)
		})
	}
	eventuallyRuns("the user is the image's", func(user *int64, _ int32) bool { return user != nil && *user == 11211 })
	testenv.NoError(t, e.ApplyYAML(t.Context(),
		testenv.CustomResource("security.openshift.io", "SecurityContextConstraints", "Cluster", "{type: object}")))
	eventuallyRuns("the user is OpenShift's to assign", func(user *int64, _ int32) bool { return user == nil })
	o.stop()

	// An operator that starts on OpenShift knows it before it writes.
	again := startWith(t, e, "default", options)
	e.Patch(t, mc, `{"spec":{"size":0}}`)
	eventuallyRuns("the change is applied", func(user *int64, replicas int32) bool { return user == nil && replicas == 0 })
	if writes := again.Matching("PATCH", "/deployments/sample"); len(writes) != 1 {
		t.Errorf("one change is written by %v", writes)
	}
}
