// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"
	"testing"
)

// patch is a spec with one patch: target as YAML, the patch as it is.
func patch(target, patch string) string {
	return "patches:\n- target: {" + target + "}\n  patch: |-\n    " + strings.ReplaceAll(patch, "\n", "\n    ")
}

// pod is a spec with a strategic merge patch of the pods.
func pod(fields string) string {
	return patch("kind: Deployment", "spec: {template: {spec: "+fields+"}}")
}

// onDeployment is a row whose patch is of Deployments only.
func onDeployment(spec, stalled string) attack {
	return attack{spec: spec, refused: "spec.patches: setting it takes the right to create deployments.apps", rights: []string{deployments}, stalled: stalled}
}

// on is a row whose patch is of another kind.
func on(right, spec, stalled string) attack {
	return attack{spec: spec, refused: "spec.patches", rights: []string{deployments, right}, stalled: stalled}
}

// Who may create Deployments may have all of these by one of his own. What would break
// the operator's hold of its objects is refused to everybody, by the operator.
var byPatches = map[string]attack{
	"the node's files":             onDeployment(pod("{volumes: [{name: root, hostPath: {path: /}}], containers: [{name: memcached, volumeMounts: [{name: root, mountPath: /host}]}]}"), ""),
	"a privileged container":       onDeployment(pod("{containers: [{name: memcached, securityContext: {privileged: true, allowPrivilegeEscalation: true}}]}"), ""),
	"capabilities":                 onDeployment(pod("{containers: [{name: memcached, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}"), ""),
	"root":                         onDeployment(pod("{securityContext: {runAsUser: 0, runAsNonRoot: false}}"), ""),
	"the node's network":           onDeployment(pod("{hostNetwork: true}"), ""),
	"the node's processes":         onDeployment(patch("kind: Deployment", `[{"op": "add", "path": "/spec/template/spec/hostPID", "value": true}]`), ""),
	"the node's shared memory":     onDeployment(patch("kind: Deployment", `[{"op": "add", "path": "/spec/template/spec/hostIPC", "value": true}]`), ""),
	"a port of the node":           onDeployment(pod("{containers: [{name: memcached, ports: [{containerPort: 11211, protocol: TCP, hostPort: 11211}]}]}"), ""),
	"a node of the author's":       onDeployment(pod("{nodeName: control-plane}"), ""),
	"a foreign service account":    onDeployment(pod("{serviceAccountName: admin}"), ""),
	"a token of the API server":    onDeployment(pod("{automountServiceAccountToken: true}"), ""),
	"a token by a volume":          onDeployment(pod("{volumes: [{name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}]}"), ""),
	"a Secret by a volume":         onDeployment(pod("{volumes: [{name: stolen, secret: {secretName: database}}]}"), ""),
	"a Secret by the environment":  onDeployment(pod("{containers: [{name: memcached, envFrom: [{secretRef: {name: database}}]}]}"), ""),
	"a Secret to pull images with": onDeployment(pod("{imagePullSecrets: [{name: registry}]}"), ""),
	"a sidecar":                    onDeployment(pod("{containers: [{name: thief, image: registry.example.com/thief}]}"), ""),
	"an init container":            onDeployment(pod("{initContainers: [{name: thief, image: registry.example.com/thief}]}"), ""),
	"processes shared":             onDeployment(pod("{shareProcessNamespace: true}"), ""),
	"another command":              onDeployment(pod("{containers: [{name: memcached, command: [sh, -c, 'memcached -U 11211']}]}"), ""),
	"UDP by an argument":           onDeployment(patch("kind: Deployment", `[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--udp-port=11211"}]`), ""),
	"a hook that runs a program":   onDeployment(pod("{containers: [{name: memcached, lifecycle: {postStart: {exec: {command: [sh, -c, id]}}}}]}"), ""),
	"no probe":                     onDeployment(patch("kind: Deployment", `[{"op": "remove", "path": "/spec/template/spec/containers/0/readinessProbe"}]`), ""),
	"pods that another Service selects": onDeployment(
		patch("kind: Deployment", "spec: {template: {metadata: {labels: {role: checkout}}}}"), ""),
	"an injector's annotation": onDeployment(
		patch("kind: Deployment", "spec: {template: {metadata: {annotations: {sidecar.istio.io/inject: 'true'}}}}"), ""),
	"a group given by name": onDeployment(patch("kind: Deployment, group: apps", "spec: {template: {spec: {hostNetwork: true}}}"), ""),

	"another namespace":             onDeployment(patch("kind: Deployment", "metadata: {namespace: kube-system}"), "a patch may not change metadata.namespace"),
	"another namespace, by JSON":    onDeployment(patch("kind: Deployment", `[{"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}]`), "a patch may not change metadata.namespace"),
	"another name":                  onDeployment(patch("kind: Deployment", `[{"op": "replace", "path": "/metadata/name", "value": "checkout"}]`), "a patch may not change metadata.name"),
	"a name made by the server":     onDeployment(patch("kind: Deployment", `[{"op": "add", "path": "/metadata/generateName", "value": "x-"}]`), "a patch may not change metadata.generateName"),
	"another kind":                  onDeployment(patch("kind: Deployment", "{apiVersion: apps/v1, kind: DaemonSet}"), "the patch is for kind DaemonSet"),
	"another kind, by JSON":         onDeployment(patch("kind: Deployment", `[{"op": "replace", "path": "/kind", "value": "DaemonSet"}]`), "a patch may not change kind"),
	"another version, by JSON":      onDeployment(patch("kind: Deployment", `[{"op": "replace", "path": "/apiVersion", "value": "rbac.authorization.k8s.io/v1"}]`), "a patch may not change apiVersion"),
	"a whole other object, by JSON": onDeployment(patch("kind: Deployment", `[{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}}]`), "spec.patches[0]"),
	"the object removed":            onDeployment(patch("kind: Deployment", "$patch: delete"), "a patch may not remove an object"),
	"no owner":                      onDeployment(patch("kind: Deployment", `[{"op": "remove", "path": "/metadata/ownerReferences"}]`), "a patch may not change metadata.ownerReferences"),
	"another owner":                 onDeployment(patch("kind: Deployment", `[{"op": "replace", "path": "/metadata/ownerReferences/0/name", "value": "other"}]`), "a patch may not change metadata.ownerReferences"),
	"a finalizer":                   onDeployment(patch("kind: Deployment", "metadata: {finalizers: [example.com/stay]}"), "a patch may not change metadata.finalizers"),
	"another selector":              onDeployment(patch("kind: Deployment", "spec: {selector: {matchLabels: {role: checkout}}}"), "a patch may not change spec.selector"),
	"a label of the operator's":     onDeployment(patch("kind: Deployment", "metadata: {labels: {app.kubernetes.io/managed-by: Helm}}"), "a patch may not change the label app.kubernetes.io/managed-by"),
	"a pod label of the operator's": onDeployment(patch("kind: Deployment", "spec: {template: {metadata: {labels: {memcached_cr: other}}}}"), "a patch may not change the label memcached_cr"),
	"a status":                      onDeployment(patch("kind: Deployment", "status: {replicas: 9}"), "a patch may not change status"),
	"an object as large as it gets": onDeployment(patch("kind: Deployment", `[{"op": "copy", "from": "/spec", "path": "/spec/a"}]`), "copy is refused"),
	"aliases upon aliases": onDeployment(patch("kind: Deployment", "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"+
		"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\ng: [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]"), "spec.patches[0]"),
	"what is no patch":             onDeployment(patch("kind: Deployment", "hostNetwork"), "spec.patches[0]"),
	"what is no YAML":              onDeployment(patch("kind: Deployment", "{{{"), "spec.patches[0]"),
	"an operation that is none":    onDeployment(patch("kind: Deployment", `[{"op": "merge", "path": "/spec"}]`), "spec.patches[0]"),
	"a path that is not there":     onDeployment(patch("kind: Deployment", `[{"op": "replace", "path": "/spec/template/spec/containers/7/image", "value": "x"}]`), "spec.patches[0]"),
	"a field that is none":         onDeployment(pod("{hostNetwerk: true}"), "hostNetwerk"),
	"an object of another name":    onDeployment(patch("kind: Deployment, name: checkout", "spec: {replicas: 0}"), "its target selects none"),
	"an object of another version": onDeployment(patch("kind: Deployment", "{apiVersion: extensions/v1beta1, spec: {replicas: 0}}"), "the patch is for apiVersion"),

	"addresses of others on the Service":    on(services, patch("kind: Service", "spec: {externalIPs: [192.0.2.1]}"), ""),
	"a balancer of the cloud":               on(services, patch("kind: Service", `[{"op": "add", "path": "/metadata/annotations", "value": {"service.beta.kubernetes.io/aws-load-balancer-internal": "false"}}]`), ""),
	"the Service before other pods":         on(services, patch("kind: Service", "spec: {selector: {role: checkout}}"), "a patch may not change spec.selector"),
	"the Service before no pods":            on(services, patch("kind: Service", `[{"op": "remove", "path": "/spec/selector"}]`), "a patch may not change spec.selector"),
	"a budget that no drain gets past":      on(budgets, patch("kind: PodDisruptionBudget", "spec: {maxUnavailable: 0}"), ""),
	"a budget for other pods":               on(budgets, patch("kind: PodDisruptionBudget", "spec: {selector: {matchLabels: {role: checkout}}}"), "a patch may not change spec.selector"),
	"a network policy for other pods":       on(policies, "networkPolicy: {from: [{podSelector: {}}]}\n"+patch("kind: NetworkPolicy", "spec: {podSelector: {matchLabels: {role: checkout}}}"), "a patch may not change spec.podSelector"),
	"a network policy that lets all in":     on(policies, "networkPolicy: {from: [{podSelector: {}}]}\n"+patch("kind: NetworkPolicy", `[{"op": "replace", "path": "/spec/ingress", "value": [{}]}]`), ""),
	"a role":                                on("create roles.rbac.authorization.k8s.io", patch("kind: Role, group: rbac.authorization.k8s.io", "rules: []"), "its target selects none"),
	"a binding of the cluster's":            on("create clusterrolebindings.rbac.authorization.k8s.io", patch("kind: ClusterRoleBinding, group: rbac.authorization.k8s.io", "subjects: []"), "its target selects none"),
	"a Secret of the core group":            on("create secrets", patch("kind: Secret, group: ''", "data: {}"), "its target selects none"),
	"an Ingress, whose plural is Ingresses": on("create ingresses.networking.k8s.io", patch("kind: Ingress, group: networking.k8s.io", "spec: {}"), "its target selects none"),
	"a Gateway, whose plural is Gateways":   on("create gateways.gateway.networking.k8s.io", patch("kind: Gateway, group: gateway.networking.k8s.io", "spec: {}"), "its target selects none"),
	"the Memcached itself":                  onDeployment(patch("kind: Memcached, group: cache.example.com", "spec: {size: 9}"), "its target selects none"),

	"a patch in place of an administrator's": {
		before:  pod("{hostAliases: []}"),
		spec:    pod("{hostNetwork: true}"),
		refused: "spec.patches",
		rights:  []string{deployments},
	},
	"an administrator's patches in another order": {
		before:  "patches: [{target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 1}'}, {target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 2}'}]",
		spec:    "patches: [{target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 2}'}, {target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 1}'}]",
		refused: "spec.patches",
		rights:  []string{deployments},
	},
	"patches of a Service behind one of Deployments": {
		spec:    "patches: [{target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 1}'}, {target: {kind: Service}, patch: 'spec: {externalIPs: [192.0.2.1]}'}]",
		refused: "spec.patches",
		rights:  []string{deployments, services},
	},
}

func TestNobodyPatchesWhatHeMayNotCreate(t *testing.T) {
	t.Parallel()
	for sentence, row := range byPatches {
		t.Run(sentence, row.run)
	}
}
