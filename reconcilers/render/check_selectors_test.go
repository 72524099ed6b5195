// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

// moreService and morePolicy return edits that add an object with a selector to the base.
func moreService(t *testing.T, name, selector string) edits {
	t.Helper()
	return listed(t, "more.yaml", edits{"base/more.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {selector: " + selector + ", ports: [{port: 1}]}\n"})
}

func morePolicy(t *testing.T, selector string) edits {
	t.Helper()
	return listed(t, "more.yaml", edits{"base/more.yaml": "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: more}\nspec: {podSelector: " + selector + "}\n"})
}

func TestNew_RejectsSharedNames(t *testing.T) {
	testRefusals(t, map[string]refusal{
		"a selector that is not filled in": {
			moreService(t, "more", "{app: memcached, memcached_cr: memcached}"),
			[]string{"base/more.yaml: Service more: spec.selector.memcached_cr", "memcached", "replacement"},
		},
		"an expression that is not filled in": {
			morePolicy(t, "{matchExpressions: [{key: memcached_cr, operator: In, values: [memcached]}]}"),
			[]string{"base/more.yaml: NetworkPolicy more: spec.podSelector.matchExpressions.0.values.0", "replacement"},
		},
		"a label that is not filled in": {
			edits{baseFile: replaced(t, baseFile, "    - spec.template.metadata.labels.[app.kubernetes.io/instance]\n", "")},
			[]string{deploymentFile + ": Deployment memcached: spec.template.metadata.labels.app.kubernetes.io/instance", "replacement"},
		},
		"a selector of the pods of every Memcached": {
			moreService(t, "more", "{app: memcached}"),
			[]string{"base/more.yaml: Service more: spec.selector selects the pods of every Memcached", "memcached_cr"},
		},
		"a selector of all pods": {
			morePolicy(t, "{}"),
			[]string{"base/more.yaml: NetworkPolicy more: spec.podSelector selects the pods of every Memcached"},
		},
		"a shared selector in the site": {
			edits{siteFile: component + "resources: [more.yaml]\n", "components/site/more.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: more}\nspec: {selector: {matchLabels: {app: memcached}}}\n"},
			[]string{"components/site/more.yaml: PodDisruptionBudget more: spec.selector"},
		},
		"the name of another template as a value": {
			edits{siteFile: component + "replacements:\n- source: {kind: Service, name: memcached}\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.service], options: {create: true}}]\n"},
			[]string{siteFile + ": replacements[0]", "metadata.name of Service memcached"},
		},
		"a Service whose name leaves no room": {
			moreService(t, "eleven-char", "{app: other}"),
			[]string{"base/more.yaml: Service eleven-char: metadata.name is too long"},
		},
	})
}

func TestNew_AcceptsNamesThatAreNotShared(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]edits{
		"accepts a Service whose name leaves room": moreService(t, "ten-letter", "{app: other}"),
		"accepts a selector of other pods":         morePolicy(t, "{matchLabels: {app: gateway}}"),
		"accepts a Service without a selector":     moreService(t, "more", "{}"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustNew(t, edited(t, e), Defaults{})
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

func TestNew_RejectsExamplesThatLackFields(t *testing.T) {
	t.Parallel()
	for file, edit := range map[string]edits{
		template.MemcachedFile: {template.MemcachedFile: replaced(t, template.MemcachedFile, "auth: {secretName: example-users, key: auth}", "auth: {secretName: example-users}")},
		template.ValuesFile:    {template.ValuesFile: replaced(t, template.ValuesFile, "containerMemory: {request: 104Mi, limit: 143Mi,", "containerMemory: {request: 104Mi,")},
	} {
		_, err := New(edited(t, edit), Defaults{})
		if err == nil || !strings.Contains(err.Error(), file+" does not set") || !strings.Contains(err.Error(), "replacements[") {
			t.Errorf("without a field in %s: %v", file, err)
		}
	}
}
