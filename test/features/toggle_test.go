// SPDX-License-Identifier: Apache-2.0

package features

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/diff"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// feature is a field that comes, changes and goes.
type feature struct {
	// with are the fields that the feature needs beside it, there all the time.
	with string
	// on sets the feature, changed gives it another value; a flag has none.
	on, changed string
	// writes are the objects that each of the steps is about.
	writes string
}

const (
	deployment    = "deployments/cache"
	service       = "services/cache"
	clusterIP     = "services/cache-clusterip"
	budget        = "poddisruptionbudgets/cache"
	networkPolicy = "networkpolicies/cache-clients"
	monitor       = "servicemonitors/cache"
	rule          = "prometheusrules/cache"
)

// features has a row for every feature; TestProperties_HaveAFeature sees to that.
var features = map[string]feature{
	"containerPort": {on: "containerPort: 21211", changed: "containerPort: 21212", writes: deployment + " " + service},
	"image":         {on: "image: memcached:1.6.45-alpine", changed: "image: example.com/memcached:1", writes: deployment},
	"memory":        {on: "memory: 128Mi", changed: "memory: 1Gi", writes: deployment},
	"memory with resources": {
		with: "resources: {limits: {memory: 2Gi}}",
		on:   "memory: 128Mi", changed: "memory: 1Gi", writes: deployment,
	},
	"maxConnections":     {on: "maxConnections: 2048", changed: "maxConnections: 4096", writes: deployment},
	"threads":            {on: "threads: 8", changed: "threads: 2", writes: deployment},
	"maxItemSize":        {on: "maxItemSize: 2Mi", changed: "maxItemSize: 100Ki", writes: deployment},
	"idleTimeoutSeconds": {on: "idleTimeoutSeconds: 90", changed: "idleTimeoutSeconds: 5400", writes: deployment},
	"verbosity":          {on: "verbosity: 1", changed: "verbosity: 3", writes: deployment},
	"extraArgs":          {on: "extraArgs: [--disable-evictions]", changed: "extraArgs: [--disable-cas, --disable-evictions]", writes: deployment},

	"imagePullPolicy":  {on: "imagePullPolicy: Always", changed: "imagePullPolicy: Never", writes: deployment},
	"imagePullSecrets": {on: "imagePullSecrets: [{name: a}]", changed: "imagePullSecrets: [{name: b}, {name: a}]", writes: deployment},
	"resources": {
		on:      "resources: {requests: {cpu: 500m, memory: 96Mi}, limits: {cpu: 1, memory: 96Mi}}",
		changed: "resources: {limits: {memory: 128Mi}}", writes: deployment,
	},
	"nodeSelector": {on: "nodeSelector: {disktype: ssd}", changed: "nodeSelector: {team: web}", writes: deployment},
	"tolerations": {
		on:      "tolerations: [{key: cache, operator: Exists}]",
		changed: `tolerations: [{key: cache, value: "yes", effect: NoExecute, tolerationSeconds: 5}]`, writes: deployment,
	},
	"affinity": {
		on:      "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {memcached_cr: cache}}}]}}",
		changed: "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disktype, operator: Exists}]}]}}}", writes: deployment,
	},
	"topologySpreadConstraints": {
		on:      "topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {memcached_cr: cache}}}]",
		changed: "topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {memcached_cr: cache}}}]", writes: deployment,
	},
	"priorityClassName":             {on: "priorityClassName: a", changed: "priorityClassName: b", writes: deployment},
	"serviceAccountName":            {on: "serviceAccountName: a", changed: "serviceAccountName: b", writes: deployment},
	"podMetadata.labels":            {on: "podMetadata: {labels: {team: a, tier: b}}", changed: "podMetadata: {labels: {team: b}}", writes: deployment},
	"podMetadata.annotations":       {on: "podMetadata: {annotations: {example.com/a: a}}", changed: "podMetadata: {annotations: {example.com/b: b}}", writes: deployment},
	"terminationGracePeriodSeconds": {on: "terminationGracePeriodSeconds: 60", changed: "terminationGracePeriodSeconds: 0", writes: deployment},
	"minReadySeconds":               {on: "minReadySeconds: 30", changed: "minReadySeconds: 0", writes: deployment},
	"preStop":                       {on: "preStop: {sleepSeconds: 5}", changed: "preStop: {sleepSeconds: 10}", writes: deployment},

	"service.labels":           {on: "service: {labels: {team: a, tier: b}}", changed: "service: {labels: {team: b}}", writes: service},
	"service.annotations":      {on: "service: {annotations: {example.com/a: a}}", changed: "service: {annotations: {example.com/b: b}}", writes: service},
	"service.clusterIPService": {on: "service: {clusterIPService: true}", writes: clusterIP},
	"containerPort with a cluster IP": {
		with: "service: {clusterIPService: true}",
		on:   "containerPort: 21211", changed: "containerPort: 21212", writes: deployment + " " + clusterIP + " " + service,
	},
	"podDisruptionBudget.maxUnavailable": {on: "podDisruptionBudget: {maxUnavailable: 2}", changed: "podDisruptionBudget: {maxUnavailable: 25%}", writes: budget},
	"rollout.maxSurge":                   {on: "rollout: {maxSurge: 2}", changed: "rollout: {maxSurge: 25%}", writes: deployment},
	"rollout.maxUnavailable":             {on: "rollout: {maxUnavailable: 1}", changed: "rollout: {maxUnavailable: 25%}", writes: deployment},
	"rollout":                            {on: "rollout: {maxUnavailable: 1, maxSurge: 0}", writes: deployment},
	"podDisruptionBudget.omit":           {on: "podDisruptionBudget: {omit: true}", writes: budget},
	"networkPolicy": {
		on:      "networkPolicy: {from: [{podSelector: {matchLabels: {team: web}}}]}",
		changed: "networkPolicy: {from: [{podSelector: {}, namespaceSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8}}]}", writes: networkPolicy,
	},
	"networkPolicy.metricsFrom": {
		with:    "{metrics: {}, networkPolicy: {from: [{podSelector: {}}]}}",
		on:      "networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{namespaceSelector: {}}]}",
		changed: "networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}", writes: networkPolicy,
	},

	"tls":            {on: "tls: {secretName: a}", changed: "tls: {secretName: b}", writes: deployment},
	"tls.clientAuth": {with: "tls: {secretName: a}", on: "tls: {secretName: a, clientAuth: Request}", changed: "tls: {secretName: a, clientAuth: Require}", writes: deployment},
	"tls.plaintextPort": {
		with: "tls: {secretName: a}",
		on:   "tls: {secretName: a, plaintextPort: 11212}", changed: "tls: {secretName: a, plaintextPort: 11213}",
		writes: deployment + " " + service,
	},
	// The policy speaks of the port by its name: another number does not change it, and
	// the row with another number is the one above.
	"tls.plaintextPort with a network policy and a cluster IP": {
		with: "{tls: {secretName: a}, service: {clusterIPService: true}, networkPolicy: {from: [{podSelector: {}}]}}",
		on:   "tls: {secretName: a, plaintextPort: 11212}", writes: deployment + " " + networkPolicy + " " + clusterIP + " " + service,
	},
	"tls with auth": {with: "auth: {secretName: a}", on: "tls: {secretName: a, clientAuth: Require}", changed: "tls: {secretName: b}", writes: deployment},
	"auth":          {on: "auth: {secretName: a}", changed: "auth: {secretName: b, key: users}", writes: deployment},
	"auth with tls": {with: "tls: {secretName: a}", on: "auth: {secretName: a}", changed: "auth: {secretName: b}", writes: deployment},

	"metrics":           {on: "metrics: {}", changed: "metrics: {port: 9999}", writes: deployment + " " + service},
	"metrics with tls":  {with: "tls: {secretName: a}", on: "metrics: {}", changed: "metrics: {port: 9999}", writes: deployment + " " + service},
	"metrics.image":     {with: "metrics: {}", on: "metrics: {image: example.com/exporter:1}", changed: "metrics: {image: example.com/exporter:2}", writes: deployment},
	"metrics.resources": {with: "metrics: {}", on: "metrics: {resources: {requests: {cpu: 20m}}}", changed: "metrics: {resources: {limits: {memory: 1Gi}}}", writes: deployment},
	"metrics.serviceMonitor": {
		with: "metrics: {}",
		on:   "metrics: {serviceMonitor: {}}", changed: "metrics: {serviceMonitor: {intervalSeconds: 60}}", writes: monitor,
	},
	"metrics.serviceMonitor.labels": {
		with: "metrics: {serviceMonitor: {}}",
		on:   "metrics: {serviceMonitor: {labels: {release: a, team: a}}}", changed: "metrics: {serviceMonitor: {labels: {release: b}}}", writes: monitor,
	},
	"metrics.rules": {
		with: "metrics: {}",
		on:   "metrics: {rules: {}}", changed: "metrics: {rules: {memoryPercent: 95, connectionsPercent: 70}}", writes: rule,
	},
	"metrics.rules.labels": {
		with: "metrics: {rules: {}}",
		on:   "metrics: {rules: {labels: {release: a, team: a}}}", changed: "metrics: {rules: {labels: {release: b}}}", writes: rule,
	},

	"paused": {on: "paused: true", changed: "paused: false"},
	// A variable is an item of a list, and an annotation an entry of a map; the change removes those of tier.
	"parameters": {on: "parameters: {tier: a, zone: a}", changed: "parameters: {zone: 'true'}", writes: deployment},
	"parameters beside other variables": {
		with: "{idleTimeoutSeconds: 90, parameters: {zone: a}}",
		on:   "parameters: {zone: a, tier: a}", changed: "parameters: {zone: a, tier: b}", writes: deployment,
	},
	"patches of the Deployment": {
		on:      `patches: [{target: {kind: Deployment}, patch: "spec: {template: {spec: {containers: [{name: logger, image: logger}]}}}"}]`,
		changed: `patches: [{target: {kind: Deployment}, patch: "spec: {template: {spec: {containers: [{name: other, image: other}]}}}"}]`, writes: deployment,
	},
	"patches of the service account": {
		on:      `patches: [{target: {kind: Deployment}, patch: "spec: {template: {spec: {serviceAccountName: a}}}"}]`,
		changed: `patches: [{target: {kind: Deployment}, patch: "spec: {template: {spec: {serviceAccountName: b}}}"}]`, writes: deployment,
	},
	"patches of every kind": {
		with:    "{metrics: {serviceMonitor: {}, rules: {}}, service: {clusterIPService: true}, networkPolicy: {from: [{podSelector: {}}]}}",
		on:      annotated("a"),
		changed: annotated("b"),
		writes:  deployment + " " + networkPolicy + " " + budget + " " + rule + " " + monitor + " " + service + " " + clusterIP,
	},
}

// annotated are patches, in both forms, of every kind of the templates.
func annotated(value string) string {
	var patches []string
	for _, kind := range []string{"Deployment", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule", "Service"} {
		patches = append(patches, `{target: {kind: `+kind+`}, patch: "metadata: {annotations: {example.com/patched: `+value+`}}"}`)
	}
	patches = append(patches, `{target: {kind: ServiceMonitor, name: cache}, patch: "[{op: add, path: /metadata/annotations, value: {example.com/patched: `+value+`}}]"}`)
	return "patches: [" + strings.Join(patches, ", ") + "]"
}

func TestFeature_IsAddedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	for name, f := range features {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.Fields(f.writes)
			slices.Sort(want)
			s := newSubject(t, "cache", f.with)
			before := s.children
			step := func(when string, spec ...string) {
				t.Helper()
				if got := s.step(when, spec...); !slices.Equal(got, want) {
					t.Errorf("%s: changed are %v, want %v", when, got, want)
				}
			}
			step("when it comes", f.with, f.on)
			if f.changed != "" {
				step("when it changes", f.with, f.changed)
			}
			step("when it goes", f.with)
			s.mustBeAs(before)
		})
	}
}

// TestFeature_GoldenFilesAreAddedAndRemoved sets the spec of each golden file, which combine features.
func TestFeature_GoldenFilesAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	for file, input := range inputs(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			spec, _, err := unstructured.NestedMap(input.Object, "spec")
			testenv.NoError(t, err)
			delete(spec, "size") // no pods
			text, err := yaml.Marshal(spec)
			testenv.NoError(t, err)
			s := newSubject(t, input.GetName())
			before := s.children
			s.step("when it comes", string(text))
			s.step("when it goes")
			s.mustBeAs(before)
		})
	}
}

// inputs are the Memcacheds of the golden files, by the names of the files.
func inputs(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(controlplane.Root(), "reconcilers", "render", "testdata", "memcacheds", "*.yaml"))
	testenv.NoError(t, err)
	found := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		testenv.NoError(t, err)
		input := &unstructured.Unstructured{}
		testenv.NoError(t, yaml.Unmarshal(content, &input.Object))
		found[strings.TrimSuffix(filepath.Base(file), ".yaml")] = input
	}
	if len(found) == 0 {
		t.Fatal("there are no golden files")
	}
	return found
}

// mustBeAs compares the children with those of before, by content.
func (s *subject) mustBeAs(before map[string]*unstructured.Unstructured) {
	s.Helper()
	for _, name := range s.changedSince(before) {
		s.Errorf("%s is not what it was before:\n%s", name, diff.Diff(content(before[name]), content(s.children[name])))
	}
}
