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
	guardedRow("claims a name in another owner's DNS zone", "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}", "spec.service.annotations", createServices),
	guardedRow("exports its Service to other clusters", "service: {annotations: {service.cilium.io/global: 'true'}}", "spec.service.annotations", createServices),
	guardedRow("claims it for the proxies", "proxy: {service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}}", "spec.proxy.service.annotations", createServices),
	guardedRow("opens the proxies to the world", "proxy: {service: {type: LoadBalancer}}", "spec.proxy.service.type", createServices),
	guardedRow("opens them on every node, with annotations", "proxy: {service: {type: NodePort, annotations: {a: b}}}", "spec.proxy.service.annotations, spec.proxy.service.type", createServices),
	guardedRow("adds a Service label that a ServiceMonitor selects", "service: {labels: {monitored-by: payments}}", "spec.service.labels", createServices),
	guardedRow("adds Service label and annotation", "service: {labels: {a: b}, annotations: {a: b}}", "spec.service.labels, spec.service.annotations", createServices),
	guardedRow("changes an administrator's DNS name", "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}", "spec.service.annotations", createServices).
		over("service: {annotations: {external-dns.alpha.kubernetes.io/hostname: cache.example.com}}"),

	guardedRow("creates a ServiceMonitor", "metrics: {serviceMonitor: {}}", "spec.metrics.serviceMonitor", createMonitors),
	guardedRow("creates a ServiceMonitor that a Prometheus of others selects", "metrics: {serviceMonitor: {labels: {release: payments}}}", "spec.metrics.serviceMonitor", createMonitors),
	guardedRow("creates alerts", "metrics: {rules: {}}", "spec.metrics.rules", createRules),
	guardedRow("creates alerts that always fire", "metrics: {rules: {memoryPercent: 1, connectionsPercent: 1}}", "spec.metrics.rules", createRules),
	guardedRow("creates alerts that a Prometheus of others selects", "metrics: {rules: {labels: {release: payments}}}", "spec.metrics.rules", createRules),
	guardedRow("creates a ServiceMonitor and alerts", "metrics: {serviceMonitor: {}, rules: {}}", "spec.metrics.serviceMonitor", createMonitors, createRules),
	guardedRow("gives an administrator's ServiceMonitor to another Prometheus", "metrics: {serviceMonitor: {labels: {release: payments}}}", "spec.metrics.serviceMonitor", createMonitors).
		over("metrics: {serviceMonitor: {labels: {release: cache}}}"),

	guardedRow("opens its pods to neighbours under a policy that denies all ingress", "networkPolicy: {from: [{podSelector: {}}]}", "spec.networkPolicy", createNetworkPolicies),
	guardedRow("opens its pods to everybody", "networkPolicy: {from: [{ipBlock: {cidr: 0.0.0.0/0}}]}", "spec.networkPolicy", createNetworkPolicies),
	guardedRow("opens its pods to all namespaces", "networkPolicy: {from: [{namespaceSelector: {}}]}", "spec.networkPolicy", createNetworkPolicies),
	guardedRow("adds a peer to an administrator's", "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}}, {namespaceSelector: {}}]}", "spec.networkPolicy", createNetworkPolicies).
		over("networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}}]}"),
	guardedRow("widens an administrator's peer", "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}, namespaceSelector: {}}]}", "spec.networkPolicy", createNetworkPolicies).
		over("networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}, namespaceSelector: {matchLabels: {team: red}}}]}"),
	guardedRow("removes the exception from an administrator's addresses", "networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8}}]}", "spec.networkPolicy", createNetworkPolicies).
		over("networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}"),
	guardedRow("opens the metrics beside an administrator's peers", "{metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}}", "spec.networkPolicy", createNetworkPolicies).
		over("{metrics: {}, networkPolicy: {from: [{podSelector: {}}]}}"),

	guardedRow("keeps nodes from being drained", "podDisruptionBudget: {maxUnavailable: 0}", "spec.podDisruptionBudget.maxUnavailable", createBudgets),
	guardedRow("keeps nodes from being drained, by a percentage", "podDisruptionBudget: {maxUnavailable: 0%}", "spec.podDisruptionBudget.maxUnavailable", createBudgets),
	guardedRow("lowers an administrator's budget to nothing", "podDisruptionBudget: {maxUnavailable: 0}", "spec.podDisruptionBudget.maxUnavailable", createBudgets).
		over("podDisruptionBudget: {maxUnavailable: 25%}"),
	guardedRow("gets volumes of a class that costs money", "flash: {size: 1Gi, storageClassName: fast}", "spec.flash.storageClassName", createDeployments),
	guardedRow("sets every guarded field",
		"{tls: {secretName: web}, imagePullSecrets: [{name: registry}], serviceAccountName: admin, tolerations: [{operator: Exists}], "+
			"priorityClassName: system-node-critical, flash: {size: 1Gi, storageClassName: fast}, podMetadata: {labels: {a: b}}, service: {labels: {a: b}}, image: registry.example.com/thief, "+
			"networkPolicy: {from: [{podSelector: {}}]}, podDisruptionBudget: {maxUnavailable: 0}, metrics: {serviceMonitor: {labels: {a: b}}, rules: {labels: {a: b}}}}",
		"spec.", append(getSecrets("web", "registry"), createDeployments, createServices, createNetworkPolicies, createBudgets, createMonitors, createRules)...),
}
