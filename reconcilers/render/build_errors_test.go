// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"
)

// TestNew_RewritesErrorsOfKustomize pins the whole messages, which users read.
func TestNew_RewritesErrorsOfKustomize(t *testing.T) {
	t.Parallel()
	operation := func(operation string) edits {
		return inSite("patches:\n- target: {kind: Service}\n  patch: |-\n    - " + operation + "\n")
	}
	for sentence, test := range map[string]struct {
		edits edits
		want  string
	}{
		"an object of the same kind and name": {
			edits{siteFile: component + "resources: [more.yaml]\n", "components/site/more.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: memcached}\nspec: {}\n"},
			siteFile + ": more.yaml: another file has a Service called memcached too; give this one another metadata.name, or change the other one by a patch",
		},
		"a component of another kind": {
			edits{siteFile: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"},
			siteFile + ": kind is Kustomization; a component has kind Component and apiVersion kustomize.config.k8s.io/v1alpha1",
		},
		"a JSON patch beyond a list": {
			operation("{op: add, path: /spec/ports/5/name, value: x}"),
			siteFile + ": a JSON patch cannot add /spec/ports/5/name: the object has no such index, or lacks a map above it; correct the path, or add what is above it first",
		},
		"a JSON patch below a missing field": {
			operation("{op: replace, path: /spec/nothing/deep, value: x}"),
			siteFile + ": a JSON patch cannot replace /spec/nothing/deep: the object has no such index, or lacks a map above it; correct the path, or add what is above it first",
		},
		"a JSON patch that removes a missing field": {
			operation("{op: remove, path: /metadata/nothing}"),
			siteFile + ": a JSON patch cannot remove /metadata/nothing: the object has no such field or index; correct the path, or remove the operation",
		},
		"a patch by the name in a cluster": {
			inSite("patches:\n- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata: {name: cache}\n    spec: {type: ClusterIP}\n"),
			siteFile + ": a patch changes Service cache, which is in no template; name an object by the metadata.name of its template, such as memcached, not by its name in a cluster",
		},
		"a patch that is no patch": {
			inSite("patches:\n- target: {kind: Service}\n  patch: '[{op: add}]'\n"),
			siteFile + ": a patch is neither a partial object nor a list of operations (patch: \"[{op: add}]\"); write a JSON patch as a YAML list, one - op: with path: and value: an item",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			_, err := New(edited(t, test.edits), Defaults{})
			if err == nil {
				t.Fatal("New accepts the templates")
			}
			// The components that are active are named between.
			if got := err.Error(); !strings.HasPrefix(got, "templates: ") || !strings.HasSuffix(got, test.want) {
				t.Errorf("the message is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
