// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

const configMapFile = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"

// warningRow is a change of the templates and the warning of it.
type warningRow struct {
	edits    edits
	defaults Defaults
	// want is the warning in full; empty for none.
	want string
}

func warningRows(t *testing.T) map[string]warningRow {
	t.Helper()
	image := Defaults{Image: "registry.example.com/memcached:1"}
	return map[string]warningRow{
		"nothing is changed":                {},
		"nothing is changed, with an image": {defaults: image},
		"a page and hidden files":           {edits: edits{"components/site/README.md": "# Site\n", "base/.gitkeep": "x"}},
		"a file that is listed":             {edits: more(configMapFile)},
		"a file of a generator":             {edits: edits{siteFile: component + "configMapGenerator: [{name: more, files: [key=settings.conf]}]\n", "components/site/settings.conf": "a"}},
		"files of a directory that is listed": {edits: edits{
			siteFile: component + "resources: [more]\n", "components/site/more/kustomization.yaml": "resources: [more.yaml]\n", "components/site/more/more.yaml": configMapFile,
		}},
		"an object that is no longer listed": {edits: edits{"components/service.clusterIP/kustomization.yaml": component + "resources: []\n"}},
		"a file in the site that is not listed": {
			edits: edits{"components/site/more.yaml": configMapFile},
			want:  "components/site/more.yaml:1: no kustomization lists this file, so it has no effect; add it to the resources of components/site/kustomization.yaml, or remove it",
		},
		"a file of another name than the shipped one": {
			edits: edits{"base/deployment.yml": string(shipped(t)[deploymentFile])},
			want:  "base/deployment.yml:1: no kustomization lists this file, so it has no effect; add it to the resources of base/kustomization.yaml, or remove it",
		},
		"a file outside of a component": {
			edits: edits{"components/more.yaml": configMapFile},
			want:  "components/more.yaml:1: no kustomization lists this file, so it has no effect; move it to components/site and list it in the kustomization there, or remove it",
		},
		"a directory that is not listed": {
			edits: edits{"base/more/kustomization.yaml": "resources: [more.yaml]\n", "base/more/more.yaml": configMapFile},
			want:  "base/more/kustomization.yaml:1: no kustomization lists the directory base/more, so it has no effect; add it to the resources or components of one, or remove it",
		},
		"a constant that a replacement overwrites": {
			edits: inFile(t, deploymentFile, "replicas: 1", "replicas: 5"),
			want: "base/deployment.yaml:13: Deployment memcached: spec.replicas: this value has no effect: base/kustomization.yaml: replacements[1] overwrites it with spec.size of the Memcached; " +
				"set that one, or remove the target of the replacement",
		},
		"a constant in a list that a replacement overwrites": {
			edits: inFile(t, deploymentFile, `value: "11211"`, `value: "11311"`),
			want: "base/deployment.yaml:97: Deployment memcached: spec.template.spec.containers.[name=memcached].env.[name=MEMCACHED_PORT].value: this value has no effect: " +
				"base/kustomization.yaml: replacements[2] overwrites it with spec.containerPort of the Memcached; set that one, or remove the target of the replacement",
		},
		"a constant that a Memcached may overwrite": {edits: inFile(t, deploymentFile, "image: docker.io/library/memcached:1.6.45", "image: memcached:1.6.40")},
		"a constant that the environment overwrites": {
			edits: inFile(t, deploymentFile, "image: docker.io/library/memcached:1.6.45", "image: memcached:1.6.40"), defaults: image,
			want: "base/deployment.yaml:68: Deployment memcached: spec.template.spec.containers.[name=memcached].image: this value has no effect: components/image/kustomization.yaml: replacements[0] " +
				"overwrites it with image of Values, which the operator computes from the Memcached and its environment; set that one, or remove the target of the replacement",
		},
	}
}

func TestCheck_WarnsOfWhatHasNoEffect(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	for sentence, test := range warningRows(t) {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			renderer, problems, warnings, err := Check(few(t, test.edits), test.defaults)
			if err != nil || renderer == nil || len(problems) > 0 {
				t.Fatalf("Check rejects the templates: %v %v", problems, err)
			}
			if got := warnings.Err(); (got == nil) != (test.want == "") || got != nil && got.Error() != test.want {
				t.Errorf("the warning is\n%v\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestCheck_WarnsBesideProblems(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	renderer, problems, warnings, err := Check(few(t, edits{
		serviceFile:                 replaced(t, serviceFile, "kind: Service\n", "kind: Service\nstatus: {}\n"),
		"components/site/more.yaml": configMapFile,
	}), Defaults{})
	if err != nil || renderer != nil || len(problems) != 1 || len(warnings) != 1 {
		t.Errorf("problems %v, warnings %v, error %v", problems, warnings, err)
	}
}

// A kustomization that cannot be read lists its files all the same.
func TestCheck_DoesNotWarnWithoutKustomizations(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	_, problems, warnings, err := Check(few(t, edits{
		siteFile:                    component + "resources: [more.yaml\n",
		"components/site/more.yaml": configMapFile,
		template.ValuesFile:         "a: [",
	}), Defaults{})
	if err != nil || len(problems) != 2 || len(warnings) != 0 {
		t.Errorf("problems %v, warnings %v, error %v", problems, warnings, err)
	}
}
