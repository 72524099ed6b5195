// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
)

// bound is a field at its bound, which is accepted, and just beyond it, which is rejected
// with want. Both are specs as YAML in one line.
type bound struct {
	at, beyond, want string
}

// counted returns the bound of a list or map of n entries, which entry writes, within the
// rest of the spec.
func counted(n int, spec string, entry func(i int) string) bound {
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, entry(i))
		}
		return fmt.Sprintf(spec, strings.Join(all, ", "))
	}
	return bound{many(n), many(n + 1), fmt.Sprintf("Too many: %d: must have at most %d items", n+1, n)}
}

// entryOf returns entries that format makes of a number.
func entryOf(format string) func(i int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

// long returns the bound of a text of n characters within the rest of the spec. Versions of Kubernetes
// say "may not be longer than" or "may not be more than".
func long(n int, spec string) bound {
	return bound{
		fmt.Sprintf(spec, strings.Repeat("a", n)), fmt.Sprintf(spec, strings.Repeat("a", n+1)),
		fmt.Sprintf("than %d", n),
	}
}

// number returns the bound n of a number within the rest of the spec; beyond is n+1 or
// n-1.
func number(n, beyond int, spec string) bound {
	want := fmt.Sprintf("should be less than or equal to %d", n)
	if beyond < n {
		want = fmt.Sprintf("should be greater than or equal to %d", n)
	}
	return bound{fmt.Sprintf(spec, n), fmt.Sprintf(spec, beyond), want}
}

func testBounds(t *testing.T, table map[string]bound) {
	accepts, rejects := map[string]accepted{}, map[string]refused{}
	for name, b := range table {
		accepts[name] = accepted{body: "spec: {" + b.at + "}"}
		rejects[name] = refusal(b.beyond, b.want)
	}
	t.Run("at", func(t *testing.T) { testAccepted(t, accepts) })
	t.Run("beyond", func(t *testing.T) { testRefused(t, rejects) })
}

func TestSpec_BoundsNumbers(t *testing.T) {
	const spread = "topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, "
	const rules = "metrics: {rules: {"
	testBounds(t, map[string]bound{
		"size from 0":                            number(0, -1, "size: %d"),
		"size to 1000":                           number(1000, 1001, "size: %d"),
		"containerPort from 1024":                number(1024, 1023, "containerPort: %d"),
		"containerPort to 65535":                 number(65535, 65536, "containerPort: %d"),
		"maxConnections from 20":                 number(20, 19, "threads: 1, maxConnections: %d"),
		"maxConnections to 500000":               number(500000, 500001, "maxConnections: %d"),
		"threads from 1":                         number(1, 0, "threads: %d"),
		"threads to 64":                          number(64, 65, "threads: %d"),
		"idleTimeoutSeconds from 1":              number(1, 0, "idleTimeoutSeconds: %d"),
		"idleTimeoutSeconds to a year":           number(31536000, 31536001, "idleTimeoutSeconds: %d"),
		"verbosity from 0":                       number(0, -1, "verbosity: %d"),
		"verbosity to 3":                         number(3, 4, "verbosity: %d"),
		"terminationGracePeriodSeconds from 0":   number(0, -1, "terminationGracePeriodSeconds: %d"),
		"terminationGracePeriodSeconds to 3600":  number(3600, 3601, "terminationGracePeriodSeconds: %d"),
		"minReadySeconds from 0":                 number(0, -1, "minReadySeconds: %d"),
		"minReadySeconds to 540":                 number(540, 541, "minReadySeconds: %d"),
		"preStop.sleepSeconds from 1":            number(1, 0, "preStop: {sleepSeconds: %d}"),
		"preStop.sleepSeconds to 3599":           number(3599, 3600, "terminationGracePeriodSeconds: 3600, preStop: {sleepSeconds: %d}"),
		"maxUnavailable from 0":                  {"podDisruptionBudget: {maxUnavailable: 0}", "podDisruptionBudget: {maxUnavailable: -1}", unavailable},
		"maxUnavailable to 1000":                 {"podDisruptionBudget: {maxUnavailable: 1000}", "podDisruptionBudget: {maxUnavailable: 1001}", unavailable},
		"maxUnavailable to 100%":                 {"podDisruptionBudget: {maxUnavailable: 100%}", "podDisruptionBudget: {maxUnavailable: 101%}", unavailable},
		"tls.plaintextPort from 1024":            number(1024, 1023, "tls: {secretName: a, plaintextPort: %d}"),
		"tls.plaintextPort to 65535":             number(65535, 65536, "tls: {secretName: a, plaintextPort: %d}"),
		"metrics.port from 1024":                 number(1024, 1023, "metrics: {port: %d}"),
		"metrics.port to 65535":                  number(65535, 65536, "metrics: {port: %d}"),
		"intervalSeconds from 1":                 number(1, 0, "metrics: {serviceMonitor: {intervalSeconds: %d}}"),
		"intervalSeconds to a day":               number(86400, 86401, "metrics: {serviceMonitor: {intervalSeconds: %d}}"),
		"memoryPercent from 1":                   number(1, 0, rules+"memoryPercent: %d}}"),
		"memoryPercent to 100":                   number(100, 101, rules+"memoryPercent: %d}}"),
		"connectionsPercent from 1":              number(1, 0, rules+"connectionsPercent: %d}}"),
		"connectionsPercent to 100":              number(100, 101, rules+"connectionsPercent: %d}}"),
		"tolerationSeconds from 0":               number(0, -1, "tolerations: [{key: a, effect: NoExecute, tolerationSeconds: %d}]"),
		"tolerationSeconds to a year":            number(31536000, 31536001, "tolerations: [{key: a, effect: NoExecute, tolerationSeconds: %d}]"),
		"maxSkew from 1":                         number(1, 0, spread+"maxSkew: %d}]"),
		"maxSkew to 1000":                        number(1000, 1001, spread+"maxSkew: %d}]"),
		"minDomains from 1":                      number(1, 0, spread+"maxSkew: 1, minDomains: %d}]"),
		"minDomains to 1000":                     number(1000, 1001, spread+"maxSkew: 1, minDomains: %d}]"),
		"the weight of a node preference from 1": number(1, 0, "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: %d, preference: {}}]}}"),
		"the weight of a pod preference to 100":  number(100, 101, "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: %d, podAffinityTerm: {topologyKey: a}}]}}"),
		"the weight of a pod aversion from 1":    number(1, 0, "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: %d, podAffinityTerm: {topologyKey: a}}]}}"),
		"an amount of CPU from 0":                number(0, -1, "resources: {limits: {cpu: %d}}"),
		"an amount of CPU to a million":          {"resources: {limits: {cpu: 1000000}}", "resources: {limits: {cpu: 1000001}}", "less than or equal to 1000000"},
		"an amount of memory from 0":             {"resources: {requests: {memory: 0}}", "resources: {requests: {memory: -1}}", amountOf("memory")},
		"an amount of ephemeral-storage from 0":  {"resources: {requests: {ephemeral-storage: 0}}", "resources: {requests: {ephemeral-storage: -1}}", amountOf("ephemeral-storage")},
		"memory from 16Mi":                       {"memory: 16Mi", "memory: 16777215", memoryRange},
		"memory to 1Ti":                          {"memory: 1Ti", "memory: 1099511627777", memoryRange},
		"maxItemSize from 1Ki":                   {"maxItemSize: 1Ki", "maxItemSize: 1023", itemRange},
		"maxItemSize to 1Gi":                     {"memory: 4Gi, maxItemSize: 1Gi", "memory: 4Gi, maxItemSize: 1073742848", itemRange},
	})
}

func TestSpec_BoundsTexts(t *testing.T) {
	const target = "patches: [{patch: x, target: {kind: %s, group: a, name: a}}]"
	testBounds(t, map[string]bound{
		"image to 512":                     long(512, "image: %s"),
		"metrics.image to 512":             long(512, "metrics: {image: %s}"),
		"an extra argument to 128":         {"extraArgs: [--slab-min-size=48]", "extraArgs: [--" + strings.Repeat("a", 127) + "]", "than 128"},
		"the name of a pull secret to 253": long(253, "imagePullSecrets: [{name: %s}]"),
		"priorityClassName to 253":         long(253, "priorityClassName: %s"),
		"serviceAccountName to 253":        long(253, "serviceAccountName: %s"),
		"tls.secretName to 253":            long(253, "tls: {secretName: %s}"),
		"auth.secretName to 253":           long(253, "auth: {secretName: %s}"),
		"auth.key to 253":                  long(253, "auth: {secretName: a, key: %s}"),
		"a patch to 8192":                  long(8192, "patches: [{target: {kind: Service}, patch: %s}]"),
		"the kind of a patch to 63":        {fmt.Sprintf(target, strings.Repeat("A", 63)), fmt.Sprintf(target, strings.Repeat("A", 64)), "than 63"},
		"the group of a patch to 253":      long(253, "patches: [{patch: x, target: {kind: A, group: %s}}]"),
		"the name of a patch to 253":       long(253, "patches: [{patch: x, target: {kind: A, name: %s}}]"),
		"a parameter to 1024":              long(1024, "parameters: {zone: %s}"),
		"a node label's value to 63":       long(63, "nodeSelector: {a: %s}"),
		"a pod label's value to 63":        long(63, "podMetadata: {labels: {a: %s}}"),
		"a pod annotation to 4096":         long(4096, "podMetadata: {annotations: {a: %s}}"),
		"a Service annotation to 4096":     long(4096, "service: {annotations: {a: %s}}"),
		"a pod label's key to 63":          {"podMetadata: {labels: {" + strings.Repeat("a", 63) + ": b}}", "podMetadata: {labels: {" + strings.Repeat("a", 64) + ": b}}", labelKey},
		"a toleration's key to 63":         {"tolerations: [{key: " + strings.Repeat("a", 63) + "}]", "tolerations: [{key: " + strings.Repeat("a", 64) + "}]", keyForm},
		"a toleration's value to 63":       long(63, "tolerations: [{key: a, value: %s}]"),
		"topologyKey to 317":               {within("topologyKey: " + key(317)), within("topologyKey: " + key(317) + "a"), "than 317"},
		"a namespace to 63":                long(63, within("topologyKey: a, namespaces: [%s]")),
		"the name of a node to 253":        long(253, "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [%s]}]}]}}}"),
		"a block of addresses to 43":       {"networkPolicy: {from: [{ipBlock: {cidr: '0000:0000:0000:0000:0000:0000:0000:0000/128'}}]}", "networkPolicy: {from: [{ipBlock: {cidr: '00000:0000:0000:0000:0000:0000:0000:0000/128'}}]}", "than 43"},
		"an amount of CPU to 24":           {"resources: {limits: {cpu: '0." + strings.Repeat("1", 22) + "'}}", "resources: {limits: {cpu: '0." + strings.Repeat("1", 23) + "'}}", "than 24"},
		"an amount of memory to 24":        {"resources: {requests: {memory: '0." + strings.Repeat("1", 22) + "'}}", "resources: {requests: {memory: '0." + strings.Repeat("1", 23) + "'}}", "than 24"},
		"memory to 24":                     {"memory: 64." + strings.Repeat("0", 19) + "Mi", "memory: 64." + strings.Repeat("0", 20) + "Mi", "than 24"},
	})
}

func TestSpec_BoundsCounts(t *testing.T) {
	const (
		nodes = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [%s]}}}"
		field = "{key: metadata.name, operator: In, values: [%s]}"
	)
	testBounds(t, map[string]bound{
		"extraArgs to 16":                          counted(16, "extraArgs: [%s]", entryOf("--slab-min-size=1%d")),
		"imagePullSecrets to 8":                    counted(8, "imagePullSecrets: [%s]", entryOf("{name: a%d}")),
		"parameters to 32":                         counted(32, "parameters: {%s}", entryOf("p%d: v")),
		"nodeSelector to 16":                       counted(16, "nodeSelector: {%s}", entryOf("k%d: v")),
		"tolerations to 16":                        counted(16, "tolerations: [%s]", entryOf("{key: a%d}")),
		"topologySpreadConstraints to 4":           counted(4, "topologySpreadConstraints: [%s]", entryOf("{maxSkew: 1, topologyKey: a%d, whenUnsatisfiable: DoNotSchedule}")),
		"podMetadata.labels to 16":                 counted(16, "podMetadata: {labels: {%s}}", entryOf("k%d: v")),
		"podMetadata.annotations to 16":            counted(16, "podMetadata: {annotations: {%s}}", entryOf("k%d: v")),
		"service.labels to 16":                     counted(16, "service: {labels: {%s}}", entryOf("k%d: v")),
		"service.annotations to 16":                counted(16, "service: {annotations: {%s}}", entryOf("k%d: v")),
		"serviceMonitor.labels to 16":              counted(16, "metrics: {serviceMonitor: {labels: {%s}}}", entryOf("k%d: v")),
		"rules.labels to 16":                       counted(16, "metrics: {rules: {labels: {%s}}}", entryOf("k%d: v")),
		"networkPolicy.from to 16":                 counted(16, "networkPolicy: {from: [%s]}", entryOf("{podSelector: {matchLabels: {a: v%d}}}")),
		"networkPolicy.metricsFrom to 4":           counted(4, "metrics: {}, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [%s]}", entryOf("{podSelector: {matchLabels: {a: v%d}}}")),
		"the exceptions of a block to 8":           counted(8, "networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8, except: [%s]}}]}", entryOf("10.%d.0.0/16")),
		"patches to 8":                             counted(8, "patches: [%s]", entryOf("{target: {kind: Service}, patch: x%d}")),
		"nodeSelectorTerms to 4":                   counted(4, nodes, entryOf("{matchExpressions: [{key: a%d, operator: Exists}]}")),
		"a node term's expressions to 8":           counted(8, fmt.Sprintf(nodes, "{matchExpressions: [%s]}"), entryOf("{key: a%d, operator: Exists}")),
		"a node expression's values to 16":         counted(16, fmt.Sprintf(nodes, "{matchExpressions: [{key: a, operator: In, values: [%s]}]}"), entryOf("v%d")),
		"a node term's fields to 2":                counted(2, fmt.Sprintf(nodes, "{matchFields: [%s]}"), entryOf(fmt.Sprintf(field, "a%d"))),
		"a node field's values to 1":               {fmt.Sprintf(nodes, "{matchFields: ["+fmt.Sprintf(field, "a")+"]}"), fmt.Sprintf(nodes, "{matchFields: ["+fmt.Sprintf(field, "a, b")+"]}"), "Too many: 2: must have at most 1 item"},
		"preferences for nodes to 4":               counted(4, "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [%s]}}", entryOf("{weight: 1, preference: {matchExpressions: [{key: a%d, operator: Exists}]}}")),
		"preferences for pods to 4":                counted(4, "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [%s]}}", entryOf("{weight: 1, podAffinityTerm: {topologyKey: a%d}}")),
		"required pods to 4":                       counted(4, "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [%s]}}", entryOf("{topologyKey: a%d}")),
		"required absences of pods to 4":           counted(4, "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [%s]}}", entryOf("{topologyKey: a%d}")),
		"preferred absences of pods to 4":          counted(4, "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [%s]}}", entryOf("{weight: 1, podAffinityTerm: {topologyKey: a%d}}")),
		"the namespaces of a pod term to 8":        counted(8, within("topologyKey: a, namespaces: [%s]"), entryOf("n%d")),
		"matchLabelKeys of a pod term to 4":        counted(4, within("topologyKey: a, labelSelector: {}, matchLabelKeys: [%s]"), entryOf("k%d")),
		"mismatchLabelKeys of a pod term to 4":     counted(4, within("topologyKey: a, labelSelector: {}, mismatchLabelKeys: [%s]"), entryOf("k%d")),
		"matchLabelKeys of a constraint to 4":      counted(4, "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, matchLabelKeys: [%s]}]", entryOf("k%d")),
		"matchLabels of a selector to 8":           counted(8, within("topologyKey: a, labelSelector: {matchLabels: {%s}}"), entryOf("k%d: v")),
		"matchExpressions of a selector to 4":      counted(4, within("topologyKey: a, labelSelector: {matchExpressions: [%s]}"), entryOf("{key: k%d, operator: Exists}")),
		"the values of a selector's expression: 8": counted(8, within("topologyKey: a, namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: [%s]}]}"), entryOf("v%d")),
	})
}

// What could be long in many places is bounded as a whole.
func TestSpec_BoundsSums(t *testing.T) {
	sum := func(n int, name string) string {
		return fmt.Sprintf("%s must have at most %d characters together; shorten or remove some", name, n)
	}
	text := func(n int) string { return strings.Repeat("a", n) }
	var all []string // 8 keys of 193 and values of 63 are 2048 characters.
	for i := range 8 {
		all = append(all, fmt.Sprintf("k%d.%s: %s", i, key(190), text(63)))
	}
	labels := strings.Join(all, ", ")
	annotations := func(n int) string { return "a: " + text(4095) + ", b: " + text(4094) + ", c: '" + text(n) + "'" }
	selector := func(n int) string { // 7 * 64 + 63 characters, and those of n
		return "topologyKey: a, labelSelector: {matchExpressions: [{key: a, operator: In, values: [" + strings.Repeat(text(63)+", ", 7) + text(62) + "]}], matchLabels: {b: " + text(n) + "}}"
	}
	nodes := func(n int) string {
		expression := func(k, last int) string {
			return fmt.Sprintf("{key: k%d, operator: In, values: [%s%s]}", k, strings.Repeat(text(63)+", ", 7), text(last))
		}
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [" +
			expression(0, 63) + ", " + expression(1, 63) + ", " + fmt.Sprintf("{key: k, operator: In, values: [%s]}", text(n)) + "]}]}}}"
	}
	names := func(n int) string { // 7 * 63 + 1 + 63 characters, and those of n
		return "labelSelector: {}, topologyKey: a, namespaces: [" + strings.Repeat(text(63)+", ", 7) +
			"], matchLabelKeys: [" + text(63) + "], mismatchLabelKeys: [" + text(n) + "]"
	}
	pods := func(n int) string { // 6 terms, and n
		const terms = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [%[1]s], preferredDuringSchedulingIgnoredDuringExecution: [%[2]s]}, " +
			"podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [%[3]s], preferredDuringSchedulingIgnoredDuringExecution: [%[2]s]}}"
		const term = "{topologyKey: a}"
		return fmt.Sprintf(terms, strings.Repeat(term+", ", 4), "{weight: 1, podAffinityTerm: "+term+"}", strings.Repeat(term+", ", n))
	}
	parameters := counted(8, "parameters: {%s}", entryOf("p%d: "+text(1022)))
	parameters.want = sum(8192, "names and values")
	testBounds(t, map[string]bound{
		"parameters to 8192":              parameters,
		"podMetadata.labels to 2048":      {"podMetadata: {labels: {" + labels + "}}", "podMetadata: {labels: {" + labels + ", a: ''}}", sum(2048, "keys and values")},
		"service.labels to 2048":          {"service: {labels: {" + labels + "}}", "service: {labels: {" + labels + ", a: ''}}", sum(2048, "keys and values")},
		"rules.labels to 2048":            {"metrics: {rules: {labels: {" + labels + "}}}", "metrics: {rules: {labels: {" + labels + ", a: ''}}}", sum(2048, "keys and values")},
		"serviceMonitor.labels to 2048":   {"metrics: {serviceMonitor: {labels: {" + labels + "}}}", "metrics: {serviceMonitor: {labels: {" + labels + ", a: ''}}}", sum(2048, "keys and values")},
		"nodeSelector to 2048":            {"nodeSelector: {" + labels + "}", "nodeSelector: {" + labels + ", a: ''}", sum(2048, "keys and values")},
		"podMetadata.annotations to 8192": {"podMetadata: {annotations: {" + annotations(0) + "}}", "podMetadata: {annotations: {" + annotations(1) + "}}", sum(8192, "keys and values")},
		"service.annotations to 8192":     {"service: {annotations: {" + annotations(0) + "}}", "service: {annotations: {" + annotations(1) + "}}", sum(8192, "keys and values")},
		"patches to 32768": {
			"patches: [" + strings.Repeat("{target: {kind: A}, patch: "+text(8192)+"}, ", 4) + "]",
			"patches: [" + strings.Repeat("{target: {kind: A}, patch: "+text(8192)+"}, ", 4) + "{target: {kind: A}, patch: a}]",
			sum(32768, "patches"),
		},
		"the terms of pods to 8":              {pods(2), pods(3), "podAffinity and podAntiAffinity may have at most 8 terms together; remove some"},
		"the names and keys of a term to 512": {within(names(7)), within(names(8)), sum(512, "topologyKey, namespaces, matchLabelKeys and mismatchLabelKeys")},
		"a label selector to 512":             {within(selector(7)), within(selector(8)), sum(512, "keys and values")},
		"a node term to 1024":                 {nodes(11), nodes(12), sum(1024, "keys and values")},
	})
}

// within is a spec with a required podAffinity term of fields.
func within(fields string) string {
	return "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{" + fields + "}]}}"
}

// key is a qualified name of n characters, more than 65, of the prefix and name that
// Kubernetes allows.
func key(n int) string {
	prefix := n - 64
	return strings.Repeat("pppppppp.p", prefix/10) + strings.Repeat("p", prefix%10) + "/" + strings.Repeat("n", 63)
}
