// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
)

func invalid(name, spec, field string) row { return row{name: name, spec: spec, invalid: field} }

// schemaRows are refused by the schema, whoever sends them.
var schemaRows = []row{
	invalid("writes a variable as image", "image: $(IMAGE)", "spec.image"),
	invalid("writes arguments behind an image", "image: memcached --udp-port=1", "spec.image"),
	invalid("leaves a repository by its path", "image: memcached/../evil", "spec.image"),
	invalid("writes a URL as image", "image: https://memcached", "spec.image"),
	invalid("writes a list as image", "image: 'memcached,evil'", "spec.image"),
	invalid("writes a variable as image of the exporter", "metrics: {image: $(IMAGE)}", "spec.metrics.image"),
	invalid("names a Secret of another namespace", "tls: {secretName: kube-system/web}", "spec.tls.secretName"),
	invalid("names a Secret by a path", "auth: {secretName: ../users}", "spec.auth.secretName"),
	invalid("names a Secret without a name", "tls: {secretName: ''}", "spec.tls.secretName"),
	invalid("names no Secret", "tls: {}", "spec.tls.secretName"),
	invalid("names a key by a path", "auth: {secretName: users, key: ../../key}", "spec.auth.key"),
	invalid("names a Secret of another namespace to pull images with", "imagePullSecrets: [{name: kube-system/registry}]", "spec.imagePullSecrets[0].name"),
	invalid("names more Secrets to pull images with than the policy asks about",
		"imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}, {name: i}]", "spec.imagePullSecrets"),
	invalid("names a service account of another namespace", "serviceAccountName: kube-system/admin", "spec.serviceAccountName"),
	invalid("names a service account by a variable", "serviceAccountName: $(ACCOUNT)", "spec.serviceAccountName"),
	invalid("names a priority class by a variable", "priorityClassName: $(CLASS)", "spec.priorityClassName"),
	invalid("adds pods to the Service of the operator", "podMetadata: {labels: {app: memcached}}", "spec.podMetadata.labels"),
	invalid("adds pods to another Memcached", "podMetadata: {labels: {memcached_cr: other}}", "spec.podMetadata.labels"),
	invalid("adds pods to another ReplicaSet", "podMetadata: {labels: {pod-template-hash: abc}}", "spec.podMetadata.labels"),
	invalid("hides pods from the operator", "podMetadata: {labels: {app.kubernetes.io/managed-by: me}}", "spec.podMetadata.labels"),
	invalid("writes a label key that is none", "podMetadata: {labels: {'a b': c}}", "spec.podMetadata.labels"),
	invalid("writes an annotation key that is none", "podMetadata: {annotations: {'a b': c}}", "spec.podMetadata.annotations"),
	invalid("hides a Service from the operator", "service: {labels: {app.kubernetes.io/managed-by: me}}", "spec.service.labels"),
	invalid("hides a ServiceMonitor from the operator", "metrics: {serviceMonitor: {labels: {app.kubernetes.io/managed-by: me}}}", "spec.metrics.serviceMonitor.labels"),
	invalid("hides alerts from the operator", "metrics: {rules: {labels: {app: me}}}", "spec.metrics.rules.labels"),
	invalid("patches all kinds", patch("kind: .*", "spec: {}"), "spec.patches[0].target.kind"),
	invalid("patches a list of kinds", patch("kind: Deployment|Role", "spec: {}"), "spec.patches[0].target.kind"),
	invalid("patches all groups", patch("kind: Role, group: .*", "spec: {}"), "spec.patches[0].target.group"),
	invalid("patches no kind", patch("name: x", "spec: {}"), "spec.patches[0].target.kind"),
	invalid("patches no target", "patches: [{patch: 'spec: {}'}]", "spec.patches[0].target"),
	invalid("patches more often than the policy asks about", "patches: ["+strings.Repeat("{target: {kind: Service}, patch: 'spec: {}'}, ", 9)+"]", "spec.patches"),
	invalid("writes a patch that is too long", patch("kind: Service", "a: "+strings.Repeat("x", 8200)), "spec.patches[0].patch"),
	invalid("names users beside an exporter", "{auth: {secretName: users}, metrics: {}}", "spec.auth"),
	invalid("listens on a port of root", "containerPort: 80", "spec.containerPort"),
	invalid("runs fewer pods than none", "size: -1", "spec.size"),
	invalid("runs more pods than a cluster has", "size: 1000000", "spec.size"),
}

// argumentRows are further arguments of memcached that would do more than tune it, in
// the spellings that it takes.
var argumentRows = func() []row {
	var rows []row
	for name, argument := range map[string]string{
		"opens UDP":                                 "--udp-port=11211",
		"opens UDP, abbreviated":                    "--udp=11211",
		"opens UDP by the short option":             "-U11211",
		"opens UDP by the short option and a space": "-U 11211",
		"opens UDP in capitals":                     "--UDP-PORT=11211",
		"opens UDP after a space":                   " --udp-port=11211",
		"opens UDP on a second line":                "--disable-cas\n--udp-port=11211",
		"opens UDP after a good option":             "--disable-cas --udp-port=11211",
		"opens UDP by the environment":              "--udp-port=$(MEMCACHED_PORT)",
		"chooses an address":                        "--listen=0.0.0.0",
		"chooses an address, abbreviated":           "--lis=0.0.0.0",
		"chooses an address by the short option":    "-l0.0.0.0",
		"chooses a port":                            "--port=22122",
		"chooses a port by the short option":        "-p22122",
		"chooses a user":                            "--user=root",
		"chooses a user by the short option":        "-uroot",
		"reads users from a file":                   "--auth-file=/tmp/users",
		"reads users from a file, abbreviated":      "--auth=/etc/passwd",
		"reads users by the short option":           "-Y/etc/passwd",
		"writes a password":                         "--auth-password=hunter2",
		"writes a password as an extended option":   "--extended=password=hunter2",
		"opens a socket":                            "--unix-socket=/tmp/memcached",
		"opens a socket by the short option":        "-s/tmp/memcached",
		"opens a socket to everybody":               "--unix-mask=777",
		"keeps memory in a file":                    "--memory-file=/dev/shm/memory",
		"keeps memory in a file, short":             "-e/dev/shm/memory",
		"lets clients shut it down":                 "--enable-shutdown",
		"lets clients shut it down, short":          "-A",
		"dumps core":                                "--enable-coredumps",
		"writes a process ID":                       "--pidfile=/tmp/pid",
		"runs in the background":                    "--daemon",
		"speaks a protocol without users":           "--protocol=binary",
		"turns on SASL":                             "--enable-sasl",
		"turns on TLS":                              "--enable-ssl",
		"names a key":                               "--extended=ssl_key=/tmp/key",
		"names a key after a good option":           "--extended=hashpower=20,ssl_key=/tmp/key",
		"names a key in capitals":                   "--extended=SSL_KEY=/tmp/key",
		"stores items on a disk":                    "--extended=ext_path=/data/file:1G",
		"runs a program in the proxy":               "--extended=proxy_config=/tmp/proxy.lua",
		"reads a number from a variable":            "--slab-growth-factor=$(HOME)",
		"reads an argument from a variable":         "$(MEMCACHED_ARGUMENTS)",
		"ends the options":                          "--",
		"passes an empty argument":                  "",
		"passes a word":                             "memcached",
		"sets what has a field":                     "--memory-limit=1048576",
		"sets what has a field, extended":           "--extended=idle_timeout=1",
	} {
		rows = append(rows, row{name: "argument " + name, arguments: []any{"--disable-cas", argument}, invalid: "spec.extraArgs[1]"})
	}
	return rows
}()
