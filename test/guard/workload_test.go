// SPDX-License-Identifier: Apache-2.0

package guard

import "testing"

const (
	deployments = "create deployments.apps"
	services    = "create services"
	policies    = "create networkpolicies.networking.k8s.io"
	budgets     = "create poddisruptionbudgets.policy"
)

// What other programs read off pods, Services and the rest, and do for them.
var onWorkloads = map[string]attack{
	"a foreign service account": {
		spec:    "serviceAccountName: admin",
		refused: "spec.serviceAccountName: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"the default service account, written out": {
		spec:    "serviceAccountName: default",
		refused: "spec.serviceAccountName",
		rights:  []string{deployments},
	},
	"an administrator's service account changed for another": {
		before:  "serviceAccountName: cache",
		spec:    "serviceAccountName: admin",
		refused: "spec.serviceAccountName",
		rights:  []string{deployments},
	},
	"the image edited beside an administrator's service account": {
		before:  "serviceAccountName: cache",
		spec:    "{serviceAccountName: cache, image: registry.example.com/mine:1}",
		refused: "spec.image: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"the image edited beside an administrator's patches": {
		before:  "patches: [{target: {kind: Deployment}, patch: 'metadata: {annotations: {a: b}}'}]",
		spec:    "{patches: [{target: {kind: Deployment}, patch: 'metadata: {annotations: {a: b}}'}], image: registry.example.com/mine:1}",
		refused: "spec.image: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"the exporter's image edited beside an administrator's annotation": {
		before:  "{metrics: {}, podMetadata: {annotations: {vault.example.com/inject: 'true'}}}",
		spec:    "{metrics: {image: registry.example.com/mine:1}, podMetadata: {annotations: {vault.example.com/inject: 'true'}}}",
		refused: "spec.metrics.image: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"pods that go before all others": {
		spec:    "priorityClassName: system-node-critical",
		refused: "spec.priorityClassName: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"pods on the control plane's nodes": {
		spec:    "tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]",
		refused: "spec.tolerations: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"pods on any node": {
		spec:    "tolerations: [{operator: Exists}]",
		refused: "spec.tolerations",
		rights:  []string{deployments},
	},
	"an administrator's toleration made wider": {
		before:  "tolerations: [{key: dedicated, operator: Equal, value: cache, effect: NoSchedule}]",
		spec:    "tolerations: [{key: dedicated, operator: Exists}]",
		refused: "spec.tolerations",
		rights:  []string{deployments},
	},
	"pods that another Service selects": {
		spec:    "podMetadata: {labels: {role: checkout}}",
		refused: "spec.podMetadata.labels: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"an administrator's pod label given another value": {
		before:  "podMetadata: {labels: {role: cache, team: red}}",
		spec:    "podMetadata: {labels: {role: checkout, team: red}}",
		refused: "spec.podMetadata.labels",
		rights:  []string{deployments},
	},
	"pods that a NetworkPolicy lets into a database": {
		spec:    "podMetadata: {labels: {may-reach: database}}",
		refused: "spec.podMetadata.labels",
		rights:  []string{deployments},
	},
	"a service mesh's sidecar with an image of the author's": {
		spec:    "podMetadata: {annotations: {sidecar.istio.io/inject: 'true', sidecar.istio.io/proxyImage: registry.example.com/thief}}",
		refused: "spec.podMetadata.annotations: setting it takes the right to create deployments.apps",
		rights:  []string{deployments},
	},
	"a sidecar injected by a label": {
		spec:    "podMetadata: {labels: {sidecar.istio.io/inject: 'true'}}",
		refused: "spec.podMetadata.labels",
		rights:  []string{deployments},
	},
	"a vault's secrets injected": {
		spec:    "podMetadata: {annotations: {vault.hashicorp.com/agent-inject: 'true', vault.hashicorp.com/role: admin}}",
		refused: "spec.podMetadata.annotations",
		rights:  []string{deployments},
	},
	"a second network": {
		spec:    "podMetadata: {annotations: {k8s.v1.cni.cncf.io/networks: storage}}",
		refused: "spec.podMetadata.annotations",
		rights:  []string{deployments},
	},
	"pods whose pages a monitoring system fetches": {
		spec:    "podMetadata: {annotations: {prometheus.io/scrape: 'true', prometheus.io/path: /admin}}",
		refused: "spec.podMetadata.annotations",
		rights:  []string{deployments},
	},
	"an identity of the cloud for the pods": {
		spec:    "podMetadata: {labels: {azure.workload.identity/use: 'true'}}",
		refused: "spec.podMetadata.labels",
		rights:  []string{deployments},
	},
	"labels, annotations and account at once": {
		spec:    "{serviceAccountName: admin, podMetadata: {labels: {a: b}, annotations: {c: d}}}",
		refused: "spec.serviceAccountName, spec.podMetadata.labels, spec.podMetadata.annotations",
		rights:  []string{deployments},
	},
	"a name in somebody's DNS zone": {
		spec:    "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}",
		refused: "spec.service.annotations: setting it takes the right to create services",
		rights:  []string{services},
	},
	"an administrator's DNS name changed": {
		before:  "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: cache.example.com}}",
		spec:    "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}",
		refused: "spec.service.annotations",
		rights:  []string{services},
	},
	"a Service that other clusters import": {
		spec:    "service: {annotations: {service.cilium.io/global: 'true'}}",
		refused: "spec.service.annotations",
		rights:  []string{services},
	},
	"a Service that somebody's ServiceMonitor selects": {
		spec:    "service: {labels: {monitored-by: payments}}",
		refused: "spec.service.labels: setting it takes the right to create services",
		rights:  []string{services},
	},
	"a ServiceMonitor that a Prometheus of others selects": {
		spec:    "metrics: {serviceMonitor: {labels: {release: payments}}}",
		refused: "spec.metrics.serviceMonitor.labels: setting it takes the right to create servicemonitors.monitoring.coreos.com",
		rights:  []string{"create servicemonitors.monitoring.coreos.com"},
	},
	"an administrator's ServiceMonitor given to another Prometheus": {
		before:  "metrics: {serviceMonitor: {labels: {release: cache}}}",
		spec:    "metrics: {serviceMonitor: {labels: {release: payments}}}",
		refused: "spec.metrics.serviceMonitor.labels",
		rights:  []string{"create servicemonitors.monitoring.coreos.com"},
	},
	"alerts that a Prometheus of others selects": {
		spec:    "metrics: {rules: {labels: {release: payments}}}",
		refused: "spec.metrics.rules.labels: setting it takes the right to create prometheusrules.monitoring.coreos.com",
		rights:  []string{"create prometheusrules.monitoring.coreos.com"},
	},
	"pods opened to their neighbours under a policy that lets nobody in": {
		spec:    "networkPolicy: {from: [{podSelector: {}}]}",
		refused: "spec.networkPolicy.from: setting it takes the right to create networkpolicies.networking.k8s.io",
		rights:  []string{policies},
	},
	"pods opened to everybody": {
		spec:    "networkPolicy: {from: [{ipBlock: {cidr: 0.0.0.0/0}}]}",
		refused: "spec.networkPolicy.from",
		rights:  []string{policies},
	},
	"one more peer beside an administrator's": {
		before:  "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}}]}",
		spec:    "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}}, {namespaceSelector: {}}]}",
		refused: "spec.networkPolicy.from",
		rights:  []string{policies},
	},
	"an administrator's peer made wider": {
		before:  "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}, namespaceSelector: {matchLabels: {team: red}}}]}",
		spec:    "networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}, namespaceSelector: {}}]}",
		refused: "spec.networkPolicy.from",
		rights:  []string{policies},
	},
	"an administrator's addresses without the exception": {
		before:  "networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}",
		spec:    "networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8}}]}",
		refused: "spec.networkPolicy.from",
		rights:  []string{policies},
	},
	"the metrics opened to who may only connect": {
		before:  "{metrics: {}, networkPolicy: {from: [{podSelector: {}}]}}",
		spec:    "{metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}}",
		refused: "spec.networkPolicy.metricsFrom: setting it takes the right to create networkpolicies.networking.k8s.io",
		rights:  []string{policies},
	},
	"clients where there were only the metrics": {
		before:  "{metrics: {}, networkPolicy: {from: [{podSelector: {matchLabels: {role: web}}}], metricsFrom: [{podSelector: {}}]}}",
		spec:    "{metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}}",
		refused: "spec.networkPolicy.from: setting it",
		rights:  []string{policies},
	},
	"nodes that cannot be drained": {
		spec:    "podDisruptionBudget: {maxUnavailable: 0}",
		refused: "spec.podDisruptionBudget.maxUnavailable: setting it takes the right to create poddisruptionbudgets.policy",
		rights:  []string{budgets},
	},
	"nodes that cannot be drained, as a percentage": {
		spec:    "podDisruptionBudget: {maxUnavailable: 0%}",
		refused: "spec.podDisruptionBudget.maxUnavailable",
		rights:  []string{budgets},
	},
	"an administrator's budget made nothing": {
		before:  "podDisruptionBudget: {maxUnavailable: 25%}",
		spec:    "podDisruptionBudget: {maxUnavailable: 0}",
		refused: "spec.podDisruptionBudget.maxUnavailable",
		rights:  []string{budgets},
	},
	"a budget where an administrator wants none": {
		before:  "podDisruptionBudget: {omit: true}",
		spec:    "podDisruptionBudget: {omit: false, maxUnavailable: 0}",
		refused: "spec.podDisruptionBudget.maxUnavailable",
		rights:  []string{budgets},
	},
	"everything at once": {
		spec: "{tls: {secretName: web}, imagePullSecrets: [{name: registry}], serviceAccountName: admin, tolerations: [{operator: Exists}], " +
			"priorityClassName: system-node-critical, podMetadata: {labels: {a: b}}, service: {labels: {a: b}}, image: registry.example.com/thief, " +
			"networkPolicy: {from: [{podSelector: {}}]}, podDisruptionBudget: {maxUnavailable: 0}, " +
			"metrics: {serviceMonitor: {labels: {a: b}}, rules: {labels: {a: b}}}}",
		refused: "naming the Secret web",
		rights: []string{"get secrets/web", "get secrets/registry", deployments, services, policies, budgets,
			"create servicemonitors.monitoring.coreos.com", "create prometheusrules.monitoring.coreos.com"},
	},
}

func TestNobodySteersOthersByWhatHeMayNotCreate(t *testing.T) {
	t.Parallel()
	for sentence, row := range onWorkloads {
		t.Run(sentence, row.run)
	}
}
