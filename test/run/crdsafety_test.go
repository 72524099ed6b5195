// SPDX-License-Identifier: Apache-2.0

package run

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

const crdFile = "config/crd/bases/cache.example.com_memcacheds.yaml"

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

// change sets a field of the CRD, by its path; "/" separates the parts, "spec/…" is the schema of a Memcached's spec.
func change(t *testing.T, crd map[string]any, path string, value any) {
	t.Helper()
	parts := strings.Split(path, "/")
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	var at any = map[string]any{"crd": crd, "version": version}
	if parts[0] == "spec" {
		schema, _, err := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema", "properties", "spec")
		testenv.NoError(t, err)
		at = map[string]any{"spec": schema}
	}
	for _, part := range parts[:len(parts)-1] {
		at = at.(map[string]any)[part]
	}
	if at, last := at.(map[string]any), parts[len(parts)-1]; value == nil {
		delete(at, last)
	} else {
		at[last] = value
	}
}

func TestCRDSafety_ComparesWithTheLastRelease(t *testing.T) {
	t.Parallel()
	zone := map[string]any{"type": "string"}
	for sentence, test := range map[string]struct {
		// path and value are of the change after the release; refusal is what the script says, nothing when it is content.
		path    string
		value   any
		refusal string
	}{
		"accepts no change":                               {"version/name", "v1alpha1", ""},
		"accepts a new optional field":                    {"spec/properties/zone", zone, ""},
		"accepts a looser bound":                          {"spec/properties/image/maxLength", 1024, ""},
		"accepts another description":                     {"spec/properties/size/description", "other", ""},
		"rejects a changed default":                       {"spec/properties/containerPort/default", 11212, "default value changed"},
		"rejects a new default":                           {"spec/properties/image/default", "memcached:1", "default added"},
		"rejects a tighter bound":                         {"spec/properties/containerPort/maximum", 60000, "maximum decreased"},
		"rejects an optional field that becomes required": {"spec/required", []any{"size"}, "new required fields"},
		"rejects a removed field":                         {"spec/properties/image", nil, "removed field"},
		"rejects a new validation rule":                   {"spec/properties/size/x-kubernetes-validations", []any{map[string]any{"rule": "self < 5"}}, "unhandled changes"},
		"rejects another scope":                           {"crd/spec/scope", "Cluster", "scope changed"},
		"rejects the removal of a served version":         {"version/name", "v1beta1", "no longer has version v1alpha1, which v0.2.0 serves"},
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
			change(t, crd, test.path, test.value)
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

// version is a version of a CRD.
type version struct {
	name                       string
	served, stored, deprecated bool
}

// withVersions gives a CRD the versions, each with the schema of its first one.
func withVersions(t *testing.T, content []byte, versions []version) []byte {
	t.Helper()
	crd := map[string]any{}
	testenv.NoError(t, yaml.Unmarshal(content, &crd))
	spec := crd["spec"].(map[string]any)
	first := spec["versions"].([]any)[0].(map[string]any)
	var all []any
	for _, v := range versions {
		one := maps.Clone(first)
		one["name"], one["served"], one["storage"] = v.name, v.served, v.stored
		if v.deprecated {
			one["deprecated"], one["deprecationWarning"] = true, "cache.example.com/"+v.name+" Memcached is deprecated"
		}
		all = append(all, one)
	}
	spec["versions"] = all
	content, err := yaml.Marshal(crd)
	testenv.NoError(t, err)
	return content
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
