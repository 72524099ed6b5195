// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
)

// taken is a spec with fields (YAML in one line) that is stored as it is written, but
// for the defaults of every Memcached.
func taken(fields string) accepted {
	return stored(fields, fields)
}

// stored is a spec with fields that is stored as want.
func stored(fields, want string) accepted {
	return accepted{
		body: "spec: {" + fields + "}",
		want: "{size: 1, containerPort: 11211, " + want + "}",
	}
}

// testTaken sees that each spec is stored as it is written.
func testTaken(t *testing.T, specs ...string) {
	table := map[string]accepted{}
	for _, spec := range specs {
		table[spec] = taken(spec)
	}
	testAccepted(t, table)
}

func TestSpec_AcceptsQuantities(t *testing.T) {
	testTaken(t,
		"memory: 64Mi", "memory: 67108864", `memory: "67108864"`, "memory: 100M", "memory: 1.5Gi", "memory: 100000000k",
		"memory: 16Mi", "memory: 16777216", "memory: 1Ti", "memory: 1099511627776", "memory: 1024Gi",
		"maxItemSize: 1Mi", "maxItemSize: 1048576", "maxItemSize: 1Ki", "maxItemSize: 1024",
		"memory: 2Gi, maxItemSize: 1Gi", "memory: 2Gi, maxItemSize: 1073741824",
		"maxItemSize: 32Mi", "memory: 16Mi, maxItemSize: 8Mi", "memory: 16777216, maxItemSize: 8388608",
		"resources: {}", "resources: {limits: {}, requests: {}}",
		"resources: {limits: {memory: 128Mi, cpu: 1}, requests: {memory: 64Mi, cpu: 100m}}",
		"resources: {limits: {memory: 73819751}}", "memory: 1Gi, resources: {limits: {memory: 1181116007}}", "memory: 20Mi, resources: {limits: {memory: 22Mi}}",
		"resources: {limits: {cpu: 0}}", "resources: {requests: {memory: 0}}", "resources: {requests: {memory: 1Ki}}",
		"resources: {limits: {cpu: 1}, requests: {cpu: 1000m}}", `resources: {limits: {cpu: 300m}, requests: {cpu: "0.3"}}`,
		"resources: {requests: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi}}", "resources: {limits: {cpu: 2}, requests: {cpu: 3}}",
		"resources: {limits: {cpu: 0.5}}", "resources: {limits: {cpu: 1.5}, requests: {cpu: 0.25}}", "resources: {limits: {cpu: '1.5'}}", "resources: {limits: {cpu: 1500m}}",
		"resources: {limits: {cpu: 1.0e-300}}", "resources: {limits: {cpu: 0.1234567891234}}", "resources: {limits: {cpu: 999999.999999}}", "resources: {limits: {cpu: 0.0000001}}",
		"metrics: {port: 9150, resources: {limits: {memory: 1Mi}}}",
	)
}

func TestSpec_AcceptsServerOptions(t *testing.T) {
	testTaken(t,
		"maxConnections: 1024", "maxConnections: 500000", "maxConnections: 50", "threads: 1, maxConnections: 20", "threads: 64, maxConnections: 650",
		"threads: 1", "threads: 64", "verbosity: 0", "verbosity: 3",
		"extraArgs: []",
	)
}

func TestSpec_AcceptsExtraArgs(t *testing.T) {
	table := map[string]accepted{}
	for _, arg := range []string{
		"--disable-evictions", "--disable-cas", "--disable-flush-all", "--disable-dumping", "--disable-watch",
		"--enable-largepages", "--protocol=ascii",
		"--slab-growth-factor=1.25", "--slab-growth-factor=2", "--slab-growth-factor=1.0001",
		"--slab-min-size=48", "--max-reqs-per-event=20", "--listen-backlog=1024",
		"--extended=hashpower=16", "--extended=hashpower=32", "--extended=no_hashexpand",
		"--extended=tail_repair_time=10", "--extended=hash_algorithm=murmur3", "--extended=hash_algorithm=jenkins", "--extended=hash_algorithm=xxh3",
		"--extended=lru_crawler", "--extended=no_lru_crawler", "--extended=lru_crawler_sleep=0", "--extended=lru_crawler_sleep=999999", "--extended=lru_crawler_tocrawl=1",
		"--extended=lru_maintainer", "--extended=no_lru_maintainer", "--extended=hot_lru_pct=20", "--extended=warm_lru_pct=40", "--extended=hot_lru_pct=1", "--extended=warm_lru_pct=79",
		"--extended=hot_max_factor=0.2", "--extended=warm_max_factor=2", "--extended=temporary_ttl=60",
		"--extended=slab_reassign", "--extended=no_slab_reassign", "--extended=slab_automove", "--extended=slab_automove=0", "--extended=slab_automove=2",
		"--extended=no_slab_automove", "--extended=slab_automove_ratio=0.8", "--extended=slab_automove_freeratio=0.01", "--extended=slab_automove_window=30",
		"--extended=watcher_logbuf_size=256", "--extended=worker_logbuf_size=64",
		"--extended=maxconns_fast", "--extended=no_maxconns_fast", "--extended=track_sizes", "--extended=modern",
	} {
		table[arg] = taken(fmt.Sprintf("extraArgs: [%q]", arg))
	}
	table["16 of them, and one twice"] = taken("extraArgs: [" + strings.Repeat("--disable-cas, ", 16) + "]")
	testAccepted(t, table)
}

func TestSpec_AcceptsPodFields(t *testing.T) {
	long := strings.Repeat("a", 253)
	testTaken(t,
		"imagePullPolicy: Always", "imagePullPolicy: IfNotPresent", "imagePullPolicy: Never",
		"imagePullSecrets: [{name: registry}, {name: a.b-c}]", "imagePullSecrets: [{name: "+long+"}]",
		"nodeSelector: {kubernetes.io/os: linux, disk: ''}",
		"tolerations: [{operator: Exists}, {key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 60}]",
		"affinity: {}", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}}",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]",
		"priorityClassName: important", "priorityClassName: "+long, "serviceAccountName: memcached", "serviceAccountName: "+long,
		"terminationGracePeriodSeconds: 0", "terminationGracePeriodSeconds: 3600", "minReadySeconds: 0", "minReadySeconds: 540",
		"preStop: {sleepSeconds: 1}", "preStop: {sleepSeconds: 29}", "preStop: {sleepSeconds: 3599}, terminationGracePeriodSeconds: 3600",
		"paused: true", "paused: false",
		"parameters: {}", "parameters: {zone: eu-1a, logLevel2: '3'}", "parameters: {"+strings.Repeat("a", 63)+": "+strings.Repeat("b", 1024)+"}",
	)
}

func TestSpec_AcceptsServicesBudgetsAndPolicies(t *testing.T) {
	testTaken(t,
		"service: {}", "service: {clusterIP: {}}",
		"service: {labels: {team: web, example.com/tier: ''}, annotations: {example.com/owner: Web Team, empty: ''}}",
		"podDisruptionBudget: {}", "podDisruptionBudget: {none: {}}", "podDisruptionBudget: {maxUnavailable: 1}",
		"podDisruptionBudget: {maxUnavailable: 0}", "podDisruptionBudget: {maxUnavailable: 1000}",
		"podDisruptionBudget: {maxUnavailable: 0%}", "podDisruptionBudget: {maxUnavailable: 25%}", "podDisruptionBudget: {maxUnavailable: 100%}",
		"networkPolicy: {from: [{podSelector: {}}]}",
		"networkPolicy: {from: [{podSelector: {matchLabels: {app: shop}}, namespaceSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}",
		"networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{namespaceSelector: {}}]}, metrics: {port: 9150}",
		"networkPolicy: {from: [{podSelector: {}}], metricsFrom: []}, metrics: {port: 9150}",
	)
}

func TestSpec_SetsDefaultsOfFeatures(t *testing.T) {
	image := "registry.example.com/exporter@sha256:" + strings.Repeat("0a", 32)
	testAccepted(t, map[string]accepted{
		"TLS by its Secret alone": stored("tls: {secretName: a}", "tls: {secretName: a, clientAuth: None}"),
		"TLS with all":            taken("tls: {secretName: a.b, clientAuth: Require, plaintextPort: 11212}"),
		"TLS that asks for certificates, and the lowest port":    taken("tls: {secretName: a, clientAuth: Request, plaintextPort: 1024}"),
		"TLS, metrics and three ports":                           taken("tls: {secretName: a, clientAuth: None, plaintextPort: 65535}, metrics: {port: 65534}"),
		"TLS whose plaintext port is where the metrics would be": stored("tls: {secretName: a, plaintextPort: 9150}", "tls: {secretName: a, clientAuth: None, plaintextPort: 9150}"),
		"auth by its Secret alone":                               stored("auth: {secretName: a}", "auth: {secretName: a, key: auth}"),
		"auth with a key":                                        taken("auth: {secretName: a, key: Users_1.txt}"),
		"auth beside TLS":                                        taken("auth: {secretName: a, key: auth}, tls: {secretName: a, clientAuth: None}"),
		"metrics by default":                                     stored("metrics: {}", "metrics: {port: 9150}"),
		"metrics with all":                                       taken("metrics: {port: 1024, image: '" + image + "', resources: {limits: {memory: 64Mi}}}"),
		"metrics that are null are left out":                     {body: "spec: {metrics: null}", want: "{size: 1, containerPort: 11211}"},
		"a ServiceMonitor and rules by default":                  stored("metrics: {serviceMonitor: {}, rules: {}}", "metrics: {port: 9150, serviceMonitor: {intervalSeconds: 30}, rules: {memoryPercent: 90, connectionsPercent: 80}}"),
		"a ServiceMonitor and rules with all": taken(
			"metrics: {port: 9150, serviceMonitor: {intervalSeconds: 90, labels: {release: prometheus}}, rules: {memoryPercent: 1, connectionsPercent: 100, labels: {a: b}}}"),
		"patches of both forms": taken(
			"patches: [{target: {kind: Deployment}, patch: 'spec: {paused: true}'}, {target: {group: '', kind: Service, name: a}, patch: '[{op: remove, path: /spec/x}]'}]"),
		"patches with all": taken("patches: [{target: {group: apps, kind: Deployment, name: a.b}, patch: x}]"),
	})
}
