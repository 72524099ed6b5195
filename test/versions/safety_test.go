// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// clone is a repository with the script, the tool and the CRD of this one.
func clone(t *testing.T) string {
	t.Helper()
	root, directory := controlplane.Root(), t.TempDir()
	if _, err := os.Stat(filepath.Join(root, "bin", "crdify")); err != nil {
		t.Fatalf("the tests need crdify: run `hack/tools/build.sh crdify` first, or the tests by `make test`: %v", err)
	}
	for _, name := range []string{"hack/crd-safety.sh", "hack/crdify.yaml", crdFile} {
		content, err := os.ReadFile(filepath.Join(root, name))
		testenv.NoError(t, err)
		testenv.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o700))
		testenv.NoError(t, os.WriteFile(filepath.Join(directory, name), content, 0o700))
	}
	testenv.NoError(t, os.Symlink(filepath.Join(root, "bin"), filepath.Join(directory, "bin")))
	git(t, directory, "init", "--quiet")
	git(t, directory, "add", "config")
	git(t, directory, "commit", "--quiet", "--message=the release")
	return directory
}

func git(t *testing.T, directory string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com"}, arguments...)...)
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
}

// safety runs the script in a repository.
func safety(t *testing.T, directory string) (string, error) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(directory, "hack", "crd-safety.sh")).CombinedOutput()
	return string(output), err
}

// at returns the map at a path of maps.
func at(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		object = object[key].(map[string]any)
	}
	return object
}

func TestCRDSafety_ComparesWithTheLastRelease(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		// change changes the CRD and its version's schema after the release.
		change func(crd, spec map[string]any)
		// refusal is what the script says; nothing when it is content.
		refusal string
	}{
		"accepts no change":            {func(_, _ map[string]any) {}, ""},
		"accepts a new optional field": {func(_, spec map[string]any) { at(spec, "properties")["zone"] = map[string]any{"type": "string"} }, ""},
		"accepts a looser bound":       {func(_, spec map[string]any) { at(spec, "properties", "image")["maxLength"] = 1024 }, ""},
		"accepts another description":  {func(_, spec map[string]any) { at(spec, "properties", "size")["description"] = "other" }, ""},
		"rejects a changed default":    {func(_, spec map[string]any) { at(spec, "properties", "containerPort")["default"] = 11212 }, "default value changed"},
		"rejects a new default":        {func(_, spec map[string]any) { at(spec, "properties", "image")["default"] = "memcached:1" }, "default added"},
		"rejects a tighter bound":      {func(_, spec map[string]any) { at(spec, "properties", "containerPort")["maximum"] = 60000 }, "maximum decreased"},
		"rejects a new required field": {func(_, spec map[string]any) {
			at(spec, "properties")["zone"], spec["required"] = map[string]any{"type": "string"}, []any{"zone"}
		}, "new required fields"},
		"rejects an optional field that becomes required": {func(_, spec map[string]any) { spec["required"] = []any{"size"} }, "new required fields"},
		"rejects a removed field":                         {func(_, spec map[string]any) { delete(at(spec, "properties"), "image") }, "removed field"},
		"rejects a new validation rule": {func(_, spec map[string]any) {
			at(spec, "properties", "size")["x-kubernetes-validations"] = []any{map[string]any{"rule": "self < 5"}}
		}, "unhandled changes"},
		"rejects another scope": {func(crd, _ map[string]any) { at(crd, "spec")["scope"] = "Cluster" }, "scope changed"},
		"rejects the removal of a served version": {func(crd, _ map[string]any) {
			at(crd, "spec")["versions"].([]any)[0].(map[string]any)["name"] = "v1beta1"
		}, "no longer has version v1alpha1, which v0.2.0 serves"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			directory := clone(t)
			git(t, directory, "tag", "v0.2.0")
			file := filepath.Join(directory, crdFile)
			content, err := os.ReadFile(file)
			testenv.NoError(t, err)
			crd := map[string]any{}
			testenv.NoError(t, yaml.Unmarshal(content, &crd))
			schema := at(at(crd, "spec")["versions"].([]any)[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
			test.change(crd, schema)
			content, err = yaml.Marshal(crd)
			testenv.NoError(t, err)
			testenv.NoError(t, os.WriteFile(file, content, 0o600))
			output, err := safety(t, directory)
			switch {
			case test.refusal == "" && (err != nil || !strings.Contains(output, "a safe upgrade from v0.2.0")):
				t.Errorf("it is refused: %v\n%s", err, output)
			case test.refusal != "" && (err == nil || !strings.Contains(output, test.refusal)):
				t.Errorf("it is not refused for %q: %v\n%s", test.refusal, err, output)
			}
		})
	}
}

func TestCRDSafety_AcceptsEveryMigrationStep(t *testing.T) {
	t.Parallel()
	directory := clone(t)
	file := filepath.Join(directory, crdFile)
	released, err := os.ReadFile(file)
	testenv.NoError(t, err)
	for i, versions := range [][]version{
		{{name: "v1alpha1", served: true, stored: true}, {name: "v1beta1", served: true}},
		{{name: "v1alpha1", served: true, deprecated: true}, {name: "v1beta1", served: true, stored: true}},
		{{name: "v1alpha1", deprecated: true}, {name: "v1beta1", served: true, stored: true}},
		{{name: "v1beta1", served: true, stored: true}},
	} {
		tag := []string{"v0.2.0", "v0.3.0", "v0.4.0", "v0.5.0"}[i]
		git(t, directory, "tag", tag)
		testenv.NoError(t, os.WriteFile(file, withVersions(t, released, versions), 0o600))
		if output, err := safety(t, directory); err != nil || !strings.Contains(output, "a safe upgrade from "+tag) {
			t.Errorf("the step after %s is refused: %v\n%s", tag, err, output)
		}
		git(t, directory, "commit", "--quiet", "--all", "--message=the next")
	}
}

func TestCRDSafety_SkipsWithoutRelease(t *testing.T) {
	t.Parallel()
	directory := clone(t)
	git(t, directory, "tag", "something-else")
	if output, err := safety(t, directory); err != nil || !strings.Contains(output, "there is no release (tag v*) yet") {
		t.Errorf("%v\n%s", err, output)
	}
	shallow := filepath.Join(t.TempDir(), "shallow")
	git(t, directory, "commit", "--quiet", "--allow-empty", "--message=more")
	git(t, directory, "clone", "--quiet", "--depth=1", "--no-tags", "file://"+directory, shallow)
	testenv.NoError(t, os.CopyFS(filepath.Join(shallow, "hack"), os.DirFS(filepath.Join(directory, "hack"))))
	if output, err := safety(t, shallow); err != nil || !strings.Contains(output, "this clone is shallow") {
		t.Errorf("%v\n%s", err, output)
	}
}
