// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	memoryRange   = "memory must be between 16Mi and 1Ti, as a number of bytes or with a unit, such as 1536Mi, and without an exponent"
	itemRange     = "maxItemSize must be between 1Ki and 1Gi, in whole kibibytes, as a number of bytes or with a unit, such as 2Mi, and without an exponent"
	itemShare     = "maxItemSize may be at most half of memory (64Mi unless set)"
	memoryLimit   = "the memory limit must be at least 1.1 times memory (64Mi unless set)"
	amount        = "each quantity must be a number, 0 or more, or one with a unit, such as 500m or 256Mi, and without an exponent"
	resourceName  = "each resource must be cpu, memory, ephemeral-storage, hugepages-<size> or one with a domain, such as example.com/device"
	aboveLimit    = "no request of cpu or memory may be above its limit"
	connections   = "maxConnections must be at least 10 times threads (4 unless set) and 10 more"
	idleForm      = "idleTimeout must be between 1s and 8760h, in hours, minutes and seconds, such as 90s or 1h30m"
	intervalForm  = "interval must be between 1s and 24h, in hours, minutes and seconds, such as 30s or 1m"
	extraArgsForm = "extraArgs takes options for tuning only"
	unavailable   = "maxUnavailable must be a number of pods, such as 1, or a percentage, such as 25%"
	peerForm      = "each peer must have a podSelector, a namespaceSelector or both, or an ipBlock alone"
	graceForm     = "preStop.sleepSeconds must be less than terminationGracePeriodSeconds (30 unless set)"
	annotationKey = "each annotation key must be a qualified name, such as example.com/owner"
)

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

func TestRefusesMemory(t *testing.T) {
	testRefusals(t, []string{"spec.memory", memoryRange},
		"memory: 0", `memory: "0"`, "memory: 64", "memory: 16777215", "memory: 15.9Mi", "memory: 1100Gi", "memory: 1099511627777",
		"memory: -1", "memory: -64Mi", `memory: "1e9"`, `memory: "64E6"`, "memory: 1E", `memory: "99999999999999999999999999"`,
		"memory: 9223372036854774784", `memory: "9223372036854775807"`, `memory: ""`, "memory: garbage", "memory: 64 Mi", "memory: 64MB", "memory: Mi", `memory: "1e1.5"`)
}

// Kubernetes computes the power of ten that such a quantity names, digit by digit:
// neither the API server nor the operator may ever come to that.
func TestRefusesQuantitiesThatWouldTakeForever(t *testing.T) {
	table := map[string]refused{}
	for _, quantity := range []string{"1e999999999", "1e-999999999", "1E999999999", "1E-999999999", "12345678901234567890e2147483647"} {
		table["memory of "+quantity] = refusal(fmt.Sprintf("memory: %q", quantity), memoryRange)
		table["maxItemSize of "+quantity] = refusal(fmt.Sprintf("maxItemSize: %q", quantity), itemRange)
		table["memory beside others of "+quantity] = refusal(
			fmt.Sprintf("memory: %q, maxItemSize: 2Mi, resources: {limits: {memory: 128Mi}}", quantity), memoryRange)
		for _, owner := range []string{"resources: %s", "metrics: {resources: %s}"} {
			of := fmt.Sprintf("{limits: {memory: %[1]q, cpu: %[1]q}, requests: {memory: %[1]q, cpu: %[1]q, example.com/a: %[1]q}}", quantity)
			table[fmt.Sprintf(owner, "of "+quantity)] = refusal(fmt.Sprintf(owner, of), "resources.limits", "resources.requests", amount)
		}
	}
	testRefused(t, table)
}

func TestRefusesItemSizes(t *testing.T) {
	testRefusals(t, []string{"spec.maxItemSize", itemRange},
		"maxItemSize: 1023", "maxItemSize: 1025", "maxItemSize: 0", "maxItemSize: -1Mi", "maxItemSize: 1Ki1",
		"maxItemSize: 1025Mi, memory: 4Gi", "maxItemSize: 1073741825, memory: 4Gi", `maxItemSize: "1e6"`, "maxItemSize: garbage", "maxItemSize: 1500m")
}

func TestRefusesItemsAboveHalfOfTheMemory(t *testing.T) {
	testRefusals(t, []string{"spec.maxItemSize", itemShare},
		"maxItemSize: 33Mi", "maxItemSize: 33555456", "memory: 64Mi, maxItemSize: 33Mi", "memory: 67108864, maxItemSize: 33555456",
		"memory: 16Mi, maxItemSize: 9Mi", "memory: 2147483647, maxItemSize: 1Gi")
}

func TestRefusesMemoryLimitsThatTheCacheWouldFill(t *testing.T) {
	testRefusals(t, []string{"spec.resources", memoryLimit},
		"resources: {limits: {memory: 64Mi}}", "resources: {limits: {memory: 73819750}}", "resources: {limits: {memory: 0}}", "resources: {limits: {memory: 1000m}}",
		"memory: 1Gi, resources: {limits: {memory: 1Gi}}", "memory: 1Gi, resources: {limits: {memory: 1126Mi}}", "memory: 1073741824, resources: {limits: {memory: 1181116006}}")
}

func TestRefusesResources(t *testing.T) {
	testRefused(t, map[string]refused{
		"a negative limit":                refusal("resources: {limits: {cpu: -1}}", "spec.resources.limits", amount),
		"a negative request":              refusal("resources: {requests: {cpu: -100m}}", "spec.resources.requests", amount),
		"words":                           refusal("resources: {limits: {cpu: garbage}}", "spec.resources.limits.cpu", "should match", amount),
		"an exponent":                     refusal(`resources: {limits: {cpu: "1e3"}}`, amount),
		"a quantity that nobody can read": refusal(`resources: {requests: {cpu: "1e1.5"}}`, amount),
		"a number that is not whole":      refusal("resources: {limits: {cpu: 1.5}}", "spec.resources.limits.cpu", "must be of type integer,string"),
		"25 digits":                       refusal(`resources: {limits: {cpu: "1000000000000000000000000"}}`, amount),
		"an unknown resource":             refusal("resources: {requests: {speed: 1}}", "spec.resources.requests", resourceName),
		"a resource with a space":         refusal("resources: {limits: {example.com/my device: 1}}", "spec.resources.limits", resourceName),
		"seven":                           refusal("resources: {limits: {a/a: 1, a/b: 1, a/c: 1, a/d: 1, a/e: 1, a/f: 1, a/g: 1}}", "Too many: 7: must have at most 6 items"),
		"a CPU request above the limit":   refusal("resources: {limits: {cpu: 1}, requests: {cpu: 1001m}}", "spec.resources", aboveLimit),
		"memory above the limit":          refusal("resources: {limits: {memory: 128Mi}, requests: {memory: 134217729}}", "spec.resources", aboveLimit),
		"claims":                          refusal("resources: {claims: [{name: a}]}", `unknown field "spec.resources.claims"`),
		"the exporter's, above its limit": refusal("metrics: {resources: {limits: {cpu: 1}, requests: {cpu: 2}}}", "spec.metrics.resources", aboveLimit),
		"the exporter's, negative":        refusal("metrics: {resources: {limits: {memory: -1}}}", "spec.metrics.resources.limits", amount),
	})
}

func TestRefusesServerOptions(t *testing.T) {
	testRefused(t, map[string]refused{
		"19 connections":                        refusal("threads: 1, maxConnections: 19", "spec.maxConnections", "greater than or equal to 20"),
		"500001 connections":                    refusal("maxConnections: 500001", "spec.maxConnections", "less than or equal to 500000"),
		"too few connections for the threads":   refusal("threads: 64, maxConnections: 649", "spec.maxConnections", connections),
		"too few connections for the default":   refusal("maxConnections: 49", "spec.maxConnections", connections),
		"connections in quotes":                 refusal(`maxConnections: "1024"`, "spec.maxConnections", "must be of type integer"),
		"no thread":                             refusal("threads: 0", "spec.threads", "greater than or equal to 1"),
		"65 threads":                            refusal("threads: 65", "spec.threads", "less than or equal to 64"),
		"a negative verbosity":                  refusal("verbosity: -1", "spec.verbosity", "greater than or equal to 0"),
		"verbosity 4":                           refusal("verbosity: 4", "spec.verbosity", "less than or equal to 3"),
		"verbosity in words":                    refusal("verbosity: high", "spec.verbosity", "must be of type integer"),
		"an idle timeout that is a number":      refusal("idleTimeout: 90", "spec.idleTimeout", "must be of type string"),
		"an idle timeout of 17 characters":      refusal("idleTimeout: 00000000000000001s", "spec.idleTimeout", "Too long: may not be more than 16 bytes"),
		"paused in words":                       refusal(`paused: "true"`, "spec.paused", "must be of type boolean"),
		"an image pull policy of another case":  refusal("imagePullPolicy: always", "spec.imagePullPolicy", `supported values: "Always", "IfNotPresent", "Never"`),
		"extraArgs that are no list":            refusal("extraArgs: --disable-cas", "spec.extraArgs", "must be of type array"),
		"17 extraArgs":                          refusal("extraArgs: ["+strings.Repeat("--disable-cas, ", 17)+"]", "spec.extraArgs", "Too many: 17: must have at most 16 items"),
		"an extra argument of 129 characters":   refusal("extraArgs: [--"+strings.Repeat("a", 127)+"]", "spec.extraArgs[0]", "Too long: may not be more than 128 bytes"),
		"an extra argument that is null":        refusal("extraArgs: [null]", "spec.extraArgs[0]", "must be of type string"),
		"a good extra argument and a bad one":   refusal("extraArgs: [--disable-cas, --user=root]", "spec.extraArgs[1]", extraArgsForm),
		"an extra argument and its value apart": refusal("extraArgs: [--extended, modern]", "spec.extraArgs[0]", "spec.extraArgs[1]", extraArgsForm),
	})
}

func TestRefusesIdleTimeouts(t *testing.T) {
	testRefusals(t, []string{"spec.idleTimeout", idleForm},
		"idleTimeout: 0s", "idleTimeout: 8761h", "idleTimeout: 8760h1s", "idleTimeout: 31536001s", "idleTimeout: 99999999999h", "idleTimeout: 0h0m0s",
		`idleTimeout: "90"`, `idleTimeout: ""`, "idleTimeout: 1h1h", "idleTimeout: 1s1m", "idleTimeout: 500ms", "idleTimeout: 1.5h", "idleTimeout: -1s", "idleTimeout: 1d", `idleTimeout: "1h "`, "idleTimeout: never")
}

func TestRefusesPodFields(t *testing.T) {
	const name = "should match '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'"
	testRefused(t, map[string]refused{
		"a pull secret without a name":         refusal("imagePullSecrets: [{}]", "spec.imagePullSecrets[0].name: Required value"),
		"a pull secret of another namespace":   refusal("imagePullSecrets: [{name: a, namespace: b}]", `unknown field "spec.imagePullSecrets[0].namespace"`),
		"a pull secret by a path":              refusal("imagePullSecrets: [{name: ../a}]", "spec.imagePullSecrets[0].name", name),
		"an empty pull secret":                 refusal("imagePullSecrets: [{name: ''}]", "spec.imagePullSecrets[0].name", name),
		"nine pull secrets":                    refusal("imagePullSecrets: ["+strings.Repeat("{name: a}, ", 9)+"]", "Too many: 9: must have at most 8 items"),
		"a node label key with a space":        refusal(`nodeSelector: {"a b": c}`, "spec.nodeSelector", labelKey),
		"a node label value with a space":      refusal("nodeSelector: {a: b c}", "spec.nodeSelector", labelForm),
		"a node label value of 64 characters":  refusal("nodeSelector: {a: "+strings.Repeat("v", 64)+"}", "spec.nodeSelector.a: Too long: may not be more than 63 bytes"),
		"33 node labels":                       refusal("nodeSelector: {"+entries(33)+"}", "Too many: 33: must have at most 32 items"),
		"33 tolerations":                       refusal("tolerations: ["+strings.Repeat("{}, ", 33)+"]", "Too many: 33: must have at most 32 items"),
		"a toleration that is null":            refusal("tolerations: [null]", "spec.tolerations[0]", "must be of type object"),
		"a toleration with a misspelled field": refusal("tolerations: [{kee: a}]", `unknown field "spec.tolerations[0].kee"`),
		"an affinity that is a list":           refusal("affinity: []", "spec.affinity", "must be of type object"),
		"an affinity without its topology key": refusal("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}", "topologyKey: Required value"),
		"nine spread constraints":              refusal("topologySpreadConstraints: ["+strings.Repeat("{maxSkew: 1, topologyKey: a, whenUnsatisfiable: b}, ", 9)+"]", "Too many: 9: must have at most 8 items"),
		"a spread constraint without a skew":   refusal("topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: DoNotSchedule}]", "maxSkew: Required value"),
		"an upper-case priority class":         refusal("priorityClassName: High", "spec.priorityClassName", name),
		"an empty priority class":              refusal("priorityClassName: ''", "spec.priorityClassName", name),
		"a priority class of 254 characters":   refusal("priorityClassName: "+strings.Repeat("a", 254), "Too long: may not be more than 253 bytes"),
		"an empty service account":             refusal("serviceAccountName: ''", "spec.serviceAccountName", name),
		"a service account by its full name":   refusal("serviceAccountName: 'system:serviceaccount:a:b'", "spec.serviceAccountName", name),
		"a negative grace period":              refusal("terminationGracePeriodSeconds: -1", "greater than or equal to 0"),
		"a grace period above an hour":         refusal("terminationGracePeriodSeconds: 3601", "less than or equal to 3600"),
		"a negative minReadySeconds":           refusal("minReadySeconds: -1", "greater than or equal to 0"),
		"minReadySeconds near the deadline":    refusal("minReadySeconds: 541", "less than or equal to 540"),
		"an empty preStop":                     refusal("preStop: {}", "spec.preStop.sleepSeconds: Required value"),
		"a preStop of no time":                 refusal("preStop: {sleepSeconds: 0}", "greater than or equal to 1"),
		"a preStop with a command":             refusal("preStop: {sleepSeconds: 1, exec: {command: [sh]}}", `unknown field "spec.preStop.exec"`),
		"a preStop as long as the default":     refusal("preStop: {sleepSeconds: 30}", "spec.preStop", graceForm),
		"a preStop as long as the grace":       refusal("preStop: {sleepSeconds: 60}, terminationGracePeriodSeconds: 60", "spec.preStop", graceForm),
		"a preStop without a grace":            refusal("preStop: {sleepSeconds: 1}, terminationGracePeriodSeconds: 0", "spec.preStop", graceForm),
	})
}

func TestRefusesServicesAndBudgets(t *testing.T) {
	testRefused(t, map[string]refused{
		"the Service's label app":           refusal("service: {labels: {app: x}}", "spec.service.labels", reserved),
		"the label of the operator":         refusal("service: {labels: {app.kubernetes.io/managed-by: x}}", "spec.service.labels", reserved),
		"a Service label key with a space":  refusal(`service: {labels: {"a b": x}}`, "spec.service.labels", labelKey),
		"a Service label value":             refusal("service: {labels: {a: b c}}", "spec.service.labels", labelForm),
		"33 Service labels":                 refusal("service: {labels: {"+entries(33)+"}}", "Too many: 33: must have at most 32 items"),
		"an annotation key with a space":    refusal(`service: {annotations: {"a b": x}}`, "spec.service.annotations", annotationKey),
		"an annotation of 4097 characters":  refusal("service: {annotations: {a: "+strings.Repeat("v", 4097)+"}}", "Too long: may not be more than 4096 bytes"),
		"33 annotations":                    refusal("service: {annotations: {"+entries(33)+"}}", "Too many: 33: must have at most 32 items"),
		"a type of Service":                 refusal("service: {type: LoadBalancer}", `unknown field "spec.service.type"`),
		"an address":                        refusal("service: {clusterIP: 10.0.0.1}", "spec.service.clusterIP", "must be of type boolean"),
		"a negative maxUnavailable":         refusal("podDisruptionBudget: {maxUnavailable: -1}", "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"a negative percentage":             refusal("podDisruptionBudget: {maxUnavailable: -1%}", "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"101 percent":                       refusal("podDisruptionBudget: {maxUnavailable: 101%}", "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"007 percent":                       refusal("podDisruptionBudget: {maxUnavailable: 007%}", "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"a number in quotes":                refusal(`podDisruptionBudget: {maxUnavailable: "1"}`, "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"more pods than 32 bits can count":  refusal("podDisruptionBudget: {maxUnavailable: 2147483648}", "spec.podDisruptionBudget.maxUnavailable", unavailable),
		"a half pod":                        refusal("podDisruptionBudget: {maxUnavailable: 1.5}", "spec.podDisruptionBudget.maxUnavailable", "must be of type integer,string"),
		"a budget that is disabled and set": refusal("podDisruptionBudget: {disabled: true, maxUnavailable: 1}", "spec.podDisruptionBudget", "a disabled podDisruptionBudget has no maxUnavailable; remove one of the two"),
		"minAvailable":                      refusal("podDisruptionBudget: {minAvailable: 1}", `unknown field "spec.podDisruptionBudget.minAvailable"`),
	})
}

func TestRefusesNetworkPolicies(t *testing.T) {
	testRefused(t, map[string]refused{
		"nobody named":                    refusal("networkPolicy: {}", "spec.networkPolicy.from: Required value"),
		"nobody":                          refusal("networkPolicy: {from: []}", "spec.networkPolicy.from", "at least 1 item"),
		"a peer that is null":             refusal("networkPolicy: {from: [null]}", "spec.networkPolicy.from[0]", "must be of type object"),
		"an empty peer":                   refusal("networkPolicy: {from: [{}]}", "spec.networkPolicy.from", peerForm),
		"an empty peer among others":      refusal("networkPolicy: {from: [{podSelector: {}}, {}]}", "spec.networkPolicy.from", peerForm),
		"a block and pods in one":         refusal("networkPolicy: {from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}", "spec.networkPolicy.from", peerForm),
		"a block without addresses":       refusal("networkPolicy: {from: [{ipBlock: {}}]}", "ipBlock.cidr: Required value"),
		"33 peers":                        refusal("networkPolicy: {from: ["+strings.Repeat("{podSelector: {}}, ", 33)+"]}", "Too many: 33: must have at most 32 items"),
		"metricsFrom without metrics":     refusal("networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}", "spec.networkPolicy", "networkPolicy.metricsFrom needs metrics"),
		"an empty peer of the metrics":    refusal("metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{}]}", "spec.networkPolicy.metricsFrom", peerForm),
		"33 peers of the metrics":         refusal("metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: ["+strings.Repeat("{podSelector: {}}, ", 33)+"]}", "Too many: 33: must have at most 32 items"),
		"metricsFrom and nobody else":     refusal("metrics: {}, networkPolicy: {metricsFrom: [{podSelector: {}}]}", "spec.networkPolicy.from: Required value"),
		"egress, which there is no field": refusal("networkPolicy: {from: [{podSelector: {}}], egress: []}", `unknown field "spec.networkPolicy.egress"`),
	})
}

func TestRefusesTLSAuthAndMetrics(t *testing.T) {
	const (
		name  = "should match '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'"
		ports = "tls.plaintextPort must differ from containerPort and metrics.port"
		both  = "auth and metrics exclude each other: the exporter cannot give a user name and a password"
	)
	testRefused(t, map[string]refused{
		"TLS without a Secret":                 refusal("tls: {}", "spec.tls.secretName: Required value"),
		"an empty Secret":                      refusal("tls: {secretName: ''}", "spec.tls.secretName", name),
		"a Secret by a path":                   refusal("tls: {secretName: a/b}", "spec.tls.secretName", name),
		"a Secret of 254 characters":           refusal("tls: {secretName: "+strings.Repeat("a", 254)+"}", "Too long: may not be more than 253 bytes"),
		"clientAuth of another case":           refusal("tls: {secretName: a, clientAuth: require}", "spec.tls.clientAuth", `supported values: "None", "Request", "Require"`),
		"a privileged plaintext port":          refusal("tls: {secretName: a, plaintextPort: 1023}", "greater than or equal to 1024"),
		"a plaintext port that does not exist": refusal("tls: {secretName: a, plaintextPort: 65536}", "less than or equal to 65535"),
		"the plaintext port on the default":    refusal("tls: {secretName: a, plaintextPort: 11211}", "spec.tls", ports),
		"the plaintext port on the other":      refusal("tls: {secretName: a, plaintextPort: 2000}, containerPort: 2000", "spec.tls", ports),
		"the plaintext port on the metrics'":   refusal("tls: {secretName: a, plaintextPort: 9150}, metrics: {}", "spec.tls", ports),
		"the plaintext port on a metrics port": refusal("tls: {secretName: a, plaintextPort: 2000}, metrics: {port: 2000}", "spec.tls", ports),
		"auth without a Secret":                refusal("auth: {key: a}", "spec.auth.secretName: Required value"),
		"auth with an empty Secret":            refusal("auth: {secretName: ''}", "spec.auth.secretName", name),
		"an empty key":                         refusal("auth: {secretName: a, key: ''}", "spec.auth.key", "at least 1 char"),
		"a key with a slash":                   refusal("auth: {secretName: a, key: ../b}", "spec.auth.key", "should match '^[-._a-zA-Z0-9]+$'"),
		"a key of 254 characters":              refusal("auth: {secretName: a, key: "+strings.Repeat("a", 254)+"}", "Too long: may not be more than 253 bytes"),
		"a password":                           refusal("auth: {secretName: a, password: b}", `unknown field "spec.auth.password"`),
		"auth and metrics":                     refusal("auth: {secretName: a}, metrics: {}", "spec.auth", both),
		"the metrics on the default port":      refusal("metrics: {port: 11211}", "spec.metrics", "metrics.port must differ from containerPort"),
		"the default metrics port taken":       refusal("containerPort: 9150, metrics: {}", "spec.metrics", "metrics.port must differ from containerPort"),
		"a privileged metrics port":            refusal("metrics: {port: 80}", "greater than or equal to 1024"),
		"a metrics port that does not exist":   refusal("metrics: {port: 65536}", "less than or equal to 65535"),
		"an exporter image with a space":       refusal("metrics: {image: my image}", "spec.metrics.image", imageForm),
		"an exporter image of 513 characters":  refusal("metrics: {image: "+strings.Repeat("a", 513)+"}", "Too long: may not be more than 512 bytes"),
		"0 percent of the memory":              refusal("metrics: {rules: {memoryPercent: 0}}", "greater than or equal to 1"),
		"101 percent of the memory":            refusal("metrics: {rules: {memoryPercent: 101}}", "less than or equal to 100"),
		"0 percent of the connections":         refusal("metrics: {rules: {connectionsPercent: 0}}", "greater than or equal to 1"),
		"101 percent of the connections":       refusal("metrics: {rules: {connectionsPercent: 101}}", "less than or equal to 100"),
		"a reserved label of the rules":        refusal("metrics: {rules: {labels: {app: x}}}", "spec.metrics.rules.labels", reserved),
		"a bad label of the rules":             refusal("metrics: {rules: {labels: {a: b c}}}", "spec.metrics.rules.labels", labelForm),
		"a reserved label of the monitor":      refusal("metrics: {serviceMonitor: {labels: {memcached_cr: x}}}", "spec.metrics.serviceMonitor.labels", reserved),
		"a bad label of the monitor":           refusal(`metrics: {serviceMonitor: {labels: {"a b": x}}}`, "spec.metrics.serviceMonitor.labels", labelKey),
		"33 labels of the monitor":             refusal("metrics: {serviceMonitor: {labels: {"+entries(33)+"}}}", "Too many: 33: must have at most 32 items"),
	})
}

func TestRefusesIntervals(t *testing.T) {
	var specs []string
	for _, interval := range []string{"0s", "24h1s", "25h", "99999999999999h", "30", "", "1d", "500ms", "1.5m", "-30s", "30s "} {
		specs = append(specs, fmt.Sprintf("metrics: {serviceMonitor: {interval: %q}}", interval))
	}
	testRefusals(t, []string{"spec.metrics.serviceMonitor.interval", intervalForm}, specs...)
}

func TestRefusesPatches(t *testing.T) {
	target := func(target string) string { return "patches: [{patch: x, target: {" + target + "}}]" }
	testRefused(t, map[string]refused{
		"no target":                      refusal("patches: [{patch: x}]", "spec.patches[0].target: Required value"),
		"no kind":                        refusal(target("name: a"), "spec.patches[0].target.kind: Required value"),
		"no patch":                       refusal("patches: [{target: {kind: Deployment}}]", "spec.patches[0].patch: Required value"),
		"an empty patch":                 refusal("patches: [{target: {kind: Deployment}, patch: ''}]", "spec.patches[0].patch", "at least 1 char"),
		"a patch that is no text":        refusal("patches: [{target: {kind: Deployment}, patch: 7}]", "spec.patches[0].patch", "must be of type string"),
		"a patch of 16385 characters":    refusal("patches: [{target: {kind: Deployment}, patch: "+strings.Repeat("a", 16385)+"}]", "Too long: may not be more than 16384 bytes"),
		"a lower-case kind":              refusal(target("kind: deployment"), "spec.patches[0].target.kind", "should match"),
		"a kind by a regular expression": refusal(target("kind: '.*'"), "spec.patches[0].target.kind", "should match"),
		"an upper-case group":            refusal(target("kind: A, group: Apps"), "spec.patches[0].target.group", "should match"),
		"a name by a regular expression": refusal(target("kind: A, name: '.*'"), "spec.patches[0].target.name", "should match"),
		"a namespace":                    refusal(target("kind: A, namespace: b"), `unknown field "spec.patches[0].target.namespace"`),
		"a label selector":               refusal(target("kind: A, labelSelector: a=b"), `unknown field "spec.patches[0].target.labelSelector"`),
		"a path to a file":               refusal("patches: [{target: {kind: Deployment}, path: patch.yaml, patch: x}]", `unknown field "spec.patches[0].path"`),
		"17 patches":                     refusal("patches: ["+strings.Repeat("{target: {kind: A}, patch: x}, ", 17)+"]", "Too many: 17: must have at most 16 items"),
	})
}
