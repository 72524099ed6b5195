// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// suite has controllers and a simulated node, and the operator's identity.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{Identity: true}))
}

// operator is an operator that runs in the test's process and sees one namespace. It records its
// requests, except watches, initial lists and events.
type operator struct {
	testenv.Recorder
	stop func()
}

// startOperator starts an operator for namespace. It stops with the test, or before, by stop.
func startOperator(t *testing.T, namespace string) *operator {
	t.Helper()
	return startWith(t, &suite, namespace, testenv.ManagerOptions{})
}

func startWith(t *testing.T, e *testenv.Env, namespace string, options testenv.ManagerOptions) *operator {
	t.Helper()
	o := newOperator()
	o.start(t, e, namespace, options)
	return o
}

func newOperator() *operator {
	return &operator{Recorder: testenv.Recorder{Skip: isWatchOrDiscovery}}
}

func (o *operator) start(t *testing.T, e *testenv.Env, namespace string, options testenv.ManagerOptions) {
	t.Helper()
	wrap := options.Wrap
	options.Namespaces, options.Wrap = []string{namespace}, func(next http.RoundTripper) http.RoundTripper {
		if wrap != nil {
			next = wrap(next)
		}
		return o.Wrap(next)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	manager, err := e.StartManager(ctx, options)
	testenv.NoError(t, err)
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := manager.Wait(); err != nil {
			t.Errorf("the operator stopped with: %v", err)
		}
	})
	t.Cleanup(o.stop)
}

// isWatchOrDiscovery reports whether req is a watch, a list or a discovery request, which a restart needs,
// or writes an event.
func isWatchOrDiscovery(req *http.Request) bool {
	path, query := req.URL.Path, req.URL.Query()
	return query.Get("watch") != "" || strings.Contains(path, "/events") || query.Has("resourceVersion") ||
		req.Method == http.MethodGet && (query.Has("limit") || strings.HasSuffix(path, "/api") || strings.HasSuffix(path, "/apis") || strings.Count(path, "/") <= 3)
}

// onFirst calls f with the context of the first request that has method and ends with path, before it is sent.
func (o *operator) onFirst(method, path string, f func(context.Context)) {
	o.OnFirst(func(r testenv.Request) bool { return r.Method == method && strings.HasSuffix(r.Path, path) }, f)
}

// statuses returns the statuses of the answers to requests whose path contains part.
func (o *operator) statuses(part string) []int {
	var statuses []int
	for _, request := range o.Matching(part) {
		statuses = append(statuses, request.Status)
	}
	return statuses
}

// eventually reads object until condition is true.
func eventually[T client.Object](t *testing.T, object T, want string, condition func(T) bool) T {
	t.Helper()
	return testenv.EventuallyObject(t, &suite, object, want, condition)
}

// eventuallyIs waits until a condition of mc is True with reason.
func eventuallyIs(t *testing.T, mc *cachev1alpha1.Memcached, condition, reason string) {
	t.Helper()
	eventually(t, mc, condition+" for "+reason, func(mc *cachev1alpha1.Memcached) bool {
		return testenv.HasCondition(mc, condition, metav1.ConditionTrue, reason)
	})
}

// eventuallyReadyWith waits until mc is ready with count pods.
func eventuallyReadyWith(t *testing.T, mc *cachev1alpha1.Memcached, count int) {
	t.Helper()
	eventually(t, mc, "the Memcached should be ready with its pods", func(mc *cachev1alpha1.Memcached) bool {
		return isReady(mc) && len(mc.Status.Nodes) == count
	})
}

func isReady(mc *cachev1alpha1.Memcached) bool {
	return testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "")
}

// messageOf returns the message of a condition; it is empty when there is none.
func messageOf(mc *cachev1alpha1.Memcached, condition string) string {
	if c := meta.FindStatusCondition(mc.Status.Conditions, condition); c != nil {
		return c.Message
	}
	return ""
}

// memcached returns a Memcached of size 0, for tests that need no pods.
func memcached(namespace, name string) *cachev1alpha1.Memcached {
	return testenv.Memcached(namespace, name, 0)
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func service(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// warnings returns the Warning events of the Memcacheds in namespace; reason selects them unless it is empty.
func warnings(t *testing.T, namespace, reason string) []eventsv1.Event {
	t.Helper()
	list := &eventsv1.EventList{}
	testenv.NoError(t, suite.Client.List(t.Context(), list, client.InNamespace(namespace)))
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Kind != "Memcached" || e.Type != corev1.EventTypeWarning || reason != "" && e.Reason != reason
	})
}

// eventuallyWarns waits until count Warning events have reason. Their notes contain word.
func eventuallyWarns(t *testing.T, namespace, reason, word string, count int) {
	t.Helper()
	var events []eventsv1.Event
	testenv.Eventually(t, "Warning events of reason "+reason, func() bool {
		events = warnings(t, namespace, reason)
		return len(events) >= count
	})
	if len(events) != count {
		t.Errorf("%d events %s, want %d", len(events), reason, count)
	}
	for _, event := range events {
		if !strings.Contains(event.Note, word) {
			t.Errorf("the note of the event %s lacks %q: %s", reason, word, event.Note)
		}
	}
}
