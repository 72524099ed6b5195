// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/diff"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/test/testenv"
)

// site is the file of components/site with patches.
func site(patches string) templates {
	return templates{"components/site/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n" + patches}
}

var (
	priorityClass = site(`- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {spec: {priorityClassName: system-cluster-critical, containers: [{name: memcached, env: [{name: ZONE, value: a}]}]}}}
`)
	otherImage = site(`- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {spec: {containers: [{name: memcached, image: memcached:1.6.44}]}}}
`)
	serviceLabel = site(`- patch: |-
    apiVersion: v1
    kind: Service
    metadata: {name: memcached, labels: {example.com/team: web}}
`)
)

// withConfigMap is a base with one more object.
func withConfigMap(t *testing.T) templates {
	t.Helper()
	kustomization, err := manifests.FS.ReadFile("base/kustomization.yaml")
	testenv.NoError(t, err)
	return templates{
		"base/kustomization.yaml": strings.Replace(string(kustomization), "- service.yaml\n", "- service.yaml\n- configmap.yaml\n", 1),
		"base/configmap.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {a: b}\n",
	}
}

// change describes a change in one word and the object.
func change(c diff.Change) string {
	switch {
	case c.Before == nil:
		return "create " + c.After.GetKind()
	case c.After == nil:
		return "delete " + c.Before.GetKind()
	default:
		return "change " + c.After.GetKind()
	}
}

// edit is a change of the templates.
type edit struct {
	// before and after return the templates; nil stands for the shipped ones.
	before, after func(*testing.T) templates
	// changes are those of each Memcached.
	changes []string
	// fields are those because of which pods would be replaced.
	fields []string
}

var edits = map[string]edit{
	"no change": {},
	"the pod template": {
		after:   func(*testing.T) templates { return priorityClass },
		changes: []string{"change Deployment"},
		fields:  []string{"spec.template.spec.containers[memcached].env[ZONE]", "spec.template.spec.priorityClassName"},
	},
	"the pod template, back to the shipped one": {
		before:  func(*testing.T) templates { return priorityClass },
		changes: []string{"change Deployment"},
		fields:  []string{"spec.template.spec.containers[memcached].env[ZONE]", "spec.template.spec.priorityClassName"},
	},
	"the Service": {
		after:   func(*testing.T) templates { return serviceLabel },
		changes: []string{"change Service"},
	},
	"one more container, without the defaults of the API server": {
		after: func(*testing.T) templates {
			return site(`- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {spec: {containers: [{name: sidecar, image: busybox, resources: {limits: {memory: 1024Mi}}}]}}}
`)
		},
		changes: []string{"change Deployment"},
		fields:  []string{"spec.template.spec.containers[sidecar]"},
	},
	"one more object": {after: withConfigMap, changes: []string{"create ConfigMap"}},
	"one object less": {before: withConfigMap, changes: []string{"delete ConfigMap"}},
}

func (e edit) templates(t *testing.T) (before, after templates) {
	t.Helper()
	if e.before != nil {
		before = e.before(t)
	}
	if e.after != nil {
		after = e.after(t)
	}
	return before, after
}

// check compares the result for a Memcached with what is expected. The one called cache has two pods, others
// have none.
func (e edit) check(t *testing.T, comparison diff.Comparison) {
	t.Helper()
	if len(comparison.Errs) > 0 {
		t.Errorf("%s: %v", comparison.Name, comparison.Errs)
	}
	var changes []string
	for _, c := range comparison.Changes {
		changes = append(changes, change(c))
	}
	if !slices.Equal(changes, e.changes) {
		t.Errorf("%s: %q, want %q", comparison.Name, changes, e.changes)
	}
	var want []diff.Replacement
	if e.fields != nil && comparison.Name == "cache" {
		want = []diff.Replacement{{Kind: "Deployment", Name: "cache", Pods: 2, Fields: e.fields}}
	}
	if !reflect.DeepEqual(comparison.Replacements, want) {
		t.Errorf("%s: replacements %+v, want %+v", comparison.Name, comparison.Replacements, want)
	}
}
