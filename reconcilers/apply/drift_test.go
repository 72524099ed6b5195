// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/reconcilers/render"
)

// What others change of what we render is put back, by exactly one write.
func TestApply_RevertsDrift(t *testing.T) {
	t.Parallel()
	once := func(resource string) []string { return []string{"apply " + resource + "/cache"} }
	// Without the label the object leaves the cache; the server knows better.
	unlabelled := func(resource string) []string {
		return []string{"apply " + resource + "/cache 409", "get " + resource + "/cache", "apply " + resource + "/cache"}
	}
	reclaimed := func(resource string) []string {
		return []string{"apply " + resource + "/cache 422", "get " + resource + "/cache", "patch " + resource + "/cache", "apply " + resource + "/cache"}
	}
	for sentence, test := range map[string]struct {
		kind   string
		change func(w *env, object *unstructured.Unstructured)
		want   []string
	}{
		"the Deployment is scaled": {"Deployment", func(w *env, object *unstructured.Unstructured) {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 1}}
			must(w.t, suite.admin.SubResource("scale").Update(w.t.Context(), object.DeepCopy(), client.WithSubResourceBody(scale), client.FieldOwner("kubectl")))
		}, once("deployments")},
		"the image is edited": {"Deployment", updated(func(live *unstructured.Unstructured) {
			container(live)["image"] = "memcached:latest"
		}), once("deployments")},
		"another manager takes the image by force": {"Deployment", func(w *env, object *unstructured.Unstructured) {
			w.applyAs("someone", object, `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: memcached, image: "memcached:latest"}]}}}}`)
		}, once("deployments")},
		"an environment variable is removed": {"Deployment", updated(func(live *unstructured.Unstructured) {
			container(live)["env"] = container(live)["env"].([]any)[1:]
		}), once("deployments")},
		"an environment variable is edited": {"Deployment", updated(func(live *unstructured.Unstructured) {
			container(live)["env"].([]any)[0].(map[string]any)["value"] = "2048"
		}), once("deployments")},
		"an environment variable of ours is written a second time": {"Deployment", updated(func(live *unstructured.Unstructured) {
			container(live)["env"] = append(container(live)["env"].([]any), map[string]any{"name": "MEMCACHED_THREADS", "value": "1"})
		}), once("deployments")},
		"an argument is added": {"Deployment", updated(func(live *unstructured.Unstructured) {
			container(live)["args"] = append(container(live)["args"].([]any), "--verbose")
		}), once("deployments")},
		"a memory limit is edited": {"Deployment", updated(func(live *unstructured.Unstructured) {
			container(live)["resources"].(map[string]any)["limits"].(map[string]any)["memory"] = "1Gi"
		}), once("deployments")},
		"a probe is removed": {"Deployment", updated(func(live *unstructured.Unstructured) {
			delete(container(live), "readinessProbe")
		}), once("deployments")},
		"a label is removed": {"Deployment", updated(func(live *unstructured.Unstructured) {
			relabel(live, "app.kubernetes.io/name", "")
		}), once("deployments")},
		"a label of the pods is edited": {"Deployment", updated(func(live *unstructured.Unstructured) {
			labels := live.Object["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any)
			labels["app.kubernetes.io/component"] = "database"
		}), once("deployments")},
		"the label by which caches select is removed": {"Deployment", updated(func(live *unstructured.Unstructured) {
			relabel(live, render.ManagedByLabel, "")
		}), unlabelled("deployments")},
		"the label by which caches select is edited": {"Service", updated(func(live *unstructured.Unstructured) {
			relabel(live, render.ManagedByLabel, "Helm")
		}), unlabelled("services")},
		"label and owner reference are removed": {"Service", updated(func(live *unstructured.Unstructured) {
			relabel(live, render.ManagedByLabel, "")
			live.SetOwnerReferences(nil)
		}), unlabelled("services")},
		"the owner reference is removed": {"Deployment", updated(func(live *unstructured.Unstructured) {
			live.SetOwnerReferences(nil)
		}), once("deployments")},
		"the owner reference no longer names a controller": {"Deployment", updated(func(live *unstructured.Unstructured) {
			references := live.GetOwnerReferences()
			references[0].Controller = nil
			live.SetOwnerReferences(references)
		}), once("deployments")},
		"managedFields are erased": {"Deployment", updated(func(live *unstructured.Unstructured) {
			live.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
		}), []string{"get deployments/cache", "apply deployments/cache"}},
		"a key is added to the Service's selector, an atomic map": {"Service", updated(func(live *unstructured.Unstructured) {
			live.Object["spec"].(map[string]any)["selector"].(map[string]any)["more"] = "yes"
		}), once("services")},
		// An apply would put our port beside theirs, under the same name.
		"the number of the Service's port is edited": {"Service", updated(func(live *unstructured.Unstructured) {
			live.Object["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["port"] = int64(11212)
		}), reclaimed("services")},
		"the container's port gets another number": {"Deployment", updated(func(live *unstructured.Unstructured) {
			container(live)["ports"].([]any)[0].(map[string]any)["containerPort"] = int64(11212)
		}), reclaimed("deployments")},
		"the Service's port is edited": {"Service", updated(func(live *unstructured.Unstructured) {
			live.Object["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["targetPort"] = int64(1)
		}), once("services")},
		"the PodDisruptionBudget is replaced by another of its kind": {"PodDisruptionBudget", updated(func(live *unstructured.Unstructured) {
			live.Object["spec"].(map[string]any)["maxUnavailable"] = "50%"
		}), once("poddisruptionbudgets")},
		"the PodDisruptionBudget gets a minAvailable instead of maxUnavailable": {"PodDisruptionBudget", updated(func(live *unstructured.Unstructured) {
			spec := live.Object["spec"].(map[string]any)
			delete(spec, "maxUnavailable")
			spec["minAvailable"] = int64(1)
		}), reclaimed("poddisruptionbudgets")},
		"the probe gets another handler": {"Deployment", updated(func(live *unstructured.Unstructured) {
			probe := container(live)["readinessProbe"].(map[string]any)
			for _, handler := range []string{"tcpSocket", "exec", "httpGet"} {
				delete(probe, handler)
			}
			probe["httpGet"] = map[string]any{"path": "/", "port": int64(80)}
		}), reclaimed("deployments")},
		"the Deployment is paused": {"Deployment", updated(func(live *unstructured.Unstructured) {
			live.Object["spec"].(map[string]any)["paused"] = true
		}), once("deployments")},
		"the Deployment's strategy becomes Recreate": {"Deployment", updated(func(live *unstructured.Unstructured) {
			live.Object["spec"].(map[string]any)["strategy"] = map[string]any{"type": "Recreate"}
		}), once("deployments")},
		"the Deployment is deleted": {"Deployment", func(w *env, object *unstructured.Unstructured) {
			w.delete(object)
		}, once("deployments")},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			objects := w.rendered()
			w.applied(objects...)
			changed := objects[0]
			for _, object := range objects {
				if object.GetKind() == test.kind {
					changed = object
				}
			}
			before := essence(w.live(changed))
			test.change(w, changed)
			w.settle(objects...)
			results := w.applyAll(objects)
			w.requests.mustBe(t, "once it changed", test.want...)
			for _, result := range results {
				if result.Err != nil || result.Drift != "" {
					t.Errorf("%s is %s: %v %s", result.Object.GetKind(), result.Action, result.Err, result.Drift)
				}
			}
			mustBeSame(t, essence(w.live(changed)), before)
			w.mustHold("once it is reverted", objects...)
		})
	}
}

func TestApply_RevertsExternalNameService(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	objects := w.rendered()
	w.applied(objects...)
	service := objects[0]
	w.update("someone", service, func(live *unstructured.Unstructured) {
		live.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "example.com"}
	})
	w.settle(service)
	w.apply("once it changed", apply.Configured, service)
	spec := w.live(service).Object["spec"].(map[string]any)
	// The name is theirs, and means nothing for a Service of this type.
	if spec["type"] != "ClusterIP" || spec["clusterIP"] != "None" || len(spec["ports"].([]any)) != 1 {
		t.Errorf("the Service is %v", spec)
	}
	w.requests.take()
	w.mustHold("once it is reverted", service)
}

// A difference is also put back where the first look at it comes from the cache of
// an operator that was just started.
func TestApply_RevertsDriftAfterRestart(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	objects := w.rendered()
	w.applied(objects...)
	w.update("kubectl-edit", w.deployment(), func(live *unstructured.Unstructured) { container(live)["image"] = "memcached:latest" })
	w.settle(objects...)
	w.restart()
	w.applyAll(objects)
	w.requests.mustBe(t, "after the restart", "apply deployments/cache")
	w.mustHold("once it is reverted", objects...)
}

func TestApply_RevertsDriftOfEveryKind(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		text    string
		change  func(live *unstructured.Unstructured)
		request string
	}{
		"a key of a ConfigMap": {
			`{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
			func(live *unstructured.Unstructured) { live.Object["data"] = map[string]any{"a": "1", "b": "3"} },
			"apply configmaps/cache",
		},
		"a rule of a NetworkPolicy": {
			`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, ingress: [{ports: [{port: 1, protocol: TCP}]}]}}`,
			func(live *unstructured.Unstructured) {
				rule := live.Object["spec"].(map[string]any)["ingress"].([]any)[0].(map[string]any)
				rule["from"] = []any{map[string]any{"podSelector": map[string]any{}}}
			},
			"apply networkpolicies/cache",
		},
		"a rule of a Role": {
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [list, watch]}]}`,
			func(live *unstructured.Unstructured) { live.Object["rules"] = []any{} },
			"apply roles/cache",
		},
		"a pull secret of a ServiceAccount": {
			`{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: a}]}`,
			func(live *unstructured.Unstructured) { delete(live.Object, "imagePullSecrets") },
			"apply serviceaccounts/cache",
		},
		"an item of a custom resource's list-map": {
			`{apiVersion: test.example.com/v1, kind: Widget, spec: {ports: [{name: a, port: 1}, {name: b, port: 2}]}}`,
			func(live *unstructured.Unstructured) {
				live.Object["spec"].(map[string]any)["ports"].([]any)[1].(map[string]any)["port"] = int64(3)
			},
			"apply widgets/cache",
		},
		"sets a field of a custom resource without a schema": {
			`{apiVersion: loose.example.com/v1, kind: Gadget, spec: {a: 1, list: [{b: 1}]}}`,
			func(live *unstructured.Unstructured) {
				live.Object["spec"].(map[string]any)["list"] = []any{map[string]any{"b": int64(2)}}
			},
			"apply gadgets/cache",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(test.text)
			w.applied(object)
			before := essence(w.live(object))
			w.update("someone", object, test.change)
			w.settle(object)
			w.apply("once it changed", apply.Configured, object)
			w.requests.mustBe(t, "once it changed", test.request)
			mustBeSame(t, essence(w.live(object)), before)
			w.mustHold("once it is reverted", object)
		})
	}
}

// updated is an Update by another client.
func updated(change func(live *unstructured.Unstructured)) func(*env, *unstructured.Unstructured) {
	return func(w *env, object *unstructured.Unstructured) { w.update("someone", object, change) }
}
