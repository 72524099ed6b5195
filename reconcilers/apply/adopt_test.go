// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
)

// tutorials is the Deployment that the Operator SDK's tutorial makes for a Memcached
// called cache: its own metadata has no labels.
const tutorials = `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 2
  selector: {matchLabels: {app: memcached, memcached_cr: cache}}
  template:
    metadata: {labels: {app: memcached, memcached_cr: cache}}
    spec:
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: memcached
        image: memcached:1.4.36-alpine
        imagePullPolicy: Never
        command: [memcached, -m=64, -o, modern, -v]
        ports: [{containerPort: 11211, name: memcached, protocol: TCP}]
        securityContext: {runAsNonRoot: true, runAsUser: 1001, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

// tutorial makes the tutorial's Deployment as the tutorial's operator does, by
// Create under the name of its binary.
func (w *env) tutorial(manager string) *unstructured.Unstructured {
	w.t.Helper()
	object := w.foreign(tutorials)
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.owner, cachev1alpha1.MemcachedKind)})
	return w.create(manager, object)
}

var adopted = []string{"apply deployments/cache 409", "get deployments/cache", "patch deployments/cache", "apply deployments/cache"}

// tutorialDeployments are what happened to the tutorial's Deployment, and the requests that adopt it.
var tutorialDeployments = map[string]struct {
	manager string
	change  change
	want    []string
}{
	"nothing":                           {"manager", unchanged, adopted},
	"an operator of another name":       {"main", unchanged, adopted},
	"the other operator scaled it":      {"manager", scaledByTutorial, adopted},
	"a user put our label on it before": {"manager", labelledByUser, adopted[1:]},
}

func scaledByTutorial(w *env, object *unstructured.Unstructured) {
	w.update("manager", object, func(live *unstructured.Unstructured) { set(w.t, live, int64(1), "spec", "replicas") })
	w.updateStatus(object, func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"replicas": int64(1)} })
}

// labelledByUser shows object in the cache.
func labelledByUser(w *env, object *unstructured.Unstructured) {
	w.update("kubectl-label", object, func(live *unstructured.Unstructured) { labelled(w, live) })
	w.settle(object)
}

func annotate(w *env, object *unstructured.Unstructured) {
	w.update("kubectl-annotate", object, func(live *unstructured.Unstructured) {
		live.SetAnnotations(map[string]string{"example.com/note": "keep"})
	})
}

func TestAdopt_TutorialDeployment(t *testing.T) {
	t.Parallel()
	for sentence, test := range tutorialDeployments {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			before := w.tutorial(test.manager)
			annotate(w, before)
			test.change(w, before)

			object := w.deployment()
			result := w.apply("at first", apply.Configured, object)[0]
			w.requests.mustBe(t, "at first", test.want...)
			if result.Mutation != "" {
				t.Errorf("it is said that the server changed %s", result.Mutation)
			}
			live := w.live(object)
			mustBeAdopted(t, before, live)
			if got, want := container(live)["image"], container(object)["image"]; got != want {
				t.Errorf("the image is %v, want %v", got, want)
			}
			for _, entry := range live.GetManagedFields() {
				if entry.Manager == test.manager && entry.Subresource == "" {
					t.Errorf("%s still owns %s", test.manager, entry.FieldsV1.GetRawString())
				}
			}
			w.mustHold("afterwards", object)
		})
	}
}

// mustBeAdopted checks that live is the tutorial's Deployment with the user's annotation, and without
// the tutorial's fields that are not rendered.
func mustBeAdopted(t *testing.T, before, live *unstructured.Unstructured) {
	t.Helper()
	if live.GetUID() != before.GetUID() {
		t.Error("it was replaced, not taken over")
	}
	if note := live.GetAnnotations()["example.com/note"]; note != "keep" {
		t.Errorf("the user's annotation is %q", note)
	}
	selector := func(object *unstructured.Unstructured) map[string]any {
		return object.Object["spec"].(map[string]any)["selector"].(map[string]any)
	}
	mustBeSame(t, selector(live), selector(before))
	if got := container(live)["imagePullPolicy"]; got != "IfNotPresent" {
		t.Errorf("imagePullPolicy is %v, want the default: it was set, and is not rendered", got)
	}
	if user, ok := container(live)["securityContext"].(map[string]any)["runAsUser"]; ok {
		t.Errorf("the container's runAsUser is still %v, and is not rendered", user)
	}
}

// An adoption that is interrupted is continued by the next reconcile.
func TestAdopt_ContinuesAfterInterruption(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	before := w.tutorial("manager")
	object := w.deployment()
	w.requests.between("patch deployments/cache", func() { annotate(w, before) })
	result := w.apply("when the object changes in between", apply.Failed, object)[0]
	w.requests.mustBe(t, "when the object changes in between", "apply deployments/cache 409", "get deployments/cache", "patch deployments/cache 409")
	if apply.IsTerminal(result.Err) {
		t.Errorf("%v is terminal", result.Err)
	}
	w.apply("at the next try", apply.Configured, object)
	live := w.live(object)
	if live.GetUID() != before.GetUID() || live.GetAnnotations()["example.com/note"] != "keep" {
		t.Errorf("it is now %v", live.Object)
	}
	w.requests.take()
	w.mustHold("afterwards", object)
}

// Objects that an orphaning deletion of an earlier Memcached left behind are ours.
func TestAdopt_Orphans(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	objects := w.rendered()
	w.applied(objects...)
	for _, object := range objects {
		w.update("kube-controller-manager", object, func(live *unstructured.Unstructured) { live.SetOwnerReferences(nil) })
	}
	suite.Delete(t, w.owner.DeepCopy())
	w.owner = w.memcached("cache", 3)
	objects = w.rendered()
	w.settle(objects...)
	w.apply("for the next Memcached of the name", apply.Configured, objects...)
	w.requests.mustBe(t, "for the next Memcached of the name", "apply services/cache", "apply deployments/cache", "apply poddisruptionbudgets/cache")
	w.mustHold("afterwards", objects...)
}
