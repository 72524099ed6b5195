// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
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

var tutorialDeploymentTests = map[string]struct {
	manager string
	// change is what happened to the Deployment since.
	change func(w *env, object *unstructured.Unstructured)
	want   []string
}{
	"equals itself": {
		"manager",
		func(*env, *unstructured.Unstructured) {},
		[]string{"apply deployments/cache 409", "get deployments/cache", "patch deployments/cache", "apply deployments/cache"},
	},
	"made by an operator of another name": {
		"main",
		func(*env, *unstructured.Unstructured) {},
		[]string{"apply deployments/cache 409", "get deployments/cache", "patch deployments/cache", "apply deployments/cache"},
	},
	"was scaled by the other operator, with a status": {
		"manager",
		func(w *env, object *unstructured.Unstructured) {
			w.update("manager", object, func(live *unstructured.Unstructured) {
				live.Object["spec"].(map[string]any)["replicas"] = int64(1)
			})
			w.updateStatus(object, func(live *unstructured.Unstructured) {
				live.Object["status"] = map[string]any{"replicas": int64(1)}
			})
		},
		[]string{"apply deployments/cache 409", "get deployments/cache", "patch deployments/cache", "apply deployments/cache"},
	},
	"with our label, which a user put there, so that it is in the cache": {
		"manager",
		func(w *env, object *unstructured.Unstructured) {
			w.update("kubectl-label", object, func(live *unstructured.Unstructured) {
				live.SetLabels(map[string]string{render.ManagedByLabel: render.ManagedBy})
			})
			w.settle(object)
		},
		[]string{"get deployments/cache", "patch deployments/cache", "apply deployments/cache"},
	},
}

func TestAdopt_TutorialDeployment(t *testing.T) {
	t.Parallel()
	for sentence, test := range tutorialDeploymentTests {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			before := w.tutorial(test.manager)
			w.update("kubectl-annotate", before, func(live *unstructured.Unstructured) {
				live.SetAnnotations(map[string]string{"example.com/note": "keep"})
			})
			test.change(w, before)

			object := w.deployment()
			result := w.apply("at first", apply.Configured, object)[0]
			w.requests.mustBe(t, "at first", test.want...)
			if result.Drift != "" {
				t.Errorf("it is said that the server changed %s", result.Drift)
			}
			live := w.live(object)
			if live.GetUID() != before.GetUID() {
				t.Error("it was replaced, not taken over")
			}
			if note := live.GetAnnotations()["example.com/note"]; note != "keep" {
				t.Errorf("the user's annotation is %q", note)
			}
			mustBeSame(t, get(t, live, "spec", "selector").(map[string]any), get(t, before, "spec", "selector").(map[string]any))
			if got := container(live)["imagePullPolicy"]; got != "IfNotPresent" {
				t.Errorf("imagePullPolicy is %v, want the default: it was set, and is not rendered", got)
			}
			if user, ok := container(live)["securityContext"].(map[string]any)["runAsUser"]; ok {
				t.Errorf("the container's runAsUser is still %v, and is not rendered", user)
			}
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

// An adoption that is interrupted is continued by the next reconcile.
func TestAdopt_ContinuesAfterInterruption(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	before := w.tutorial("manager")
	object := w.deployment()
	quarrel := func() {
		w.update("kubectl-annotate", before, func(live *unstructured.Unstructured) {
			live.SetAnnotations(map[string]string{"example.com/note": "keep"})
		})
	}
	w.requests.between("patch deployments/cache", quarrel)
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
	must(t, suite.admin.Delete(t.Context(), w.owner.DeepCopy()))
	w.owner = w.memcached("cache", 3)
	objects = w.rendered()
	w.settle(objects...)
	w.apply("for the next Memcached of the name", apply.Configured, objects...)
	w.requests.mustBe(t, "for the next Memcached of the name", "apply services/cache", "apply deployments/cache", "apply poddisruptionbudgets/cache")
	w.mustHold("afterwards", objects...)
}
