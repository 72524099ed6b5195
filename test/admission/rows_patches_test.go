// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
)

// patch returns a spec with one patch: target as YAML, the patch as it is.
func patch(target, patch string) string {
	return "patches:\n- target: {" + target + "}\n  patch: |-\n    " + strings.ReplaceAll(patch, "\n", "\n    ")
}

// pod returns a spec with a strategic merge patch of the pods.
func pod(fields string) string {
	return patch("kind: Deployment", "spec: {template: {spec: "+fields+"}}")
}

// operations returns a spec with a JSON patch of the Deployment.
func operations(list string) string { return patch("kind: Deployment", list) }

// patched returns a row whose patch the operator applies.
func patched(name, spec string, rights ...string) row {
	return row{name: name, spec: spec, field: "spec.patches", rights: append([]string{createDeployments}, rights...)}
}

// unpatched returns a row whose patch the operator refuses, whoever sets it.
func unpatched(name, spec string, rights ...string) row {
	r := patched(name, spec, rights...)
	r.stalled = "spec.patches[0]"
	return r
}

const aliases = "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n" +
	"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]"

// patchRows change the objects themselves. Whoever may create Deployments may have what
// the first of them ask for, by a Deployment of their own.
var patchRows = []row{
	patched("mounts the node's files", pod("{volumes: [{name: root, hostPath: {path: /}}], containers: [{name: memcached, volumeMounts: [{name: root, mountPath: /host}]}]}")),
	patched("runs a privileged container", pod("{containers: [{name: memcached, securityContext: {privileged: true, allowPrivilegeEscalation: true}}]}")),
	patched("adds capabilities", pod("{containers: [{name: memcached, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}")),
	patched("runs as root", pod("{securityContext: {runAsUser: 0, runAsNonRoot: false}}")),
	patched("uses the node's network", pod("{hostNetwork: true}")),
	patched("sees the node's processes", operations(`[{"op": "add", "path": "/spec/template/spec/hostPID", "value": true}]`)),
	patched("shares the node's memory", operations(`[{"op": "add", "path": "/spec/template/spec/hostIPC", "value": true}]`)),
	patched("opens a port of the node", pod("{containers: [{name: memcached, ports: [{containerPort: 11211, protocol: TCP, hostPort: 11211}]}]}")),
	patched("chooses its node", pod("{nodeName: control-plane}")),
	patched("runs as another service account, by a patch", pod("{serviceAccountName: admin}")),
	patched("mounts a token of the API server", pod("{automountServiceAccountToken: true}")),
	patched("mounts a token by a volume", pod("{volumes: [{name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}]}")),
	patched("mounts a Secret", pod("{volumes: [{name: stolen, secret: {secretName: database}}]}")),
	patched("reads a Secret into the environment", pod("{containers: [{name: memcached, envFrom: [{secretRef: {name: database}}]}]}")),
	patched("pulls images with a Secret, by a patch", pod("{imagePullSecrets: [{name: registry}]}")),
	patched("changes the image, by a patch", pod("{containers: [{name: memcached, image: registry.example.com/thief}]}")),
	patched("adds a sidecar", pod("{containers: [{name: thief, image: registry.example.com/thief}]}")),
	patched("adds an init container", pod("{initContainers: [{name: thief, image: registry.example.com/thief}]}")),
	patched("shares processes between containers", pod("{shareProcessNamespace: true}")),
	patched("runs another command", pod("{containers: [{name: memcached, command: [sh, -c, 'memcached -U 11211']}]}")),
	patched("opens UDP by an argument", operations(`[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--udp-port=11211"}]`)),
	patched("runs a program in a hook", pod("{containers: [{name: memcached, lifecycle: {postStart: {exec: {command: [sh, -c, id]}}}}]}")),
	patched("removes a probe", operations(`[{"op": "remove", "path": "/spec/template/spec/containers/0/readinessProbe"}]`)),
	patched("requests an extended resource, by a patch", pod("{containers: [{name: memcached, resources: {limits: {nvidia.com/gpu: '8'}}}]}")),
	patched("keeps pods of all namespaces away, by a patch",
		pod("{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, namespaceSelector: {}, labelSelector: {}}]}}}")),
	patched("adds a label that another Service selects, by a patch", patch("kind: Deployment", "spec: {template: {metadata: {labels: {role: checkout}}}}")),
	patched("adds an annotation that injects a sidecar, by a patch", patch("kind: Deployment", "spec: {template: {metadata: {annotations: {sidecar.istio.io/inject: 'true'}}}}")),
	patched("names the group of the Deployment", patch("kind: Deployment, group: apps", "spec: {template: {spec: {hostNetwork: true}}}")),
	patched("names the Deployment", patch("kind: Deployment, name: NAME", "spec: {template: {spec: {hostNetwork: true}}}")),
	patched("claims addresses of others for its Service", patch("kind: Service", "spec: {externalIPs: [192.0.2.1]}"), createServices),
	patched("asks the cloud for a load balancer",
		patch("kind: Service", `[{"op": "add", "path": "/metadata/annotations", "value": {"service.beta.kubernetes.io/aws-load-balancer-internal": "false"}}]`), createServices),
	patched("keeps nodes from being drained, by a patch", patch("kind: PodDisruptionBudget", "spec: {maxUnavailable: 0}"), createBudgets),
	patched("lets everybody in, by a patch of the network policy",
		"networkPolicy: {from: [{podSelector: {}}]}\n"+patch("kind: NetworkPolicy", `[{"op": "replace", "path": "/spec/ingress", "value": [{}]}]`), createNetworkPolicies),
	patched("scrapes other pods, by a patch of the ServiceMonitor",
		"metrics: {serviceMonitor: {}}\n"+patch("kind: ServiceMonitor", "spec: {namespaceSelector: {any: true}}"), createMonitors),
	patched("silences alerts, by a patch of the PrometheusRule", "metrics: {rules: {}}\n"+patch("kind: PrometheusRule", "spec: {groups: []}"), createRules),
	patched("patches a Service behind a Deployment",
		"patches: [{target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 1}'}, {target: {kind: Service}, patch: 'spec: {externalIPs: [192.0.2.1]}'}]", createServices),

	unpatched("moves the object to another namespace", patch("kind: Deployment", "metadata: {namespace: kube-system}")),
	unpatched("moves the object to another namespace, by an operation", operations(`[{"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}]`)),
	unpatched("renames the object", operations(`[{"op": "replace", "path": "/metadata/name", "value": "checkout"}]`)),
	unpatched("lets the server name the object", operations(`[{"op": "add", "path": "/metadata/generateName", "value": "x-"}]`)),
	unpatched("changes the kind", patch("kind: Deployment", "{apiVersion: apps/v1, kind: DaemonSet}")),
	unpatched("changes the kind, by an operation", operations(`[{"op": "replace", "path": "/kind", "value": "DaemonSet"}]`)),
	unpatched("changes the group, by an operation", operations(`[{"op": "replace", "path": "/apiVersion", "value": "rbac.authorization.k8s.io/v1"}]`)),
	unpatched("replaces the whole object", operations(`[{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}}]`)),
	unpatched("removes the object", patch("kind: Deployment", "$patch: delete")),
	unpatched("replaces the object by a directive", patch("kind: Deployment", "$patch: replace")),
	unpatched("removes the owner", operations(`[{"op": "remove", "path": "/metadata/ownerReferences"}]`)),
	unpatched("changes the owner", operations(`[{"op": "replace", "path": "/metadata/ownerReferences/0/name", "value": "other"}]`)),
	unpatched("adds a finalizer", patch("kind: Deployment", "metadata: {finalizers: [example.com/stay]}")),
	unpatched("changes the selector", patch("kind: Deployment", "spec: {selector: {matchLabels: {role: checkout}}}")),
	unpatched("changes a label of the operator", patch("kind: Deployment", "metadata: {labels: {app.kubernetes.io/managed-by: Helm}}")),
	unpatched("changes a pod label of the operator", patch("kind: Deployment", "spec: {template: {metadata: {labels: {memcached_cr: other}}}}")),
	unpatched("writes a status", patch("kind: Deployment", "status: {replicas: 9}")),
	unpatched("copies a part of the object into itself", operations(`[{"op": "copy", "from": "/spec", "path": "/spec/a"}]`)),
	unpatched("expands aliases", patch("kind: Deployment", aliases)),
	unpatched("is a word", patch("kind: Deployment", "hostNetwork")),
	unpatched("is no YAML", patch("kind: Deployment", "{{{")),
	unpatched("names an unknown operation", operations(`[{"op": "merge", "path": "/spec"}]`)),
	unpatched("replaces what does not exist", operations(`[{"op": "replace", "path": "/spec/template/spec/containers/7/image", "value": "x"}]`)),
	unpatched("sets an unknown field", pod("{hostNetwerk: true}")),
	unpatched("names another tenant's Deployment", patch("kind: Deployment, name: checkout", "spec: {replicas: 0}")),
	unpatched("names another version", patch("kind: Deployment", "{apiVersion: extensions/v1beta1, spec: {replicas: 0}}")),
	unpatched("points the Service at other pods", patch("kind: Service", "spec: {selector: {role: checkout}}"), createServices),
	unpatched("points the Service at no pods", patch("kind: Service", `[{"op": "remove", "path": "/spec/selector"}]`), createServices),
	unpatched("points the budget at other pods", patch("kind: PodDisruptionBudget", "spec: {selector: {matchLabels: {role: checkout}}}"), createBudgets),
	unpatched("points the network policy at other pods",
		"networkPolicy: {from: [{podSelector: {}}]}\n"+patch("kind: NetworkPolicy", "spec: {podSelector: {matchLabels: {role: checkout}}}"), createNetworkPolicies),
	unpatched("patches a Role", patch("kind: Role, group: rbac.authorization.k8s.io", "rules: []"), "create roles.rbac.authorization.k8s.io"),
	unpatched("patches a binding of the cluster", patch("kind: ClusterRoleBinding, group: rbac.authorization.k8s.io", "subjects: []"), "create clusterrolebindings.rbac.authorization.k8s.io"),
	unpatched("patches a Secret", patch("kind: Secret, group: ''", "data: {}"), "create secrets"),
	unpatched("patches a Deployment of another group", patch("kind: Deployment, group: example.com", "spec: {}"), "create deployments.example.com"),
	unpatched("patches a kind whose plural ends in es", patch("kind: Ingress, group: networking.k8s.io", "spec: {}"), "create ingresses.networking.k8s.io"),
	unpatched("patches a kind whose plural ends in ies", patch("kind: Policy, group: example.com", "spec: {}"), "create policies.example.com"),
	unpatched("patches a kind whose plural ends in ys", patch("kind: Gateway, group: gateway.networking.k8s.io", "spec: {}"), "create gateways.gateway.networking.k8s.io"),
	unpatched("patches the Memcached itself", patch("kind: Memcached, group: cache.example.com", "spec: {size: 9}")),
}
