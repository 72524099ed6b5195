// SPDX-License-Identifier: Apache-2.0

package admission

// term returns a spec with one required term of pod anti-affinity.
func term(fields string) string {
	return "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, " + fields + "}]}}"
}

// preferred returns a spec with one preferred term of pod affinity or anti-affinity.
func preferred(kind, fields string) string {
	return "affinity: {" + kind + ": {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, " + fields + "}}]}}"
}

// attracting returns a spec with one required term of pod affinity.
func attracting(fields string) string {
	return "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, " + fields + "}]}}"
}

// ownPods is the only selector that selects no pods but those of the Memcached NAME.
const ownPods = "labelSelector: {matchLabels: {app: memcached, memcached_cr: NAME}}"

func repelling(name, spec string) row {
	return row{name: name, spec: spec, field: "spec.affinity.podAntiAffinity", rights: []string{createDeployments}}
}

// affinityRows keep pods of others away (the scheduler honours a required
// anti-affinity in both directions), or find out where they run.
var affinityRows = []row{
	repelling("keeps pods of all namespaces away", term("namespaceSelector: {}, labelSelector: {}")),
	repelling("keeps pods of another tenant away", term("namespaces: [bank], labelSelector: {matchLabels: {role: ledger}}")),
	repelling("keeps pods of selected namespaces away", term("namespaceSelector: {matchLabels: {team: red}}, labelSelector: {matchLabels: {app: memcached}}")),
	repelling("keeps pods of its name away in all namespaces", term("namespaceSelector: {}, "+ownPods)),
	repelling("keeps pods of its name away in named namespaces", term("namespaces: [bank, shop], "+ownPods)),
	repelling("keeps pods of other workloads away", term("labelSelector: {matchLabels: {role: checkout}}")),
	repelling("keeps all pods of the namespace away", term("labelSelector: {}")),
	repelling("keeps the pods of all Memcacheds away", term("labelSelector: {matchLabels: {app: memcached}}")),
	repelling("keeps the pods of another Memcached away", term("labelSelector: {matchLabels: {app: memcached, memcached_cr: other}}")),
	repelling("keeps pods away that carry its name alone", term("labelSelector: {matchLabels: {memcached_cr: NAME}}")),
	repelling("keeps pods away by an expression in place of labels", term("labelSelector: {matchExpressions: [{key: app, operator: In, values: [memcached, checkout]}]}")),
	repelling("keeps its own pods away by expressions, which are not read", term("labelSelector: {matchExpressions: [{key: app, operator: In, values: [memcached]}, {key: memcached_cr, operator: In, values: [NAME]}]}")),
	repelling("keeps pods away that are not its own", term("labelSelector: {matchExpressions: [{key: memcached_cr, operator: NotIn, values: [NAME]}]}")),
	repelling("keeps pods away that have a label", term("labelSelector: {matchExpressions: [{key: role, operator: Exists}]}")),
	repelling("keeps pods away that lack a label", term("labelSelector: {matchExpressions: [{key: role, operator: DoesNotExist}]}")),
	repelling("keeps no pods away, by a term without a selector", term("namespaces: []")),
	repelling("hides a term behind one for its own pods", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
		"[{topologyKey: zone, "+ownPods+"}, {topologyKey: zone, namespaceSelector: {}, labelSelector: {}}]}}"),
	repelling("hides a required term behind a preferred one", "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "+
		"[{weight: 1, podAffinityTerm: {topologyKey: zone, "+ownPods+"}}], requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}}"),
	repelling("prefers nodes without pods of others", preferred("podAntiAffinity", "namespaceSelector: {}, labelSelector: {}")),
	repelling("prefers nodes without other pods of its namespace", preferred("podAntiAffinity", "labelSelector: {matchLabels: {role: checkout}}")),
	guardedRow("follows pods of another tenant", attracting("namespaces: [bank], labelSelector: {}"), "spec.affinity.podAffinity", createDeployments),
	guardedRow("follows pods of any namespace", attracting("namespaceSelector: {}, labelSelector: {matchLabels: {role: ledger}}"), "spec.affinity.podAffinity", createDeployments),
	guardedRow("follows pods of its namespace", attracting("labelSelector: {matchLabels: {role: checkout}}"), "spec.affinity.podAffinity", createDeployments),
	guardedRow("prefers nodes with pods of another tenant", preferred("podAffinity", "namespaces: [bank], labelSelector: {}"), "spec.affinity.podAffinity", createDeployments),
	guardedRow("widens an administrator's term", term("namespaceSelector: {}, labelSelector: {}"), "spec.affinity.podAntiAffinity", createDeployments).
		over(term("labelSelector: {matchLabels: {role: cache}}")),
}
