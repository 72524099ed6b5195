// SPDX-License-Identifier: Apache-2.0

package admission

func onPods(name, spec, field string) row {
	return row{name: name, spec: spec, field: field, rights: []string{createDeployments}}
}

// podRows set what other programs, or the cluster itself, read from pods.
var podRows = []row{
	onPods("runs as another service account", "serviceAccountName: admin", "spec.serviceAccountName"),
	onPods("names the default service account", "serviceAccountName: default", "spec.serviceAccountName"),
	onPods("preempts all other pods", "priorityClassName: system-node-critical", "spec.priorityClassName"),
	onPods("preempts most other pods", "priorityClassName: system-cluster-critical", "spec.priorityClassName"),
	onPods("tolerates the taint of the control plane", "tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]", "spec.tolerations"),
	onPods("tolerates the taint of the control plane and selects its nodes",
		"{tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}], nodeSelector: {node-role.kubernetes.io/control-plane: ''}}", "spec.tolerations"),
	onPods("tolerates every taint", "tolerations: [{operator: Exists}]", "spec.tolerations"),
	onPods("tolerates a node that is not ready, for ever", "tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]", "spec.tolerations"),
	onPods("adds a label that another Service selects", "podMetadata: {labels: {role: checkout}}", "spec.podMetadata.labels"),
	onPods("adds a label that a NetworkPolicy lets into a database", "podMetadata: {labels: {may-reach: database}}", "spec.podMetadata.labels"),
	onPods("adds a label without a value", "podMetadata: {labels: {role: ''}}", "spec.podMetadata.labels"),
	onPods("adds a label that injects a sidecar", "podMetadata: {labels: {sidecar.istio.io/inject: 'true'}}", "spec.podMetadata.labels"),
	onPods("adds a label that gives an identity of the cloud", "podMetadata: {labels: {azure.workload.identity/use: 'true'}}", "spec.podMetadata.labels"),
	onPods("adds a label that exempts pods from another policy", "podMetadata: {labels: {admission.gatekeeper.sh/ignore: 'true'}}", "spec.podMetadata.labels"),
	onPods("adds an annotation that injects a sidecar with its image",
		"podMetadata: {annotations: {sidecar.istio.io/inject: 'true', sidecar.istio.io/proxyImage: registry.example.com/thief}}", "spec.podMetadata.annotations"),
	onPods("adds an annotation that injects secrets of a vault",
		"podMetadata: {annotations: {vault.hashicorp.com/agent-inject: 'true', vault.hashicorp.com/role: admin}}", "spec.podMetadata.annotations"),
	onPods("adds an annotation that attaches a second network", "podMetadata: {annotations: {k8s.v1.cni.cncf.io/networks: storage}}", "spec.podMetadata.annotations"),
	onPods("adds an annotation that lifts limits on bandwidth", "podMetadata: {annotations: {kubernetes.io/egress-bandwidth: 10G}}", "spec.podMetadata.annotations"),
	onPods("adds an annotation that makes Prometheus scrape pods", "podMetadata: {annotations: {prometheus.io/scrape: 'true', prometheus.io/path: /admin}}", "spec.podMetadata.annotations"),
	onPods("adds an annotation that turns off a security profile", "podMetadata: {annotations: {container.apparmor.security.beta.kubernetes.io/memcached: unconfined}}", "spec.podMetadata.annotations"),
	onPods("adds an annotation without a value", "podMetadata: {annotations: {linkerd.io/inject: ''}}", "spec.podMetadata.annotations"),
	onPods("adds label, annotation and service account at once", "{serviceAccountName: admin, podMetadata: {labels: {a: b}, annotations: {c: d}}}",
		"spec.serviceAccountName, spec.podMetadata.labels, spec.podMetadata.annotations"),

	onPods("changes an administrator's service account", "serviceAccountName: admin", "spec.serviceAccountName").over("serviceAccountName: cache"),
	onPods("widens an administrator's toleration", "tolerations: [{key: dedicated, operator: Exists}]", "spec.tolerations").
		over("tolerations: [{key: dedicated, operator: Equal, value: cache, effect: NoSchedule}]"),
	onPods("changes an administrator's pod label", "podMetadata: {labels: {role: checkout, team: red}}", "spec.podMetadata.labels").
		over("podMetadata: {labels: {role: cache, team: red}}"),
	onPods("moves an administrator's label to an annotation", "podMetadata: {annotations: {team: red}}", "spec.podMetadata.annotations").over("podMetadata: {labels: {team: red}}"),
}

// objectRows set what other programs read from the objects besides the pods.
var objectRows = []row{
	{name: "claims a name in another owner's DNS zone", spec: "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}", field: "spec.service.annotations", rights: []string{createServices}},
	{name: "exports its Service to other clusters", spec: "service: {annotations: {service.cilium.io/global: 'true'}}", field: "spec.service.annotations", rights: []string{createServices}},
	{name: "adds a Service label that a ServiceMonitor selects", spec: "service: {labels: {monitored-by: payments}}", field: "spec.service.labels", rights: []string{createServices}},
	{name: "adds Service label and annotation", spec: "service: {labels: {a: b}, annotations: {a: b}}", field: "spec.service.labels, spec.service.annotations", rights: []string{createServices}},
	{
		name: "changes an administrator's DNS name", before: "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: cache.example.com}}",
		spec: "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}", field: "spec.service.annotations", rights: []string{createServices},
	},

	{name: "creates a ServiceMonitor", spec: "metrics: {serviceMonitor: {}}", field: "spec.metrics.serviceMonitor", rights: []string{createMonitors}},
	{name: "creates a ServiceMonitor that a Prometheus of others selects", spec: "metrics: {serviceMonitor: {labels: {release: payments}}}", field: "spec.metrics.serviceMonitor", rights: []string{createMonitors}},
	{name: "creates alerts", spec: "metrics: {rules: {}}", field: "spec.metrics.rules", rights: []string{createRules}},
	{name: "creates alerts that always fire", spec: "metrics: {rules: {memoryPercent: 1, connectionsPercent: 1}}", field: "spec.metrics.rules", rights: []string{createRules}},
	{name: "creates alerts that a Prometheus of others selects", spec: "metrics: {rules: {labels: {release: payments}}}", field: "spec.metrics.rules", rights: []string{createRules}},
	{name: "creates a ServiceMonitor and alerts", spec: "metrics: {serviceMonitor: {}, rules: {}}", field: "spec.metrics.serviceMonitor", rights: []string{createMonitors, createRules}},
	{
		name: "gives an administrator's ServiceMonitor to another Prometheus", before: "metrics: {serviceMonitor: {labels: {release: cache}}}",
		spec: "metrics: {serviceMonitor: {labels: {release: payments}}}", field: "spec.metrics.serviceMonitor", rights: []string{createMonitors},
	},

	{name: "opens its pods to neighbours under a policy that denies all ingress", spec: "networkPolicy: {from: [{podSelector: {}}]}", field: "spec.networkPolicy", rights: []string{createNetworkPolicies}},
	{name: "opens its pods to everybody", spec: "networkPolicy: {from: [{ipBlock: {cidr: 0.0.0.0/0}}]}", field: "spec.networkPolicy", rights: []string{createNetworkPolicies}},
	{name: "opens its pods to all namespaces", spec: "networkPolicy: {from: [{namespaceSelector: {}}]}", field: "spec.networkPolicy", rights: []string{createNetworkPolicies}},
	{
		name: "adds a peer to an administrator's", before: "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}}]}",
		spec: "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}}, {namespaceSelector: {}}]}", field: "spec.networkPolicy", rights: []string{createNetworkPolicies},
	},
	{
		name: "widens an administrator's peer", before: "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}, namespaceSelector: {matchLabels: {team: red}}}]}",
		spec: "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}, namespaceSelector: {}}]}", field: "spec.networkPolicy", rights: []string{createNetworkPolicies},
	},
	{
		name: "removes the exception from an administrator's addresses", before: "networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}",
		spec: "networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8}}]}", field: "spec.networkPolicy", rights: []string{createNetworkPolicies},
	},
	{
		name: "opens the metrics beside an administrator's peers", before: "{metrics: {}, networkPolicy: {from: [{podSelector: {}}]}}",
		spec: "{metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}}", field: "spec.networkPolicy", rights: []string{createNetworkPolicies},
	},

	{name: "keeps nodes from being drained", spec: "podDisruptionBudget: {maxUnavailable: 0}", field: "spec.podDisruptionBudget.maxUnavailable", rights: []string{createBudgets}},
	{name: "keeps nodes from being drained, by a percentage", spec: "podDisruptionBudget: {maxUnavailable: 0%}", field: "spec.podDisruptionBudget.maxUnavailable", rights: []string{createBudgets}},
	{
		name: "lowers an administrator's budget to nothing", before: "podDisruptionBudget: {maxUnavailable: 25%}", spec: "podDisruptionBudget: {maxUnavailable: 0}",
		field: "spec.podDisruptionBudget.maxUnavailable", rights: []string{createBudgets},
	},
	{
		name: "sets every guarded field",
		spec: "{tls: {secretName: web}, imagePullSecrets: [{name: registry}], serviceAccountName: admin, tolerations: [{operator: Exists}], " +
			"priorityClassName: system-node-critical, podMetadata: {labels: {a: b}}, service: {labels: {a: b}}, image: registry.example.com/thief, " +
			"networkPolicy: {from: [{podSelector: {}}]}, podDisruptionBudget: {maxUnavailable: 0}, metrics: {serviceMonitor: {labels: {a: b}}, rules: {labels: {a: b}}}}",
		field:  "spec.",
		rights: append(getSecrets("web", "registry"), createDeployments, createServices, createNetworkPolicies, createBudgets, createMonitors, createRules),
	},
}
