// SPDX-License-Identifier: Apache-2.0

// Package versions proves docs/crd-versions.md: it runs the commands of that page, in
// its order, on a control plane of its own with the operator running. It tests
// hack/crd-safety.sh too.
package versions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

// crdFile is where the page says that the CustomResourceDefinition is.
const crdFile = "config/crd/bases/cache.example.com_memcacheds.yaml"

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// reader follows the page on a cluster.
type reader struct {
	*testenv.Env
	// directory is the reader's copy of the repository: the CRD of a release.
	directory string
	// operator is the operator's own identity.
	operator string
	// canaries is how many kinds collectorLooks has created.
	canaries int
	// steps are the commands of the page, by the number that the heading begins with.
	steps map[string][]string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	env := testenv.New(t, testenv.Setup{Identity: true})
	steps := map[string][]string{}
	for _, b := range pages.Shell(t, "docs/crd-versions.md") {
		step, _, _ := strings.Cut(b.Section, ".")
		steps[step] = append(steps[step], b.Content)
	}
	return &reader{Env: env, directory: t.TempDir(), operator: testenv.Kubeconfig(t, env.Operator, ""), steps: steps}
}

// does runs the block of a step, counted from 0, and returns what it prints.
func (r *reader) does(t *testing.T, step string, block int) string {
	t.Helper()
	if len(r.steps[step]) <= block {
		t.Fatalf("docs/crd-versions.md has %d blocks of commands in step %s", len(r.steps[step]), step)
	}
	var output, warnings bytes.Buffer
	command := r.command(t, r.steps[step][block])
	command.Stdout, command.Stderr = &output, &warnings
	if err := command.Run(); err != nil {
		t.Fatalf("step %s: %v\n%s\n%s%s", step, err, r.steps[step][block], &output, &warnings)
	}
	return output.String()
}

// command is commands as the reader runs them, in bash.
func (r *reader) command(t *testing.T, commands string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = r.directory
	command.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig, "KUBECACHEDIR="+t.TempDir(),
		"PATH="+filepath.Join(controlplane.Root(), "bin", "kube")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return command
}

// tries runs commands and returns all that they print.
func (r *reader) tries(t *testing.T, commands string) (string, error) {
	t.Helper()
	output, err := r.command(t, commands).CombinedOutput()
	return string(output), err
}

// runs is tries for commands that have to work.
func (r *reader) runs(t *testing.T, commands string) string {
	t.Helper()
	output, err := r.tries(t, commands)
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, output)
	}
	return output
}

// version is a version of a release's CustomResourceDefinition.
type version struct {
	name                       string
	served, stored, deprecated bool
}

// releases puts the CRD of a release into the reader's copy of the repository: ours, with these
// versions of it.
func (r *reader) releases(t *testing.T, versions ...version) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), crdFile))
	testenv.NoError(t, err)
	content = withVersions(t, content, versions)
	file := filepath.Join(r.directory, crdFile)
	testenv.WriteFile(t, file, string(content))
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

// build builds the operator as it is when it speaks version: from the same source, with
// the version replaced where the API and the templates name it.
func build(t *testing.T, version string) string {
	t.Helper()
	root, directory := controlplane.Root(), t.TempDir()
	replaced := map[string]string{}
	for _, tree := range []string{"apis", "manifests"} {
		testenv.NoError(t, filepath.WalkDir(filepath.Join(root, tree), func(name string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			changed := strings.NewReplacer("cache.example.com/v1alpha1", "cache.example.com/"+version,
				`Version: "v1alpha1"`, `Version: "`+version+`"`).Replace(string(content))
			if changed == string(content) {
				return nil
			}
			replaced[name] = filepath.Join(directory, fmt.Sprint(len(replaced), "-", entry.Name()))
			return os.WriteFile(replaced[name], []byte(changed), 0o600)
		}))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	testenv.NoError(t, err)
	file, program := filepath.Join(directory, "overlay.json"), filepath.Join(directory, "memcached-operator")
	testenv.NoError(t, os.WriteFile(file, overlay, 0o600))
	testenv.NoError(t, testenv.GoBuild(t.Context(), program, "-overlay", file))
	return program
}

// start starts an operator, waits until it reconciles, and returns what stops it.
func (r *reader) start(t *testing.T, program string) (stop func()) {
	t.Helper()
	p := testenv.StartBinary(t, program, "--kubeconfig="+r.operator, "--metrics-bind-address=0", "--health-probe-bind-address=0", "--allow-privileged-fields")
	stop = sync.OnceFunc(func() {
		if status := p.Terminate(t); status != 0 {
			t.Errorf("the operator exits with %d:\n%s", status, p.Log.String())
		}
		if errors := p.Log.Errors(); len(errors) > 0 {
			t.Errorf("the operator logged %q in\n%s", errors, p.Log.String())
		}
	})
	t.Cleanup(stop)
	testenv.Eventually(t, "the operator should start", func() bool { return strings.Contains(p.Log.String(), "Starting workers") })
	return stop
}
