// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// rejections are changes of the rendered Deployment that the server, or its schema, rejects.
var rejections = map[string]struct {
	// before is what was applied first, if anything.
	before func(w *env) *unstructured.Unstructured
	change change
	words  []string
	sent   []string
}{
	"sets a value that is not allowed": {
		change: setsField(int64(-1), "spec", "replicas"),
		words:  []string{"creating Deployment cache", "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		sent:   []string{"apply deployments/cache 422"},
	},
	"lacks a required field": {
		change: func(_ *env, deployment *unstructured.Unstructured) { delete(container(deployment), "image") },
		words:  []string{"creating Deployment cache", "containers[0].image: Required value"},
		sent:   []string{"apply deployments/cache 422"},
	},
	"changes an immutable field": {
		before: (*env).deployment,
		change: func(w *env, deployment *unstructured.Unstructured) {
			set(w.t, deployment, "other", "spec", "selector", "matchLabels", "memcached_cr")
			set(w.t, deployment, "other", "spec", "template", "metadata", "labels", "memcached_cr")
		},
		words: []string{"applying Deployment cache", "field is immutable"},
		// It looks whether another client set an alternative to a field of ours.
		sent: []string{"apply deployments/cache 422", "get deployments/cache"},
	},
	"sets an unknown field": {
		change: setsField(int64(1), "spec", "Replicas"),
		words:  []string{"Deployment cache", "spec.Replicas: unknown field"},
	},
	"sets a value of another type": {
		change: setsField("three", "spec", "replicas"),
		words:  []string{"Deployment cache", "spec.replicas: expected a number"},
	},
	"sets an annotation that is no text": {
		change: setsField(map[string]any{"a": int64(1)}, "metadata", "annotations"),
		words:  []string{"Deployment cache", "metadata.annotations", `"a"`},
	},
	"sets an invalid quantity": {
		change: func(_ *env, deployment *unstructured.Unstructured) {
			container(deployment)["resources"] = map[string]any{"limits": map[string]any{"memory": "much"}}
		},
		words: []string{"Deployment cache", "a quantity is malformed"},
	},
}

// setsField sets a field of the rendered object.
func setsField(value any, path ...string) change {
	return func(w *env, object *unstructured.Unstructured) { set(w.t, object, value, path...) }
}

// What the server rejects does not keep the other objects from being made, and is
// final when the server judged the object itself.
func TestApply_ReportsRejectedObjects(t *testing.T) {
	t.Parallel()
	for sentence, test := range rejections {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			if test.before != nil {
				w.applied(test.before(w))
			}
			objects := w.rendered()
			test.change(w, objects[1])
			results := w.applyAll(objects)
			w.requests.mustBe(t, "at first", slices.Concat([]string{"apply services/cache"}, test.sent, []string{"apply poddisruptionbudgets/cache"})...)
			if results[0].Action != apply.Created || results[2].Action != apply.Created {
				t.Errorf("the other objects are %s (%v) and %s (%v)", results[0].Action, results[0].Err, results[2].Action, results[2].Err)
			}
			rejected := results[1]
			if rejected.Action != apply.Failed || rejected.Err == nil || !apply.IsTerminal(rejected.Err) {
				t.Fatalf("the Deployment is %s: %v; want it failed, terminally", rejected.Action, rejected.Err)
			}
			for _, words := range test.words {
				if !strings.Contains(rejected.Err.Error(), words) {
					t.Errorf("the error does not say %q: %v", words, rejected.Err)
				}
			}
			if hasLive := rejected.Live != nil; hasLive != (test.before != nil) {
				t.Errorf("live is %v", rejected.Live)
			}
		})
	}
}

// A quota is a matter of the moment: it is tried again.
func TestIsTerminal_QuotaIsNot(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	quota := w.foreign(`{apiVersion: v1, kind: ResourceQuota, spec: {hard: {count/deployments.apps: "0"}}}`)
	w.create("someone", quota)
	// No controller counts here.
	w.updateStatus(quota, func(live *unstructured.Unstructured) {
		none := map[string]any{"count/deployments.apps": "0"}
		live.Object["status"] = map[string]any{"hard": none, "used": none}
	})
	w.eventuallyAdmits(func(_ *unstructured.Unstructured, err error) bool { return apierrors.IsForbidden(err) })

	objects := w.rendered()
	results := w.applyAll(objects)
	w.requests.mustBe(t, "under the quota", "apply services/cache", "apply deployments/cache 403", "apply poddisruptionbudgets/cache")
	rejected := results[1]
	if rejected.Action != apply.Failed || apply.IsTerminal(rejected.Err) || !strings.Contains(fmt.Sprint(rejected.Err), "exceeded quota: cache") {
		t.Errorf("the Deployment is %s: %v (terminal: %v)", rejected.Action, rejected.Err, apply.IsTerminal(rejected.Err))
	}

	w.remove(quota)
	w.eventuallyAdmits(func(_ *unstructured.Unstructured, err error) bool { return err == nil })
	w.apply("without the quota", apply.Created, objects[1])
}
