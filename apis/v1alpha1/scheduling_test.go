// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"testing"
)

const (
	labelValues  = "In and NotIn need values; Exists and DoesNotExist take none"
	nodeValues   = "In and NotIn need values; Gt and Lt need one value, a whole number; Exists and DoesNotExist take none"
	onlyExists   = "a toleration without key must have operator Exists"
	noValue      = "operator Exists takes no value"
	onlyEvicted  = "tolerationSeconds needs effect NoExecute"
	onlyRequired = "minDomains needs whenUnsatisfiable DoNotSchedule"
	blockForm    = "must be a block of addresses, such as 10.0.0.0/8 or 2001:db8::/32"
	smaller      = "each block in except must be a smaller part of cidr"
)

// onNodes is a spec with a required node term of fields.
func onNodes(fields string) string {
	return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{" + fields + "}]}}}"
}

// spread is a spec with a spread constraint of fields.
func spread(fields string) string {
	return "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, " + fields + "}]"
}

// block is a spec with a peer that is a block of addresses.
func block(fields string) string {
	return "networkPolicy: {from: [{ipBlock: {" + fields + "}}]}"
}

func TestSpec_RejectsNodeAffinity(t *testing.T) {
	expression := func(expression string) string { return onNodes("matchExpressions: [{" + expression + "}]") }
	field := func(field string) string { return onNodes("matchFields: [{" + field + "}]") }
	testRefused(t, map[string]refused{
		"rejects no term":                     refusal("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}", "nodeSelectorTerms: Required value"),
		"rejects an empty list of terms":      refusal("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}", "should have at least 1 item"),
		"rejects an expression without a key": refusal(expression("operator: Exists"), "matchExpressions[0].key: Required value"),
		"rejects a key with a space":          refusal(expression("key: 'a b', operator: Exists"), "matchExpressions[0].key", keyForm),
		"rejects a key that YAML merges":      refusal(expression("key: '<<', operator: Exists"), "matchExpressions[0].key", keyForm),
		"rejects an unknown operator":         refusal(expression("key: a, operator: in"), `supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`),
		"rejects In without values":           refusal(expression("key: a, operator: In"), nodeValues),
		"rejects NotIn with no values":        refusal(expression("key: a, operator: NotIn, values: []"), nodeValues),
		"rejects Exists with a value":         refusal(expression("key: a, operator: Exists, values: [b]"), nodeValues),
		"rejects Gt with two values":          refusal(expression("key: a, operator: Gt, values: ['1', '2']"), nodeValues),
		"rejects Lt with a word":              refusal(expression("key: a, operator: Lt, values: [many]"), nodeValues),
		"rejects Lt beyond 64 bits":           refusal(expression("key: a, operator: Lt, values: ['9223372036854775808']"), nodeValues),
		"rejects a value that is a number":    refusal(expression("key: a, operator: Gt, values: [1]"), "must be of type string"),
		"rejects a value with a space":        refusal(expression("key: a, operator: In, values: ['b c']"), "values[0]", labelForm),
		"rejects a null value":                refusal(expression("key: a, operator: In, values: [null]"), "values[0]", "must be of type string"),
		"rejects another field of the node":   refusal(field("key: spec.unschedulable, operator: In, values: [a]"), `supported values: "metadata.name"`),
		"rejects Exists on a field":           refusal(field("key: metadata.name, operator: Exists, values: [a]"), `supported values: "In", "NotIn"`),
		"rejects a field without a value":     refusal(field("key: metadata.name, operator: In"), "matchFields[0].values: Required value"),
		"rejects a node's name with a space":  refusal(field("key: metadata.name, operator: In, values: ['a b']"), "values[0]", objectName),
		"rejects a preference without weight": refusal("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{preference: {}}]}}", "weight: Required value"),
		"rejects an unknown field":            refusal(onNodes("matchLabels: {a: b}"), "unknown field", "nodeSelectorTerms[0].matchLabels"),
	})
}

func TestSpec_RejectsPodAffinity(t *testing.T) {
	expression := func(expression string) string {
		return within("topologyKey: a, labelSelector: {matchExpressions: [{" + expression + "}]}")
	}
	testRefused(t, map[string]refused{
		"rejects an empty topologyKey":           refusal(within("topologyKey: ''"), "topologyKey", keyForm),
		"rejects a label key with a space":       refusal(within("topologyKey: a, labelSelector: {matchLabels: {'a b': c}}"), "labelSelector.matchLabels", labelKey),
		"rejects a label key of 1000 characters": refusal(within("topologyKey: a, labelSelector: {matchLabels: {"+key(1000)+": c}}"), "labelSelector.matchLabels", labelKey),
		"rejects a label value with a space":     refusal(within("topologyKey: a, labelSelector: {matchLabels: {a: b c}}"), "labelSelector.matchLabels", labelForm),
		"rejects an unknown operator":            refusal(expression("key: a, operator: Gt, values: ['1']"), `supported values: "In", "NotIn", "Exists", "DoesNotExist"`),
		"rejects In without values":              refusal(expression("key: a, operator: In"), labelValues),
		"rejects DoesNotExist with a value":      refusal(expression("key: a, operator: DoesNotExist, values: [b]"), labelValues),
		"rejects a namespace with a dot":         refusal(within("topologyKey: a, namespaces: [a.b]"), "namespaces[0]", namespaceName),
		"rejects keys to match without pods":     refusal(within("topologyKey: a, matchLabelKeys: [b]"), "matchLabelKeys and mismatchLabelKeys need labelSelector"),
		"rejects keys to mismatch without pods":  refusal(within("topologyKey: a, mismatchLabelKeys: [b]"), "matchLabelKeys and mismatchLabelKeys need labelSelector"),
		"rejects a key to match and to mismatch": refusal(within("topologyKey: a, labelSelector: {}, matchLabelKeys: [b, c], mismatchLabelKeys: [c]"), "a key must not be in both matchLabelKeys and mismatchLabelKeys"),
		"rejects a preference without a weight":  refusal("affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{podAffinityTerm: {topologyKey: a}}]}}", "weight: Required value"),
		"rejects a preference without a term":    refusal("affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}", "podAffinityTerm: Required value"),
	})
}

func TestSpec_RejectsTolerationsAndConstraints(t *testing.T) {
	toleration := func(fields string) string { return "tolerations: [{" + fields + "}]" }
	testRefused(t, map[string]refused{
		"rejects an empty toleration":     refusal(toleration(""), "spec.tolerations[0]", onlyExists),
		"rejects Equal without a key":     refusal(toleration("operator: Equal, value: a"), "spec.tolerations[0]", onlyExists),
		"rejects an empty key":            refusal(toleration("key: '', operator: Exists"), "spec.tolerations[0].key", keyForm),
		"rejects Exists with a value":     refusal(toleration("key: a, operator: Exists, value: b"), "spec.tolerations[0]", noValue),
		"rejects an unknown operator":     refusal(toleration("key: a, operator: In"), `supported values: "Exists", "Equal"`),
		"rejects an unknown effect":       refusal(toleration("key: a, effect: Evict"), `supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`),
		"rejects seconds of all effects":  refusal(toleration("key: a, tolerationSeconds: 1"), "spec.tolerations[0]", onlyEvicted),
		"rejects seconds of NoSchedule":   refusal(toleration("key: a, effect: NoSchedule, tolerationSeconds: 1"), "spec.tolerations[0]", onlyEvicted),
		"rejects minDomains of a wish":    refusal(spread("minDomains: 2"), "spec.topologySpreadConstraints[0]", onlyRequired),
		"rejects keys without a selector": refusal(spread("matchLabelKeys: [a]"), "spec.topologySpreadConstraints[0]", "matchLabelKeys needs labelSelector"),
		"rejects an unknown whenUnsatisfiable": refusal("topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Never}]",
			`supported values: "DoNotSchedule", "ScheduleAnyway"`),
		"rejects an unknown nodeTaintsPolicy":   refusal(spread("nodeTaintsPolicy: honor"), `supported values: "Honor", "Ignore"`),
		"rejects an unknown nodeAffinityPolicy": refusal(spread("nodeAffinityPolicy: None"), `supported values: "Honor", "Ignore"`),
		"rejects two constraints of one topology": refusal("topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
			"spec.topologySpreadConstraints[1]: Duplicate value"),
		"rejects a pull secret named twice": refusal("imagePullSecrets: [{name: a}, {name: a}]", "spec.imagePullSecrets[1]: Duplicate value"),
	})
}

func TestSpec_RejectsBlocks(t *testing.T) {
	table := map[string]refused{
		"rejects an exception that is no block": refusal(block("cidr: 10.0.0.0/8, except: [x]"), "ipBlock.except[0]", blockForm),
	}
	for _, cidr := range []string{"", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "010.0.0.0/8", "2001:db8::/129", "::ffff:10.0.0.0/104", "fe80::1%eth0/64", "all", "10.0.0.0/8 "} {
		table[fmt.Sprintf("rejects %q", cidr)] = refusal(block(fmt.Sprintf("cidr: %q", cidr)), "ipBlock.cidr", blockForm)
	}
	for _, except := range []string{"10.0.0.0/8", "10.0.0.0/7", "11.0.0.0/16", "2001:db8::/64"} {
		table[fmt.Sprintf("rejects %s except %s", "10.0.0.0/8", except)] = refusal(block("cidr: 10.0.0.0/8, except: ['"+except+"']"), "ipBlock", smaller)
	}
	testRefused(t, table)
}

func TestSpec_AcceptsScheduling(t *testing.T) {
	testTaken(t,
		onNodes("matchExpressions: [{key: example.com/a, operator: In, values: [b, '']}, {key: c, operator: NotIn, values: [d]}]"),
		onNodes("matchExpressions: [{key: a, operator: Exists}, {key: b, operator: DoesNotExist, values: []}, {key: c, operator: Gt, values: ['1']}, {key: d, operator: Lt, values: ['999999999999999999']}]"),
		onNodes("matchFields: [{key: metadata.name, operator: NotIn, values: [node-1.example.com]}]"), onNodes(""),
		"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}",
		within("topologyKey: topology.kubernetes.io/zone"),
		within("topologyKey: a, labelSelector: {matchLabels: {app: x, example.com/y: ''}, matchExpressions: [{key: z, operator: In, values: [a, b]}]}, namespaces: [a], namespaceSelector: {}"),
		within("topologyKey: a, labelSelector: {}, matchLabelKeys: [pod-template-hash], mismatchLabelKeys: [tenant]"),
		"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: a, labelSelector: {matchLabels: {a: 'true'}}}}]}}",
		"tolerations: [{key: a}, {key: a, value: ''}, {key: a, operator: Exists, effect: NoSchedule}, {operator: Exists, effect: NoExecute, tolerationSeconds: 0}]",
		spread("labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [pod-template-hash], nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor"),
		block("cidr: 0.0.0.0/0"), block("cidr: '::/0', except: ['2001:db8::/32']"), block("cidr: 10.0.0.0/8, except: [10.0.0.0/9, 10.255.255.255/32]"),
	)
}
