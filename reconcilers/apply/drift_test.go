// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

// once is one write.
func once(resource string) []string { return []string{"apply " + resource + "/cache"} }

// unlabelled are the requests for an object without the label, which is not in the cache: the server knows better.
func unlabelled(resource string) []string {
	return []string{"apply " + resource + "/cache 409", "get " + resource + "/cache", "apply " + resource + "/cache"}
}

// reclaimed are the requests for an object that another client gave an alternative to a field of ours.
func reclaimed(resource string) []string {
	return []string{"apply " + resource + "/cache 422", "get " + resource + "/cache", "patch " + resource + "/cache", "apply " + resource + "/cache"}
}

// reread are the requests for an object without our managedFields.
func reread(resource string) []string {
	return []string{"get " + resource + "/cache", "apply " + resource + "/cache"}
}

// drifts are changes of the shipped objects, each with the requests that revert it.
var drifts = map[string]struct {
	kind   string
	change change
	want   func(resource string) []string
}{
	"the Deployment is scaled": {"Deployment", func(w *env, object *unstructured.Unstructured) {
		scale := client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 1}})
		testenv.NoError(w.t, suite.Client.SubResource("scale").Update(w.t.Context(), object.DeepCopy(), scale, client.FieldOwner("kubectl")))
	}, once},
	"another manager takes the image by force": {"Deployment", func(w *env, object *unstructured.Unstructured) {
		w.applyAs("someone", object, `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: memcached, image: "memcached:latest"}]}}}}`)
	}, once},
	"the Deployment is deleted":              {"Deployment", (*env).delete, once},
	"the Deployment is paused":               {"Deployment", patched("replace /spec/paused true"), once},
	"the strategy becomes Recreate":          {"Deployment", patched(`replace /spec/strategy {"type": "Recreate"}`), once},
	"the image is edited":                    {"Deployment", patched(`replace /spec/template/spec/containers/0/image "memcached:latest"`), once},
	"an environment variable is removed":     {"Deployment", patched("remove /spec/template/spec/containers/0/env/0"), once},
	"an environment variable is edited":      {"Deployment", patched(`replace /spec/template/spec/containers/0/env/0/value "2048"`), once},
	"an environment variable is there twice": {"Deployment", patched(`add /spec/template/spec/containers/0/env/- {"name": "MEMCACHED_THREADS", "value": "1"}`), once},
	"an argument is added":                   {"Deployment", patched(`add /spec/template/spec/containers/0/args/- "--verbose"`), once},
	"a memory limit is edited":               {"Deployment", patched(`replace /spec/template/spec/containers/0/resources/limits/memory "1Gi"`), once},
	"a probe is removed":                     {"Deployment", patched("remove /spec/template/spec/containers/0/readinessProbe"), once},
	"a label is removed":                     {"Deployment", patched("remove /metadata/labels/app.kubernetes.io~1name"), once},
	"a label of the pods is edited":          {"Deployment", patched(`replace /spec/template/metadata/labels/app.kubernetes.io~1component "database"`), once},
	"the owner reference is removed":         {"Deployment", patched("remove /metadata/ownerReferences"), once},
	"the owner is no controller any more":    {"Deployment", patched("remove /metadata/ownerReferences/0/controller"), once},
	"a target port is edited":                {"Service", patched("replace /spec/ports/0/targetPort 1"), once},
	"a key is added to an atomic map":        {"Service", patched(`add /spec/selector/more "yes"`), once},
	"a number becomes a percentage":          {"PodDisruptionBudget", patched(`replace /spec/maxUnavailable "50%"`), once},
	"managedFields are erased":               {"Deployment", patched("replace /metadata/managedFields [{}]"), reread},

	"the label by which caches select is removed": {"Deployment", patched("remove /metadata/labels/app.kubernetes.io~1managed-by"), unlabelled},
	"the label by which caches select is edited":  {"Service", patched(`replace /metadata/labels/app.kubernetes.io~1managed-by "Helm"`), unlabelled},
	"label and owner reference are removed": {"Service",
		patched("remove /metadata/labels/app.kubernetes.io~1managed-by", "remove /metadata/ownerReferences"), unlabelled},

	// An apply would put our port beside theirs, under the same name.
	"the number of the Service's port is edited":    {"Service", patched("replace /spec/ports/0/port 11212"), reclaimed},
	"the number of a container's port is edited":    {"Deployment", patched("replace /spec/template/spec/containers/0/ports/0/containerPort 11212"), reclaimed},
	"minAvailable is set instead of maxUnavailable": {"PodDisruptionBudget", patched("remove /spec/maxUnavailable", "add /spec/minAvailable 1"), reclaimed},
	"the probe gets another handler": {"Deployment", patched("remove /spec/template/spec/containers/0/readinessProbe/tcpSocket",
		`add /spec/template/spec/containers/0/readinessProbe/httpGet {"path": "/", "port": 80}`), reclaimed},
}

// Drift is reverted by exactly one write.
func TestApply_RevertsDrift(t *testing.T) {
	t.Parallel()
	for sentence, test := range drifts {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			objects := w.rendered()
			w.applied(objects...)
			changed := ofKind(test.kind, objects)
			before := essence(w.live(changed))
			test.change(w, changed)
			w.settle(objects...)
			results := w.applyAll(objects)
			w.requests.mustBe(t, "once it changed", test.want(strings.ToLower(test.kind)+"s")...)
			for _, result := range results {
				if result.Err != nil || result.Mutation != "" {
					t.Errorf("%s is %s: %v %s", result.Object.GetKind(), result.Action, result.Err, result.Mutation)
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
	patched(`replace /spec {"type": "ExternalName", "externalName": "example.com"}`)(w, service)
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

// Drift is also reverted where it is first read from the cache of an operator that was just started.
func TestApply_RevertsDriftAfterRestart(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	objects := w.rendered()
	w.applied(objects...)
	patched(`replace /spec/template/spec/containers/0/image "memcached:latest"`)(w, w.deployment())
	w.settle(objects...)
	w.restart()
	w.applyAll(objects)
	w.requests.mustBe(t, "after the restart", "apply deployments/cache")
	w.mustHold("once it is reverted", objects...)
}

// driftsOfKinds are changes of objects that templates may have besides the shipped ones.
var driftsOfKinds = map[string]struct {
	text    string
	change  change
	request string
}{
	"a key of a ConfigMap": {
		`{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`, patched(`replace /data/b "3"`), "apply configmaps/cache",
	},
	"a rule of a NetworkPolicy": {
		`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, ingress: [{ports: [{port: 1, protocol: TCP}]}]}}`,
		patched(`add /spec/ingress/0/from [{"podSelector": {}}]`), "apply networkpolicies/cache",
	},
	"a rule of a Role": {
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [list, watch]}]}`,
		patched("replace /rules []"), "apply roles/cache",
	},
	"a pull secret of a ServiceAccount": {
		`{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: a}]}`, patched("remove /imagePullSecrets"), "apply serviceaccounts/cache",
	},
	"an item of a custom resource's list-map": {
		`{apiVersion: test.example.com/v1, kind: Widget, spec: {ports: [{name: a, port: 1}, {name: b, port: 2}]}}`,
		patched("replace /spec/ports/1/port 3"), "apply widgets/cache",
	},
	"a field of a custom resource without a schema": {
		`{apiVersion: loose.example.com/v1, kind: Gadget, spec: {a: 1, list: [{b: 1}]}}`, patched(`replace /spec/list [{"b": 2}]`), "apply gadgets/cache",
	},
}

func TestApply_RevertsDriftOfEveryKind(t *testing.T) {
	t.Parallel()
	for sentence, test := range driftsOfKinds {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			object := w.made(test.text)
			w.applied(object)
			before := essence(w.live(object))
			test.change(w, object)
			w.settle(object)
			w.apply("once it changed", apply.Configured, object)
			w.requests.mustBe(t, "once it changed", test.request)
			mustBeSame(t, essence(w.live(object)), before)
			w.mustHold("once it is reverted", object)
		})
	}
}
