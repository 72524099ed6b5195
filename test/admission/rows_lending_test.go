// SPDX-License-Identifier: Apache-2.0

package admission

// under returns a row whose author keeps what an administrator set and adds a field that
// any author may set on a plain Memcached.
func under(name, before, more, field string, rights ...string) row {
	return row{name: name, before: "{" + before + "}", spec: "{" + before + ", " + more + "}", field: field, rights: rights}
}

const (
	accountSet    = "serviceAccountName: cache"
	tolerationSet = "tolerations: [{key: dedicated, operator: Exists}]"
	prioritySet   = "priorityClassName: high"
	labelSet      = "podMetadata: {labels: {role: cache}}"
	annotationSet = "podMetadata: {annotations: {vault.example.com/inject: 'true'}}"
	dnsSet        = "service: {annotations: {external-dns.alpha.kubernetes.io/hostname: cache.example.com}}"
	peersSet      = "networkPolicy: {from: [{podSelector: {}}]}"
	budgetSet     = "podDisruptionBudget: {maxUnavailable: 1}"
	volumesSet    = "flash: {size: 1Gi, storageClassName: fast}"
	tlsSet        = "tls: {secretName: web}"
	usersSet      = "auth: {secretName: users}"
	pullSet       = "imagePullSecrets: [{name: registry}]"
	patchSet      = "patches: [{target: {kind: Deployment}, patch: 'metadata: {annotations: {a: b}}'}]"
	imageSet      = "image: registry.example.com/cache"
	affinitySet   = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}"
)

// lendingRows use what an administrator set for something else.
var lendingRows = []row{
	under("runs another version as an administrator's service account", accountSet, "image: 'memcached:1.6.38'", "spec.serviceAccountName", createDeployments),
	under("runs its own image as an administrator's service account", accountSet, "image: registry.example.com/thief", "spec.serviceAccountName", createDeployments),
	under("runs more pods as an administrator's service account", accountSet, "size: 100", "spec.serviceAccountName", createDeployments),
	under("selects the nodes that an administrator's toleration opens", tolerationSet, "nodeSelector: {dedicated: bank}", "spec.tolerations", createDeployments),
	under("runs more pods on the nodes that an administrator's toleration opens", tolerationSet, "size: 100", "spec.tolerations", createDeployments),
	under("requires nodes that an administrator's toleration opens", tolerationSet,
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dedicated, operator: Exists}]}]}}}", "spec.tolerations", createDeployments),
	under("requests more under an administrator's priority", prioritySet, "resources: {requests: {cpu: '64', memory: 512Gi}}", "spec.priorityClassName", createDeployments),
	under("runs more pods under an administrator's priority", prioritySet, "size: 100", "spec.priorityClassName", createDeployments),
	under("changes the port behind an administrator's pod label", labelSet, "containerPort: 2222", "spec.podMetadata.labels", createDeployments),
	under("runs another version behind an administrator's pod label", labelSet, "image: 'memcached:1.6.38'", "spec.podMetadata.labels", createDeployments),
	under("runs an exporter beside an administrator's annotation", annotationSet, "metrics: {}", "spec.podMetadata.annotations", createDeployments),
	under("runs its own exporter beside an administrator's annotation", annotationSet, "metrics: {image: registry.example.com/thief}", "spec.podMetadata.annotations", createDeployments),
	under("changes the port behind an administrator's DNS name", dnsSet, "containerPort: 2222", "spec.service.annotations", createServices),
	under("runs more pods behind an administrator's DNS name", dnsSet, "size: 100", "spec.service.annotations", createServices),
	under("runs more pods behind an administrator's peers", peersSet, "size: 100", "spec.networkPolicy", createNetworkPolicies),
	under("changes the port behind an administrator's peers", peersSet, "containerPort: 2222", "spec.networkPolicy", createNetworkPolicies),
	under("gets more volumes of an administrator's class", volumesSet, "size: 100", "spec.flash.storageClassName", createDeployments),
	under("runs more pods behind an administrator's budget", budgetSet, "size: 100", "spec.podDisruptionBudget.maxUnavailable", createBudgets),
	under("changes the port that an administrator's ServiceMonitor scrapes", "metrics: {serviceMonitor: {labels: {release: prometheus}}}", "containerPort: 2222", "spec.metrics.serviceMonitor", createMonitors),
	under("runs another version that an administrator's ServiceMonitor scrapes", "metrics: {serviceMonitor: {}}", "image: 'memcached:1.6.38'", "spec.metrics.serviceMonitor", createMonitors),
	under("runs more pods that an administrator's alerts watch", "metrics: {rules: {}}", "size: 100", "spec.metrics.rules", createRules),
	under("runs another version with an administrator's Secret", tlsSet, "image: 'memcached:1.6.38'", "spec.tls.secretName", getSecrets("web")...),
	under("runs its own image with an administrator's Secret", tlsSet, "image: registry.example.com/thief", "spec.tls.secretName", append(getSecrets("web"), createDeployments)...),
	under("adds a plain-text port beside an administrator's Secret", tlsSet, "threads: 2", "spec.tls.secretName", getSecrets("web")...),
	under("adds arguments beside an administrator's Secret", tlsSet, "extraArgs: [--disable-cas]", "spec.tls.secretName", getSecrets("web")...),
	under("runs an exporter beside an administrator's Secret", tlsSet, "metrics: {}", "spec.tls.secretName", getSecrets("web")...),
	under("adds arguments beside an administrator's users", usersSet, "extraArgs: [--disable-cas]", "spec.auth.secretName", getSecrets("users")...),
	under("runs another version pulled with an administrator's Secret", pullSet, "image: 'memcached:1.6.38'", "spec.imagePullSecrets", getSecrets("registry")...),
	under("runs a private image pulled with an administrator's Secret", pullSet, "image: registry.example.com/private", "spec.imagePullSecrets", append(getSecrets("registry"), createDeployments)...),
	under("runs a private exporter pulled with an administrator's Secret", pullSet, "metrics: {image: registry.example.com/private}", "spec.imagePullSecrets", append(getSecrets("registry"), createDeployments)...),
	under("runs another version under an administrator's patches", patchSet, "image: 'memcached:1.6.38'", "spec.patches", createDeployments),
	under("runs more pods of an administrator's image", imageSet, "size: 100", "spec.image", createDeployments),
	under("never pulls an administrator's image again", imageSet, "imagePullPolicy: Never", "spec.image", createDeployments),
	under("runs more pods under an administrator's affinity", affinitySet, "size: 100", "spec.affinity.podAntiAffinity", createDeployments),
	{
		name: "removes one of an administrator's two Secrets", before: "{" + tlsSet + ", " + usersSet + "}", spec: "{" + usersSet + "}",
		field: "spec.auth.secretName", rights: getSecrets("users"), whole: true,
	},
	{
		name: "removes an administrator's peers beside their pod label", before: "{" + labelSet + ", " + peersSet + "}", spec: "{" + labelSet + "}",
		field: "spec.podMetadata.labels", rights: []string{createDeployments}, whole: true,
	},
	guardedRow("resumes what an administrator paused", "{paused: false, "+accountSet+"}", "spec.serviceAccountName", createDeployments).over("{paused: true, " + accountSet + "}"),
	guardedRow("reorders an administrator's patches",
		"patches: [{target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 2}'}, {target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 1}'}]", "spec.patches", createDeployments).
		over("patches: [{target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 1}'}, {target: {kind: Deployment}, patch: 'spec: {minReadySeconds: 2}'}]"),
	guardedRow("replaces an administrator's patch", pod("{hostNetwork: true}"), "spec.patches", createDeployments).over(pod("{hostAliases: []}")),
}
