// SPDX-License-Identifier: Apache-2.0

package guard

import "testing"

// A Secret reaches pods whose image and arguments the author chooses.
var onSecrets = map[string]attack{
	"TLS with somebody's Secret": {
		spec:    "tls: {secretName: web}",
		refused: "spec.tls.secretName: naming the Secret web takes the right to get it",
		rights:  []string{"get secrets/web"},
	},
	"TLS with somebody's Secret, and an image that reads it": {
		spec:    "{tls: {secretName: web}, image: registry.example.com/thief}",
		refused: "naming the Secret web",
		rights:  []string{"get secrets/web"},
	},
	"TLS on a Memcached that has none": {
		before:  "size: 1",
		spec:    "tls: {secretName: web}",
		refused: "naming the Secret web",
		rights:  []string{"get secrets/web"},
	},
	"an administrator's TLS Secret changed for another": {
		before:  "tls: {secretName: web}",
		spec:    "tls: {secretName: database}",
		refused: "naming the Secret database",
		rights:  []string{"get secrets/database"},
	},
	"an administrator's two Secrets swapped": {
		before:  "{tls: {secretName: web}, auth: {secretName: users}}",
		spec:    "{tls: {secretName: users}, auth: {secretName: web}}",
		refused: "naming the Secret users",
		rights:  []string{"get secrets/users", "get secrets/web"},
	},
	"users from somebody's Secret": {
		spec:    "auth: {secretName: users}",
		refused: "spec.auth: naming the Secret users, or another key of it, takes the right to get it",
		rights:  []string{"get secrets/users"},
	},
	"users from a key of a Secret that is not about users": {
		spec:    "auth: {secretName: database, key: password}",
		refused: "naming the Secret database",
		rights:  []string{"get secrets/database"},
	},
	"another key of an administrator's Secret": {
		before:  "auth: {secretName: users}",
		spec:    "auth: {secretName: users, key: root-password}",
		refused: "naming the Secret users, or another key of it",
		rights:  []string{"get secrets/users"},
	},
	"the default key in place of an administrator's": {
		before:  "auth: {secretName: users, key: these}",
		spec:    "auth: {secretName: users}",
		refused: "naming the Secret users, or another key of it",
		rights:  []string{"get secrets/users"},
		not:     []string{"apply --server-side"}, // leaves the key, which it does not name
	},
	"images pulled with somebody's Secret": {
		spec:    "imagePullSecrets: [{name: registry}]",
		refused: "spec.imagePullSecrets: naming Secrets (here registry) takes the right to get each",
		rights:  []string{"get secrets/registry"},
	},
	"images pulled with as many Secrets as fit": {
		spec:    "imagePullSecrets: [{name: registry}, {name: web}, {name: users}, {name: database}, {name: a}, {name: b}, {name: c}, {name: d}]",
		refused: "(here registry, web, users, database, a, b, c, d)",
		rights: []string{"get secrets/registry", "get secrets/web", "get secrets/users", "get secrets/database",
			"get secrets/a", "get secrets/b", "get secrets/c", "get secrets/d"},
	},
	"one more Secret beside an administrator's to pull images with": {
		before:  "imagePullSecrets: [{name: registry}]",
		spec:    "imagePullSecrets: [{name: web}, {name: registry}]",
		refused: "(here web)",
		rights:  []string{"get secrets/web"},
	},
	"an administrator's TLS Secret moved to where images are pulled": {
		before:  "tls: {secretName: web}",
		spec:    "imagePullSecrets: [{name: web}]",
		refused: "spec.imagePullSecrets: naming Secrets (here web)",
		rights:  []string{"get secrets/web"},
	},
	"all Secrets that a Memcached can name": {
		spec: "{tls: {secretName: web}, auth: {secretName: users}, imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, " +
			"{name: e}, {name: f}, {name: g}, {name: h}]}",
		refused: "naming the Secret web",
		rights: []string{"get secrets/web", "get secrets/users", "get secrets/a", "get secrets/b", "get secrets/c", "get secrets/d",
			"get secrets/e", "get secrets/f", "get secrets/g", "get secrets/h"},
	},
	"the image edited beside an administrator's TLS": {
		before:  "tls: {secretName: web}",
		spec:    "{tls: {secretName: web}, image: registry.example.com/thief}",
		refused: "spec.image: setting it beside Secrets (here web) takes the right to get each",
		rights:  []string{"get secrets/web"},
	},
	"the image edited beside an administrator's users": {
		before:  "{auth: {secretName: users}, image: 'memcached:1.6.45'}",
		spec:    "{auth: {secretName: users}, image: 'memcached:1.6.44'}",
		refused: "spec.image: setting it beside Secrets (here users)",
		rights:  []string{"get secrets/users"},
	},
	"the image edited beside both": {
		before:  "{tls: {secretName: web}, auth: {secretName: users}}",
		spec:    "{tls: {secretName: web}, auth: {secretName: users}, image: registry.example.com/thief}",
		refused: "(here web, users)",
		rights:  []string{"get secrets/web", "get secrets/users"},
	},
	"the image edited while one of two Secrets goes": {
		before:  "{tls: {secretName: web}, auth: {secretName: users}}",
		spec:    "{auth: {secretName: users}, image: registry.example.com/thief}",
		refused: "spec.image: setting it beside Secrets (here users)",
		rights:  []string{"get secrets/users"},
		not:     []string{"apply --server-side"}, // does not take TLS away
	},
	"the exporter's image edited beside an administrator's TLS": {
		before:  "{tls: {secretName: web}, metrics: {}}",
		spec:    "{tls: {secretName: web}, metrics: {image: registry.example.com/thief}}",
		refused: "spec.metrics.image: setting it beside Secrets (here web)",
		rights:  []string{"get secrets/web"},
	},
	"an exporter of the author's added beside an administrator's TLS": {
		before:  "tls: {secretName: web}",
		spec:    "{tls: {secretName: web}, metrics: {image: registry.example.com/thief}}",
		refused: "spec.metrics.image",
		rights:  []string{"get secrets/web"},
	},
	"the image edited beside a Secret that pulls it": {
		before:  "imagePullSecrets: [{name: registry}]",
		spec:    "{imagePullSecrets: [{name: registry}], image: registry.example.com/private}",
		refused: "spec.image: setting it beside Secrets (here registry) takes the right to get each",
		rights:  []string{"get secrets/registry"},
	},
	"the image edited while one of two Secrets to pull it goes": {
		before:  "{imagePullSecrets: [{name: registry}, {name: web}], image: 'memcached:1.6.45'}",
		spec:    "{imagePullSecrets: [{name: web}], image: registry.example.com/private}",
		refused: "spec.image: setting it beside Secrets (here web)",
		rights:  []string{"get secrets/web"},
		not:     []string{"apply --server-side"}, // does not take the other one away
	},
	"the image edited beside as many Secrets as a Memcached can name": {
		before: "{tls: {secretName: web}, auth: {secretName: users}, imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, " +
			"{name: e}, {name: f}, {name: g}, {name: h}]}",
		spec: "{tls: {secretName: web}, auth: {secretName: users}, imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, " +
			"{name: e}, {name: f}, {name: g}, {name: h}], image: registry.example.com/thief}",
		refused: "spec.image: setting it beside Secrets (here web, users, a, b, c, d, e, f, g, h)",
		rights: []string{"get secrets/web", "get secrets/users", "get secrets/a", "get secrets/b", "get secrets/c", "get secrets/d",
			"get secrets/e", "get secrets/f", "get secrets/g", "get secrets/h"},
	},
	"the exporter's image edited beside a Secret that pulls it": {
		before:  "{imagePullSecrets: [{name: registry}], metrics: {}}",
		spec:    "{imagePullSecrets: [{name: registry}], metrics: {image: registry.example.com/private}}",
		refused: "spec.metrics.image: setting it beside Secrets (here registry)",
		rights:  []string{"get secrets/registry"},
	},
	"a sidecar patched in beside a Secret that pulls its image": {
		before: "imagePullSecrets: [{name: registry}]",
		spec: "{imagePullSecrets: [{name: registry}], patches: [{target: {kind: Deployment}, " +
			"patch: 'spec: {template: {spec: {containers: [{name: thief, image: registry.example.com/private}]}}}'}]}",
		refused: "spec.patches: setting it beside Secrets (here registry)",
		rights:  []string{"get secrets/registry", deployments},
	},
	"arguments edited beside an administrator's TLS": {
		before:  "tls: {secretName: web}",
		spec:    "{tls: {secretName: web}, extraArgs: ['--disable-cas']}",
		refused: "spec.extraArgs: setting it beside Secrets (here web)",
		rights:  []string{"get secrets/web"},
	},
	"one argument of two taken away beside an administrator's users": {
		before:  "{auth: {secretName: users}, extraArgs: ['--disable-cas', '--disable-watch']}",
		spec:    "{auth: {secretName: users}, extraArgs: ['--disable-cas']}",
		refused: "spec.extraArgs",
		rights:  []string{"get secrets/users"},
	},
	"patches beside an administrator's TLS": {
		before:  "tls: {secretName: web}",
		spec:    "{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}]}",
		refused: "spec.patches: setting it beside Secrets (here web)",
		rights:  []string{"get secrets/web", deployments},
	},
	"an administrator's patch taken away that undid another, beside TLS": {
		before: "{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}, " +
			"{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: false}}}'}]}",
		spec:    "{tls: {secretName: web}, patches: [{target: {kind: Deployment}, patch: 'spec: {template: {spec: {shareProcessNamespace: true}}}'}]}",
		refused: "spec.patches",
		rights:  []string{"get secrets/web", deployments},
	},
}

func TestNobodyHandsOutSecretsThatHeMayNotGet(t *testing.T) {
	t.Parallel()
	for sentence, row := range onSecrets {
		t.Run(sentence, row.run)
	}
}
