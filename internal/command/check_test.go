// SPDX-License-Identifier: Apache-2.0

package command

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"

// manifests returns a directory with files.
func manifests(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mounted returns a directory with files as the kubelet mounts a ConfigMap.
func mounted(t *testing.T, files map[string]string) string {
	t.Helper()
	data := map[string]string{}
	for name, content := range files {
		data["..2026_11_23/"+name] = content
	}
	dir := manifests(t, data)
	for link, target := range map[string]string{"..data": "..2026_11_23", "base": "..data/base", "components": "..data/components"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCheck_PrintsAllProblems(t *testing.T) {
	t.Parallel()
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"
	valid := map[string]string{"components/site/kustomization.yaml": component + "resources: [more.yaml]\n", "components/site/more.yaml": configMap, "base/README.md": "# Base\n"}
	beside := maps.Clone(valid)
	maps.Copy(beside, map[string]string{
		"component/metrics/kustomization.yaml": component, "kustomization.yaml": "resources: [base]\n", "README.md": "# Templates\n", ".git/config": "x",
	})
	wrong := maps.Clone(valid)
	maps.Copy(wrong, map[string]string{
		"components/site/more.yaml": configMap + "dat: {}\n---\n" + strings.Replace(configMap, "more", "other, namespace: a", 1), "components/site/other.yaml": configMap,
	})
	values := file(t, "values.yaml", "manifests:\n  components/site/kustomization.yaml: |\n    kind: Component\n    namePrefix: x\n")
	const ignored = ": only the directories base and components are read, so this has no effect; move it there, or remove it\n"
	for sentence, test := range map[string]struct {
		args []string
		code int
		out  string
	}{
		"the shipped templates":        {nil, 0, "0 errors, 0 warnings\n"},
		"valid templates":              {[]string{"--manifests-dir", manifests(t, valid)}, 0, "0 errors, 0 warnings\n"},
		"a mounted ConfigMap":          {[]string{"--manifests-dir", mounted(t, valid)}, 0, "0 errors, 0 warnings\n"},
		"the shipped directory itself": {[]string{"--manifests-dir", "../../manifests"}, 0, "0 errors, 0 warnings\n"},
		"unknown directories and files": {
			[]string{"--manifests-dir", manifests(t, beside)}, 0,
			"warning: component" + ignored + "warning: kustomization.yaml" + ignored + "0 errors, 2 warnings\n",
		},
		"mistakes and warnings": {
			[]string{"--manifests-dir", manifests(t, wrong)}, 1,
			"warning: components/site/other.yaml:1: no kustomization lists this file, so it has no effect; add it to the resources of components/site/kustomization.yaml, or remove it\n" +
				"error: components/site/more.yaml:4: ConfigMap more: dat: unknown field; correct its name or its indentation, or remove it\n" +
				"error: components/site/more.yaml:8: ConfigMap other: metadata.namespace is managed by the operator; remove it from the template\n" +
				"2 errors, 1 warning\n",
		},
		"a mistake in Helm values": {
			[]string{"--helm-values", values}, 1,
			"error: components/site/kustomization.yaml:2: field \"namePrefix\" is refused: the operator sets the names\n1 error, 0 warnings\n",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := run(t, "", nil, append([]string{"check"}, test.args...)...); got.code != test.code || got.out != test.out || got.stderr != "" {
				t.Errorf("the exit code is %d and the output\n%s%s\nwant %d and\n%s", got.code, got.out, got.stderr, test.code, test.out)
			}
		})
	}
}

func TestCheck_RejectsBadInput(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	dangling := manifests(t, map[string]string{"base/README.md": ""})
	if err := os.Symlink("nowhere.yaml", filepath.Join(dangling, "base", "service.yaml")); err != nil {
		t.Fatal(err)
	}
	huge := manifests(t, map[string]string{"base/huge.yaml": strings.Repeat("#", 5<<20)})
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":               {[]string{"--bogus"}, "unknown flag: --bogus\n"},
		"a namespace without --server":  {[]string{"-n", "a"}, "--kubeconfig, --context and --namespace: they have an effect with --server only\n"},
		"an argument":                   {[]string{empty}, `unexpected argument "` + empty + `": name the templates by --manifests-dir or --helm-values` + "\n"},
		"a directory that is absent":    {[]string{"--manifests-dir", empty + "/absent"}, "--manifests-dir: open " + empty + "/absent: no such file or directory\n"},
		"an empty directory":            {[]string{"--manifests-dir", empty}, "--manifests-dir: " + empty + " holds neither base nor components, so it would change nothing\n"},
		"a file that cannot be read":    {[]string{"--manifests-dir", dangling}, "--manifests-dir: " + dangling + ": reading templates: stat base/service.yaml: no such file or directory\n"},
		"a directory that is too large": {[]string{"--manifests-dir", huge}, "--manifests-dir: " + huge + ": reading templates: base/huge.yaml: the templates exceed 4194304 bytes\n"},
		"Helm values that are absent":   {[]string{"--helm-values", empty + "/absent"}, "--helm-values: open " + empty + "/absent: no such file or directory\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := run(t, "", nil, append([]string{"check"}, test.args...)...); got.code != 2 || got.out != "" || got.stderr != "memcached-operator check: "+test.want {
				t.Errorf("the exit code is %d and the output\n%s%s\nwant\n%s", got.code, got.out, got.stderr, test.want)
			}
		})
	}
}
