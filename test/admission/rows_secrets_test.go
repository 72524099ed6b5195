// SPDX-License-Identifier: Apache-2.0

package admission

// secretRows hand the content of Secrets to pods, through the fields that name one.
var secretRows = []row{
	{name: "names a Secret for TLS", spec: "tls: {secretName: web}", field: "spec.tls.secretName", rights: getSecrets("web")},
	{name: "names a Secret for TLS and requires client certificates", spec: "tls: {secretName: web, clientAuth: Require}", field: "spec.tls.secretName", rights: getSecrets("web")},
	{name: "names a Secret for TLS beside a plain-text port", spec: "tls: {secretName: web, plaintextPort: 11311}", field: "spec.tls.secretName", rights: getSecrets("web")},
	{name: "names a Secret for TLS beside its exporter", spec: "{tls: {secretName: web}, metrics: {}}", field: "spec.tls.secretName", rights: getSecrets("web")},
	{name: "names a Secret for TLS while it is paused", spec: "{tls: {secretName: web}, paused: true}", field: "spec.tls.secretName", rights: getSecrets("web"), paused: true},
	{
		name: "names a Secret for TLS and an image that sends it away", spec: "{tls: {secretName: web}, image: registry.example.com/thief}",
		field: "spec.tls.secretName", rights: append(getSecrets("web"), createDeployments),
	},
	{name: "names a Secret with users", spec: "auth: {secretName: users}", field: "spec.auth.secretName", rights: getSecrets("users")},
	{name: "names another key of a Secret as users", spec: "auth: {secretName: database, key: password}", field: "spec.auth.secretName", rights: getSecrets("database")},
	{name: "names a Secret to pull images with", spec: "imagePullSecrets: [{name: registry}]", field: "spec.imagePullSecrets", rights: getSecrets("registry")},
	{
		name:  "names as many Secrets to pull images with as fit",
		spec:  "imagePullSecrets: [{name: registry}, {name: web}, {name: users}, {name: database}, {name: a}, {name: b}, {name: c}, {name: d}]",
		field: "spec.imagePullSecrets", rights: getSecrets("registry", "web", "users", "database", "a", "b", "c", "d"),
	},
	{
		name: "names a Secret to pull a private image with", spec: "{imagePullSecrets: [{name: registry}], image: registry.example.com/private}",
		field: "spec.imagePullSecrets", rights: append(getSecrets("registry"), createDeployments),
	},
	{
		name:  "names every Secret that a Memcached can name",
		spec:  "{tls: {secretName: web}, auth: {secretName: users}, imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}]}",
		field: "spec.tls.secretName", rights: getSecrets("web", "users", "a", "b", "c", "d", "e", "f", "g", "h"),
	},

	{name: "changes an administrator's Secret for TLS", before: "tls: {secretName: web}", spec: "tls: {secretName: database}", field: "spec.tls.secretName", rights: getSecrets("database")},
	{
		name: "swaps an administrator's two Secrets", before: "{tls: {secretName: web}, auth: {secretName: users}}", spec: "{tls: {secretName: users}, auth: {secretName: web}}",
		field: "spec.tls.secretName", rights: getSecrets("users", "web"),
	},
	{name: "changes the key of an administrator's Secret", before: "auth: {secretName: users}", spec: "auth: {secretName: users, key: root-password}", field: "spec.auth.secretName", rights: getSecrets("users")},
	{name: "removes the key of an administrator's Secret", before: "auth: {secretName: users, key: these}", spec: "auth: {secretName: users}", field: "spec.auth.secretName", rights: getSecrets("users"), whole: true},
	{
		name: "adds a Secret to those to pull images with", before: "imagePullSecrets: [{name: registry}]", spec: "imagePullSecrets: [{name: web}, {name: registry}]",
		field: "spec.imagePullSecrets", rights: getSecrets("web", "registry"),
	},
	{name: "moves an administrator's Secret to those to pull images with", before: "tls: {secretName: web}", spec: "imagePullSecrets: [{name: web}]", field: "spec.imagePullSecrets", rights: getSecrets("web"), whole: true},
	{
		name: "patches pods that mount an administrator's Secret", before: "tls: {secretName: web}",
		spec:  "{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}]}",
		field: "spec.tls.secretName", rights: append(getSecrets("web"), createDeployments),
	},
	{
		name: "removes an administrator's patch beside their Secret",
		before: "{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}, " +
			"{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: false}}}'}]}",
		spec:  "{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}]}",
		field: "spec.tls.secretName", rights: append(getSecrets("web"), createDeployments),
	},
}
