// SPDX-License-Identifier: Apache-2.0

package admission

// secretRows hand the content of Secrets to pods, through the fields that name one.
var secretRows = []row{
	guardedRow("names a Secret for TLS", "tls: {secretName: web}", "spec.tls.secretName", getSecrets("web")...),
	guardedRow("names a Secret for TLS and requires client certificates", "tls: {secretName: web, clientAuth: Require}", "spec.tls.secretName", getSecrets("web")...),
	guardedRow("names a Secret for TLS beside a plain-text port", "tls: {secretName: web, plaintextPort: 11311}", "spec.tls.secretName", getSecrets("web")...),
	guardedRow("names a Secret for TLS beside its exporter", "{tls: {secretName: web}, metrics: {}}", "spec.tls.secretName", getSecrets("web")...),
	{name: "names a Secret for TLS while it is paused", spec: "{tls: {secretName: web}, paused: true}", field: "spec.tls.secretName", rights: getSecrets("web"), paused: true},
	guardedRow("names a Secret for TLS and an image that sends it away",
		"{tls: {secretName: web}, image: registry.example.com/thief}", "spec.tls.secretName", append(getSecrets("web"), createDeployments)...),
	guardedRow("names a Secret with users", "auth: {secretName: users}", "spec.auth.secretName", getSecrets("users")...),
	guardedRow("names another key of a Secret as users", "auth: {secretName: database, key: password}", "spec.auth.secretName", getSecrets("database")...),
	guardedRow("names a Secret to pull images with", "imagePullSecrets: [{name: registry}]", "spec.imagePullSecrets", getSecrets("registry")...),
	guardedRow("names as many Secrets to pull images with as fit",
		"imagePullSecrets: [{name: registry}, {name: web}, {name: users}, {name: database}, {name: a}, {name: b}, {name: c}, {name: d}]",
		"spec.imagePullSecrets", getSecrets("registry", "web", "users", "database", "a", "b", "c", "d")...),
	guardedRow("names a Secret to pull a private image with",
		"{imagePullSecrets: [{name: registry}], image: registry.example.com/private}", "spec.imagePullSecrets", append(getSecrets("registry"), createDeployments)...),
	guardedRow("names every Secret that a Memcached can name",
		"{tls: {secretName: web}, auth: {secretName: users}, imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}]}",
		"spec.tls.secretName", getSecrets("web", "users", "a", "b", "c", "d", "e", "f", "g", "h")...),

	guardedRow("changes an administrator's Secret for TLS", "tls: {secretName: database}", "spec.tls.secretName", getSecrets("database")...).over("tls: {secretName: web}"),
	guardedRow("swaps an administrator's two Secrets", "{tls: {secretName: users}, auth: {secretName: web}}", "spec.tls.secretName", getSecrets("users", "web")...).
		over("{tls: {secretName: web}, auth: {secretName: users}}"),
	guardedRow("changes the key of an administrator's Secret", "auth: {secretName: users, key: root-password}", "spec.auth.secretName", getSecrets("users")...).over("auth: {secretName: users}"),
	{name: "removes the key of an administrator's Secret", before: "auth: {secretName: users, key: these}", spec: "auth: {secretName: users}", field: "spec.auth.secretName", rights: getSecrets("users"), whole: true},
	guardedRow("adds a Secret to those to pull images with", "imagePullSecrets: [{name: web}, {name: registry}]", "spec.imagePullSecrets", getSecrets("web", "registry")...).
		over("imagePullSecrets: [{name: registry}]"),
	{name: "moves an administrator's Secret to those to pull images with", before: "tls: {secretName: web}", spec: "imagePullSecrets: [{name: web}]", field: "spec.imagePullSecrets", rights: getSecrets("web"), whole: true},
	guardedRow("patches pods that mount an administrator's Secret",
		"{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}]}", "spec.tls.secretName", append(getSecrets("web"), createDeployments)...).
		over("tls: {secretName: web}"),
	guardedRow("removes an administrator's patch beside their Secret",
		"{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}]}", "spec.tls.secretName", append(getSecrets("web"), createDeployments)...).
		over("{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}, " +
			"{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: false}}}'}]}"),
}
