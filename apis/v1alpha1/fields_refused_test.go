// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"testing"
)

const (
	memoryRange   = "memory must be between 16Mi and 1Ti, as a number of bytes or with a unit, such as 1536Mi, and without an exponent"
	itemRange     = "maxItemSize must be between 1Ki and 1Gi, in whole kibibytes, as a number of bytes or with a unit, such as 2Mi, and without an exponent"
	itemShare     = "maxItemSize may be at most half of memory"
	memoryLimit   = "the memory limit must be at least 1.1 times memory"
	aboveLimit    = "the request of memory must not be above its limit"
	connections   = "maxConnections must be at least 10 times threads and 10 more"
	extraArgsForm = "extraArgs takes options for tuning only"
	unavailable   = "maxUnavailable must be a number of pods from 0 to 1000, such as 1, or a percentage from 0% to 100%, such as 25%"
	peerForm      = "each peer must have a podSelector, a namespaceSelector or both, or an ipBlock alone"
	graceForm     = "preStop.sleepSeconds must be less than terminationGracePeriodSeconds"
	annotationKey = "each annotation key must be a qualified name, such as example.com/owner"
	objectName    = "must be the name of an object: 1 to 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	namespaceName = "must be the name of a namespace: 1 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
	keyForm       = "must be a qualified name, such as team or example.com/team"
)

// amountOf is the message for an amount of a resource that is no quantity.
func amountOf(resource string) string {
	return resource + " must be a number, 0 or more, or one with a unit, such as 500M or 256Mi, and without an exponent"
}

// refusal is a spec with fields (YAML in one line) that is refused with want.
func refusal(fields string, want ...string) refused {
	return refused{body: "spec: {" + fields + "}", want: want}
}

// testRefusals sees that each spec is refused with each of want.
func testRefusals(t *testing.T, want []string, specs ...string) {
	table := map[string]refused{}
	for _, spec := range specs {
		table[spec] = refusal(spec, want...)
	}
	testRefused(t, table)
}

func TestSpec_RejectsMemory(t *testing.T) {
	testRefusals(t, []string{"spec.memory", memoryRange},
		"memory: 0", `memory: "0"`, "memory: 64", "memory: 16777215", "memory: 15.9Mi", "memory: 1100Gi", "memory: 1099511627777",
		"memory: -1", "memory: -64Mi", `memory: "1e9"`, `memory: "64E6"`, "memory: 1E", `memory: "999999999999999999999999"`,
		"memory: 9223372036854774784", `memory: "9223372036854775807"`, `memory: ""`, "memory: garbage", "memory: 64 Mi", "memory: 64MB", "memory: Mi", `memory: "1e1.5"`)
}

// Kubernetes computes the power of ten that such a quantity names, digit by digit:
// neither the API server nor the operator may ever come to that.
func TestSpec_RejectsQuantitiesWithExponents(t *testing.T) {
	table := map[string]refused{}
	for _, quantity := range []string{"1e999999999", "1e-999999999", "1E999999999", "1E-999999999", "1234567890e2147483647"} {
		table["memory of "+quantity] = refusal(fmt.Sprintf("memory: %q", quantity), memoryRange)
		table["maxItemSize of "+quantity] = refusal(fmt.Sprintf("maxItemSize: %q", quantity), itemRange)
		table["memory beside others of "+quantity] = refusal(
			fmt.Sprintf("memory: %q, maxItemSize: 2Mi, resources: {limits: {memory: 128Mi}}", quantity), memoryRange)
		for _, owner := range []string{"resources: %s", "metrics: {resources: %s}"} {
			of := fmt.Sprintf("{limits: {memory: %[1]q}, requests: {memory: %[1]q, cpu: %[1]q, ephemeral-storage: %[1]q}}", quantity)
			table[fmt.Sprintf(owner, "of "+quantity)] = refusal(fmt.Sprintf(owner, of),
				"resources.limits.memory", "resources.requests.memory", "resources.requests.cpu", amountOf("memory"), amountOf("ephemeral-storage"))
		}
	}
	testRefused(t, table)
}

func TestSpec_RejectsItemSizes(t *testing.T) {
	testRefusals(t, []string{"spec.maxItemSize", itemRange},
		"maxItemSize: 1023", "maxItemSize: 1025", "maxItemSize: 0", "maxItemSize: -1Mi", "maxItemSize: 1Ki1",
		"maxItemSize: 1025Mi, memory: 4Gi", "maxItemSize: 1073741825, memory: 4Gi", `maxItemSize: "1e6"`, "maxItemSize: garbage", "maxItemSize: 1500m")
}

func TestSpec_RejectsItemsAboveHalfOfTheMemory(t *testing.T) {
	testRefusals(t, []string{"spec.maxItemSize", itemShare},
		"memory: 64Mi, maxItemSize: 33Mi", "memory: 67108864, maxItemSize: 33555456",
		"memory: 16Mi, maxItemSize: 9Mi", "memory: 2147483647, maxItemSize: 1Gi")
}

func TestSpec_RejectsMemoryLimitsThatTheCacheWouldFill(t *testing.T) {
	testRefusals(t, []string{"spec.resources", memoryLimit},
		"memory: 64Mi, resources: {limits: {memory: 73819750}}", "memory: 64Mi, resources: {limits: {memory: 0}}", "memory: 64Mi, resources: {limits: {memory: 1000m}}",
		"memory: 1Gi, resources: {limits: {memory: 1Gi}}", "memory: 1Gi, resources: {limits: {memory: 1126Mi}}", "memory: 1073741824, resources: {limits: {memory: 1181116006}}")
}

func TestSpec_RejectsResources(t *testing.T) {
	const cpu = "spec.resources.limits.cpu"
	testRefused(t, map[string]refused{
		"rejects a negative amount of CPU":         refusal("resources: {limits: {cpu: -1}}", cpu, "greater than or equal to 0"),
		"rejects a negative amount of CPU as text": refusal("resources: {requests: {cpu: -100m}}", "spec.resources.requests.cpu", "should match"),
		"rejects CPU in words":                     refusal("resources: {limits: {cpu: garbage}}", cpu, "should match"),
		"rejects CPU with an exponent":             refusal(`resources: {limits: {cpu: "1e3"}}`, cpu, "should match"),
		"rejects CPU without digits":               refusal("resources: {limits: {cpu: ''}}", cpu, "should match"),
		"rejects CPU in another unit":              refusal("resources: {limits: {cpu: 1k}}", cpu, "should match"),
		"rejects CPU that is true":                 refusal("resources: {limits: {cpu: true}}", "spec.resources.limits.cpu", "must not validate the schema (not)"),
		"rejects CPU that is false":                refusal("resources: {limits: {cpu: false}}", "spec.resources.limits.cpu", "must not validate the schema (not)"),
		"rejects CPU that is an object":            refusal("resources: {limits: {cpu: {a: 1}}}", cpu, "must have at most 0 items"),
		"rejects CPU that is an empty object":      refusal("resources: {limits: {cpu: {}}}", cpu, "at least 1 properties"),
		"rejects CPU that is a list":               refusal("resources: {limits: {cpu: [1]}}", cpu, "must have at most 0 items"),
		"rejects CPU that is an empty list":        refusal("resources: {limits: {cpu: []}}", cpu, "at least 1 items"),
		"rejects negative memory":                  refusal("resources: {limits: {memory: -1}}", "spec.resources.limits.memory", amountOf("memory")),
		"rejects memory in words":                  refusal("resources: {requests: {memory: garbage}}", "spec.resources.requests.memory", amountOf("memory")),
		"rejects memory with an exponent":          refusal(`resources: {requests: {memory: "1e1.5"}}`, amountOf("memory")),
		"rejects a fraction of a byte":             refusal("resources: {limits: {memory: 1.5}}", "spec.resources.limits.memory", "must be of type integer,string"),
		"rejects an unknown resource":              refusal("resources: {requests: {speed: 1}}", `unknown field "spec.resources.requests.speed"`),
		"rejects an extended resource":             refusal("resources: {limits: {nvidia.com/gpu: 1}}", `unknown field "spec.resources.limits.nvidia.com/gpu"`),
		"rejects huge pages":                       refusal("resources: {limits: {hugepages-2Mi: 4Mi}}", `unknown field "spec.resources.limits.hugepages-2Mi"`),
		"rejects memory above the limit":           refusal("resources: {limits: {memory: 128Mi}, requests: {memory: 134217729}}", "spec.resources", aboveLimit),
		"rejects claims":                           refusal("resources: {claims: [{name: a}]}", `unknown field "spec.resources.claims"`),
		"rejects the exporter's above the limit":   refusal("metrics: {resources: {limits: {memory: 1Mi}, requests: {memory: 2Mi}}}", "spec.metrics.resources", aboveLimit),
		"rejects the exporter's, negative":         refusal("metrics: {resources: {limits: {memory: -1}}}", "spec.metrics.resources.limits", amountOf("memory")),
	})
}

func TestSpec_RejectsServerOptions(t *testing.T) {
	testRefused(t, map[string]refused{
		"too few connections for the threads":   refusal("threads: 64, maxConnections: 649", "spec.maxConnections", connections),
		"connections in quotes":                 refusal(`maxConnections: "1024"`, "spec.maxConnections", "must be of type integer"),
		"verbosity in words":                    refusal("verbosity: high", "spec.verbosity", "must be of type integer"),
		"an idle timeout with a unit":           refusal("idleTimeoutSeconds: 90s", "spec.idleTimeoutSeconds", "must be of type integer"),
		"paused in words":                       refusal(`paused: "true"`, "spec.paused", "must be of type boolean"),
		"an image pull policy of another case":  refusal("imagePullPolicy: always", "spec.imagePullPolicy", `supported values: "Always", "IfNotPresent", "Never"`),
		"a parameter with a dot in its name":    refusal("parameters: {a.b: c}", "spec.parameters", "each name must begin with a lower-case letter and have at most 63 letters and digits"),
		"a parameter in capitals":               refusal("parameters: {ZONE: c}", "spec.parameters", "each name must begin with a lower-case letter"),
		"an empty parameter":                    refusal("parameters: {zone: ''}", "spec.parameters.zone", "should be at least 1 chars long"),
		"a parameter that is a number":          refusal("parameters: {zone: 3}", "spec.parameters.zone", "must be of type string"),
		"extraArgs that are no list":            refusal("extraArgs: --disable-cas", "spec.extraArgs", "must be of type array"),
		"an extra argument that is null":        refusal("extraArgs: [null]", "spec.extraArgs[0]", "must be of type string"),
		"a good extra argument and a bad one":   refusal("extraArgs: [--disable-cas, --user=root]", "spec.extraArgs[1]", extraArgsForm),
		"an extra argument and its value apart": refusal("extraArgs: [--extended, modern]", "spec.extraArgs[0]", "spec.extraArgs[1]", extraArgsForm),
	})
}

func TestSpec_RejectsPodFields(t *testing.T) {
	testRefused(t, map[string]refused{
		"a pull secret without a name":         refusal("imagePullSecrets: [{}]", "spec.imagePullSecrets[0].name: Required value"),
		"a pull secret of another namespace":   refusal("imagePullSecrets: [{name: a, namespace: b}]", `unknown field "spec.imagePullSecrets[0].namespace"`),
		"a pull secret by a path":              refusal("imagePullSecrets: [{name: ../a}]", "spec.imagePullSecrets[0].name", objectName),
		"an empty pull secret":                 refusal("imagePullSecrets: [{name: ''}]", "spec.imagePullSecrets[0].name", objectName),
		"a node label key with a space":        refusal(`nodeSelector: {"a b": c}`, "spec.nodeSelector", labelKey),
		"a node label value with a space":      refusal("nodeSelector: {a: b c}", "spec.nodeSelector", labelForm),
		"a toleration that is null":            refusal("tolerations: [null]", "spec.tolerations[0]", "must be of type object"),
		"a toleration with a misspelled field": refusal("tolerations: [{kee: a}]", `unknown field "spec.tolerations[0].kee"`),
		"an affinity that is a list":           refusal("affinity: []", "spec.affinity", "must be of type object"),
		"an affinity without its topology key": refusal("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}", "topologyKey: Required value"),
		"a spread constraint without a skew":   refusal("topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: DoNotSchedule}]", "maxSkew: Required value"),
		"an upper-case priority class":         refusal("priorityClassName: High", "spec.priorityClassName", objectName),
		"an empty priority class":              refusal("priorityClassName: ''", "spec.priorityClassName", objectName),
		"an empty service account":             refusal("serviceAccountName: ''", "spec.serviceAccountName", objectName),
		"a service account by its full name":   refusal("serviceAccountName: 'system:serviceaccount:a:b'", "spec.serviceAccountName", objectName),
		"an empty preStop":                     refusal("preStop: {}", "spec.preStop.sleepSeconds: Required value"),
		"a preStop with a command":             refusal("preStop: {sleepSeconds: 1, exec: {command: [sh]}}", `unknown field "spec.preStop.exec"`),
		"a preStop as long as the grace":       refusal("preStop: {sleepSeconds: 60}, terminationGracePeriodSeconds: 60", "spec.preStop", graceForm),
		"a preStop without a grace":            refusal("preStop: {sleepSeconds: 1}, terminationGracePeriodSeconds: 0", "spec.preStop", graceForm),
	})
}

func TestSpec_RejectsServicesAndBudgets(t *testing.T) {
	testRefused(t, map[string]refused{
		"the Service's label app":          refusal("service: {labels: {app: x}}", "spec.service.labels", reserved),
		"the label of the operator":        refusal("service: {labels: {app.kubernetes.io/managed-by: x}}", "spec.service.labels", reserved),
		"a Service label key with a space": refusal(`service: {labels: {"a b": x}}`, "spec.service.labels", labelKey),
		"a Service label value":            refusal("service: {labels: {a: b c}}", "spec.service.labels", labelForm),
		"an annotation key with a space":   refusal(`service: {annotations: {"a b": x}}`, "spec.service.annotations", annotationKey),
		"a type of Service":                refusal("service: {type: LoadBalancer}", `unknown field "spec.service.type"`),
		"an address":                       refusal("service: {clusterIP: 10.0.0.1}", "spec.service.clusterIP", "must be of type object"),
		"a roll-out that cannot replace":   refusal("rollout: {maxSurge: 0}", "spec.rollout", "maxSurge 0 needs a maxUnavailable of at least 1"),
		"a roll-out of 0 percent":          refusal("rollout: {maxSurge: 0%, maxUnavailable: 0}", "spec.rollout", "maxSurge 0 needs a maxUnavailable of at least 1"),
		"a surge of 101 percent":           refusal("rollout: {maxSurge: 101%}", "spec.rollout.maxSurge", "maxSurge must be a number of pods from 0 to 1000"),
		"a negative number of pods":        refusal("rollout: {maxUnavailable: -1}", "spec.rollout.maxUnavailable", "maxUnavailable must be a number of pods from 0 to 1000"),
		"a negative percentage":            refusal("podDisruptionBudget: {maxUnavailable: -1%}", "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"007 percent":                      refusal("podDisruptionBudget: {maxUnavailable: 007%}", "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"a number in quotes":               refusal(`podDisruptionBudget: {maxUnavailable: "1"}`, "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"a half pod":                       refusal("podDisruptionBudget: {maxUnavailable: 1.5}", "spec.podDisruptionBudget.maxUnavailable", "must be of type integer,string"),
		"a budget that is none and set":    refusal("podDisruptionBudget: {none: {}, maxUnavailable: 1}", "spec.podDisruptionBudget", "none leaves no budget for maxUnavailable; remove one of the two"),
		"minAvailable":                     refusal("podDisruptionBudget: {minAvailable: 1}", `unknown field "spec.podDisruptionBudget.minAvailable"`),
	})
}

func TestSpec_RejectsNetworkPolicies(t *testing.T) {
	testRefused(t, map[string]refused{
		"nobody named":                    refusal("networkPolicy: {}", "spec.networkPolicy.from: Required value"),
		"nobody":                          refusal("networkPolicy: {from: []}", "spec.networkPolicy.from", "at least 1 item"),
		"a peer that is null":             refusal("networkPolicy: {from: [null]}", "spec.networkPolicy.from[0]", "must be of type object"),
		"an empty peer":                   refusal("networkPolicy: {from: [{}]}", "spec.networkPolicy.from", peerForm),
		"an empty peer among others":      refusal("networkPolicy: {from: [{podSelector: {}}, {}]}", "spec.networkPolicy.from", peerForm),
		"a block and pods in one":         refusal("networkPolicy: {from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}", "spec.networkPolicy.from", peerForm),
		"a block without addresses":       refusal("networkPolicy: {from: [{ipBlock: {}}]}", "ipBlock.cidr: Required value"),
		"metricsFrom without metrics":     refusal("networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}", "spec.networkPolicy", "networkPolicy.metricsFrom needs metrics"),
		"an empty peer of the metrics":    refusal("metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{}]}", "spec.networkPolicy.metricsFrom", peerForm),
		"metricsFrom and nobody else":     refusal("metrics: {}, networkPolicy: {metricsFrom: [{podSelector: {}}]}", "spec.networkPolicy.from: Required value"),
		"egress, which there is no field": refusal("networkPolicy: {from: [{podSelector: {}}], egress: []}", `unknown field "spec.networkPolicy.egress"`),
	})
}

func TestSpec_RejectsTLSAuthAndMetrics(t *testing.T) {
	const (
		ports     = "tls.plaintextPort must differ from containerPort and metrics.port"
		secretKey = "key must be a key of a Secret: 1 to 253 letters, digits, '-', '_' and '.', not beginning with '..'"
	)
	testRefused(t, map[string]refused{
		"TLS without a Secret":                 refusal("tls: {}", "spec.tls.secretName: Required value"),
		"an empty Secret":                      refusal("tls: {secretName: ''}", "spec.tls.secretName", objectName),
		"a Secret by a path":                   refusal("tls: {secretName: a/b}", "spec.tls.secretName", objectName),
		"clientAuth of another case":           refusal("tls: {secretName: a, clientAuth: require}", "spec.tls.clientAuth", `supported values: "None", "Request", "Require"`),
		"the plaintext port on the default":    refusal("tls: {secretName: a, plaintextPort: 11211}", "spec.tls", ports),
		"the plaintext port on the other":      refusal("tls: {secretName: a, plaintextPort: 2000}, containerPort: 2000", "spec.tls", ports),
		"the plaintext port on the metrics'":   refusal("tls: {secretName: a, plaintextPort: 9150}, metrics: {}", "spec.tls", ports),
		"the plaintext port on a metrics port": refusal("tls: {secretName: a, plaintextPort: 2000}, metrics: {port: 2000}", "spec.tls", ports),
		"TLS of proxies alone":                 refusal("tls: {secretName: a}, proxy: {}", "spec.tls", "tls with proxy needs tls.plaintextPort: the proxies serve TLS, and speak none to memcached"),
		"users of proxies":                     refusal("auth: {secretName: a}, proxy: {}", "spec.proxy", "proxy cannot be combined with auth: memcached's proxy can authenticate on neither side"),
		"auth without a Secret":                refusal("auth: {key: a}", "spec.auth.secretName: Required value"),
		"auth with an empty Secret":            refusal("auth: {secretName: ''}", "spec.auth.secretName", objectName),
		"an empty key":                         refusal("auth: {secretName: a, key: ''}", "spec.auth.key", secretKey),
		"a key with a slash":                   refusal("auth: {secretName: a, key: ../b}", "spec.auth.key", secretKey),
		"a password":                           refusal("auth: {secretName: a, password: b}", `unknown field "spec.auth.password"`),
		"the metrics on the default port":      refusal("metrics: {port: 11211}", "spec.metrics", "metrics.port must differ from containerPort"),
		"the default metrics port taken":       refusal("containerPort: 9150, metrics: {}", "spec.metrics", "metrics.port must differ from containerPort"),
		"an exporter image with a space":       refusal("metrics: {image: my image}", "spec.metrics.image", imageForm),
		"a reserved label of the rules":        refusal("metrics: {rules: {labels: {app: x}}}", "spec.metrics.rules.labels", reserved),
		"a bad label of the rules":             refusal("metrics: {rules: {labels: {a: b c}}}", "spec.metrics.rules.labels", labelForm),
		"a reserved label of the monitor":      refusal("metrics: {serviceMonitor: {labels: {memcached_cr: x}}}", "spec.metrics.serviceMonitor.labels", reserved),
		"a bad label of the monitor":           refusal(`metrics: {serviceMonitor: {labels: {"a b": x}}}`, "spec.metrics.serviceMonitor.labels", labelKey),
	})
}

func TestSpec_RejectsPatches(t *testing.T) {
	target := func(target string) string { return "patches: [{patch: x, target: {" + target + "}}]" }
	testRefused(t, map[string]refused{
		"no target":                      refusal("patches: [{patch: x}]", "spec.patches[0].target: Required value"),
		"no kind":                        refusal(target("name: a"), "spec.patches[0].target.kind: Required value"),
		"no patch":                       refusal("patches: [{target: {kind: Deployment}}]", "spec.patches[0].patch: Required value"),
		"an empty patch":                 refusal("patches: [{target: {kind: Deployment}, patch: ''}]", "spec.patches[0].patch", "at least 1 char"),
		"a patch that is no text":        refusal("patches: [{target: {kind: Deployment}, patch: 7}]", "spec.patches[0].patch", "must be of type string"),
		"a lower-case kind":              refusal(target("kind: deployment"), "spec.patches[0].target.kind", "kind must be a kind, such as Deployment: letters and digits, beginning with a capital letter"),
		"a kind by a regular expression": refusal(target("kind: '.*'"), "spec.patches[0].target.kind", "kind must be a kind, such as Deployment: letters and digits, beginning with a capital letter"),
		"an upper-case group":            refusal(target("kind: A, group: Apps"), "spec.patches[0].target.group", "group must be empty or an API group, such as apps or policy"),
		"a name by a regular expression": refusal(target("kind: A, name: '.*'"), "spec.patches[0].target.name", objectName),
		"a namespace":                    refusal(target("kind: A, namespace: b"), `unknown field "spec.patches[0].target.namespace"`),
		"a label selector":               refusal(target("kind: A, labelSelector: a=b"), `unknown field "spec.patches[0].target.labelSelector"`),
		"a path to a file":               refusal("patches: [{target: {kind: Deployment}, path: patch.yaml, patch: x}]", `unknown field "spec.patches[0].path"`),
	})
}
