// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// withObject returns a component with an object.
func withObject(object string) map[string]string {
	return map[string]string{
		site: "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [object.yaml]\n" +
			"replacements:\n- source: {kind: Memcached, fieldPath: metadata.name}\n" +
			"  targets: [{select: {name: extra}, fieldPaths: [metadata.annotations.cache], options: {create: true}}]\n",
		"components/site/object.yaml": object,
	}
}

const (
	networkPolicy = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: extra}, spec: {podSelector: {matchLabels: {none: none}}}}"
	limitRange    = "{apiVersion: v1, kind: LimitRange, metadata: {name: extra}, spec: {limits: [{type: Pod, max: {cpu: 1}}]}}"
)

// TestReload_UsesEditsWithoutRestart adds and removes an object, of a kind that no other template has.
func TestReload_UsesEditsWithoutRestart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 0)
	extra := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name(0) + "-extra"}}
	start := time.Now()
	f.write(withObject(networkPolicy))
	testenv.EventuallyObject(t, &suite, extra, "the object should be created", func(*networkingv1.NetworkPolicy) bool { return true })
	t.Logf("the object was created %s after the files were written", time.Since(start).Round(time.Millisecond))
	suite.Delete(t, extra)
	testenv.EventuallyObject(t, &suite, extra, "the object should be watched", func(now *networkingv1.NetworkPolicy) bool {
		return now.DeletionTimestamp == nil
	})
	f.edit("second")
	suite.EventuallyGone(t, extra)
	f.eventuallyEdits("second")
	testenv.WriteFile(t, filepath.Join(f.templates, site), annotated("third")) // in place
	f.eventuallyEdits("third")
	if f.operator.HasEnded() || strings.Count(f.operator.Log.String(), `"msg":"Templates reloaded"`) != 3 {
		t.Errorf("the operator did not reload the templates three times:\n%s", f.operator.Log.String())
	}
}

func TestReload_RejectsWhatCannotStart(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a mistake in a file":                   {map[string]string{site: "kind: Component\nresources: [missing.yaml]"}, "missing.yaml"},
		"a kind without permission":             {withObject(limitRange), "permission is missing; add these rules to the operator's Role in namespace"},
		"an object that the API server rejects": {withObject(strings.Replace(networkPolicy, "podSelector:", "policyTypes: [Sideways], podSelector:", 1)), "spec.policyTypes"},
		"no templates":                          {map[string]string{"README.md": "nothing"}, "--manifests-dir"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1, 0)
			if value := f.isReloaded(); value != 1 {
				t.Errorf("the metric is %v at the start", value)
			}
			f.write(test.files)
			testenv.Eventually(t, "the templates should be rejected for "+test.want, func() bool { return f.isRejected(test.want) })
			if value := f.isReloaded(); value != 0 {
				t.Errorf("the metric is %v", value)
			}
			// The templates of before are still in use.
			suite.Patch(t, testenv.Memcached(f.namespace, name(0), 0), `{"spec": {"maxConnections": 77}}`)
			f.memcached(0, "should be ready", func(mc *cachev1alpha1.Memcached) bool {
				return testenv.HasCondition(mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "")
			})
			f.expectEdits("first")
			f.edit("second")
			f.eventuallyEdits("second")
			testenv.Eventually(t, "the metric should be 1", func() bool { return f.isReloaded() == 1 })
		})
	}
}

// isRejected reports whether the operator logged that it rejected templates for a reason that contains reason. On a busy machine there may
// be other reasons before it, such as dry-runs that are not answered in time.
func (f *fleet) isRejected(reason string) bool {
	return slices.ContainsFunc(f.operator.Log.Entries(), func(e testenv.Entry) bool {
		return e.Level == "error" && e.Msg == "Changed templates rejected; those of before stay in use" && strings.Contains(e.Error, reason)
	})
}

// isReloaded returns the metric that is 1 if the templates in use are the last ones.
func (f *fleet) isReloaded() float64 {
	f.t.Helper()
	_, body := testenv.HTTPGet(f.t, http.DefaultClient, "http://"+f.metrics+"/metrics", "")
	return testenv.Metric(f.t, body, "memcached_operator_templates_last_reload_successful ")
}
