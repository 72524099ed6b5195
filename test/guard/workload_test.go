// SPDX-License-Identifier: Apache-2.0

package guard

import "testing"

const (
	deployments = "create deployments.apps"
	services    = "create services"
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
	"everything at once": {
		spec: "{tls: {secretName: web}, imagePullSecrets: [{name: registry}], serviceAccountName: admin, tolerations: [{operator: Exists}], " +
			"priorityClassName: system-node-critical, podMetadata: {labels: {a: b}}, service: {labels: {a: b}}, image: registry.example.com/thief, " +
			"metrics: {serviceMonitor: {labels: {a: b}}, rules: {labels: {a: b}}}}",
		refused: "naming the Secret web",
		rights: []string{"get secrets/web", "get secrets/registry", deployments, services,
			"create servicemonitors.monitoring.coreos.com", "create prometheusrules.monitoring.coreos.com"},
	},
}

func TestNobodySteersOthersByWhatHeMayNotCreate(t *testing.T) {
	t.Parallel()
	for sentence, row := range onWorkloads {
		t.Run(sentence, row.run)
	}
}
