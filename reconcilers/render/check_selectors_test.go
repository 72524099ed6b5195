// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

func TestNew_RejectsSharedNames(t *testing.T) {
	t.Parallel()
	service := func(name, selector string) edits {
		return listed(t, "more.yaml", edits{"base/more.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {selector: " + selector + ", ports: [{port: 1}]}\n"})
	}
	policy := func(selector string) edits {
		return listed(t, "more.yaml", edits{"base/more.yaml": "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: more}\nspec: {podSelector: " + selector + "}\n"})
	}
	for name, row := range map[string]struct {
		edits edits
		// want lists parts of the error; if it is empty, the templates are accepted.
		want []string
	}{
		"rejects a selector that is not filled in": {
			service("more", "{app: memcached, memcached_cr: memcached}"),
			[]string{"base/more.yaml: Service more: spec.selector.memcached_cr", "memcached", "replacement"},
		},
		"rejects an expression that is not filled in": {
			policy("{matchExpressions: [{key: memcached_cr, operator: In, values: [memcached]}]}"),
			[]string{"base/more.yaml: NetworkPolicy more: spec.podSelector.matchExpressions.0.values.0", "replacement"},
		},
		"rejects a label that is not filled in": {
			edits{baseFile: replaced(t, baseFile, "    - spec.template.metadata.labels.[app.kubernetes.io/instance]\n", "")},
			[]string{deploymentFile + ": Deployment memcached: spec.template.metadata.labels.app.kubernetes.io/instance", "replacement"},
		},
		"rejects a selector of the pods of every Memcached": {
			service("more", "{app: memcached}"),
			[]string{"base/more.yaml: Service more: spec.selector selects the pods of every Memcached", "memcached_cr"},
		},
		"rejects a selector of all pods": {
			policy("{}"),
			[]string{"base/more.yaml: NetworkPolicy more: spec.podSelector selects the pods of every Memcached"},
		},
		"rejects a shared selector in the site": {
			edits{siteFile: component + "resources: [more.yaml]\n", "components/site/more.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: more}\nspec: {selector: {matchLabels: {app: memcached}}}\n"},
			[]string{"components/site/more.yaml: PodDisruptionBudget more: spec.selector"},
		},
		"rejects the name of another template as a value": {
			edits{siteFile: component + "replacements:\n- source: {kind: Service, name: memcached}\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.service], options: {create: true}}]\n"},
			[]string{siteFile + ": replacements[0]", "metadata.name of Service memcached"},
		},
		"rejects a Service whose name leaves no room": {
			service("eleven-char", "{app: other}"),
			[]string{"base/more.yaml: Service eleven-char: metadata.name is too long"},
		},
		"accepts a Service whose name leaves room": {service("ten-letter", "{app: other}"), nil},
		"accepts a selector of other pods":         {policy("{matchLabels: {app: gateway}}"), nil},
		"accepts a Service without a selector":     {service("more", "{}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(edited(t, row.edits), Defaults{})
			if len(row.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("New accepts the templates")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

// Kustomize knows the references in the kinds of Kubernetes; every other one is
// recognized by the kind beside the name.
func TestRender_FollowsReferencesByKind(t *testing.T) {
	t.Parallel()
	e := listed(t, "more.yaml", edits{"base/more.yaml": `apiVersion: example.com/v1
kind: Tuner
metadata: {name: tuner}
spec:
  targets:
  - {apiVersion: apps/v1, kind: Deployment, name: memcached}
  - {apiVersion: other.example.com/v1, kind: Deployment, name: memcached}
  - {kind: Tuner, name: tuner}
  - {kind: Deployment, name: elsewhere}
`})
	targets := template.Lookup(find(t, mustRender(t, mustNew(t, edited(t, e), Defaults{}), named("web")), "Tuner", "web-tuner").Object, []any{"spec", "targets"})
	for i, want := range []string{"web", "memcached", "web-tuner", "elsewhere"} {
		if got := template.Lookup(targets, []any{i, "name"}); got != want {
			t.Errorf("target %d is %v, want %s", i, got, want)
		}
	}
}

// The int-or-string of a Memcached may have another type than the example's.
func TestRender_AcceptsOtherTypesThanTheExample(t *testing.T) {
	t.Parallel()
	r := mustNew(t, shipped(t), Defaults{AllowPrivilegedFields: true})
	for name, file := range map[string]string{"accepts a number": "disruption-budget-number", "accepts a percentage": "disruption-budget-percentage"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := readMemcached(t, "testdata/memcacheds/"+file+".yaml")
			objects := mustRender(t, r, mc)
			built, always := mustFullBuild(t, r, mc)
			mustBeSame(t, "against a full build", objects, built)
			if always {
				t.Error("rendered by full builds, which is slow")
			}
		})
	}
}

func TestNew_RejectsExamplesThatLackFields(t *testing.T) {
	t.Parallel()
	for file, edit := range map[string]edits{
		template.MemcachedFile: {template.MemcachedFile: replaced(t, template.MemcachedFile, "auth: {secretName: example-users, key: auth}", "auth: {secretName: example-users}")},
		template.ValuesFile:    {template.ValuesFile: replaced(t, template.ValuesFile, "memory: {megabytes: \"64\", container: 77Mi}", "memory: {megabytes: \"64\"}")},
	} {
		_, err := New(edited(t, edit), Defaults{})
		if err == nil || !strings.Contains(err.Error(), file+" does not set") || !strings.Contains(err.Error(), "replacements[1]") {
			t.Errorf("without a field in %s: %v", file, err)
		}
	}
}
