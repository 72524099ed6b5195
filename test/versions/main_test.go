// SPDX-License-Identifier: Apache-2.0

// Package versions proves docs/crd-versions.md: it runs the commands of that page, in
// its order, on a control plane of its own with the operator at work. It tests
// hack/crd-safety.sh too.
package versions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
)

// crdFile is where the page says that the CustomResourceDefinition is.
const crdFile = "config/crd/bases/cache.example.com_memcacheds.yaml"

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// reader is somebody who follows the page on a cluster.
type reader struct {
	*controlplane.ControlPlane
	// directory is the reader's copy of the repository: the CRD of a release.
	directory string
	// operator is the operator's own identity.
	operator string
	// steps are the commands of the page, by the number that the heading begins with.
	steps map[string][]string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	plane, err := controlplane.Start()
	fatal(t, err)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	operator, err := plane.OperatorConfig(t.Context())
	fatal(t, err)
	page, err := os.ReadFile(filepath.Join(controlplane.Root(), "docs", "crd-versions.md"))
	fatal(t, err)
	return &reader{ControlPlane: plane, directory: t.TempDir(), operator: kubeconfig(t, operator), steps: commands(string(page))}
}

// commands are the blocks of shell commands of a page, by what precedes the first full
// stop of their heading.
func commands(page string) map[string][]string {
	blocks := map[string][]string{}
	heading, block, inside := "", "", false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "```sh"):
			inside = true
		case strings.HasPrefix(line, "```") && inside:
			blocks[heading] = append(blocks[heading], block)
			block, inside = "", false
		case inside:
			block += line
		case strings.HasPrefix(line, "## "):
			heading, _, _ = strings.Cut(strings.TrimPrefix(line, "## "), ".")
		}
	}
	return blocks
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
	fatal(t, err)
	content = withVersions(t, content, versions)
	file := filepath.Join(r.directory, crdFile)
	fatal(t, os.MkdirAll(filepath.Dir(file), 0o700))
	fatal(t, os.WriteFile(file, content, 0o600))
}

// withVersions gives a CRD the versions, each with the schema of its first one.
func withVersions(t *testing.T, content []byte, versions []version) []byte {
	t.Helper()
	crd := map[string]any{}
	fatal(t, yaml.Unmarshal(content, &crd))
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
	fatal(t, err)
	return content
}

// build builds the operator as it is when it speaks version: from the same source, with
// the version replaced where the API and the templates name it.
func build(t *testing.T, version string) string {
	t.Helper()
	root, directory := controlplane.Root(), t.TempDir()
	replaced := map[string]string{}
	for _, tree := range []string{"apis", "manifests"} {
		fatal(t, filepath.WalkDir(filepath.Join(root, tree), func(name string, entry os.DirEntry, err error) error {
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
	fatal(t, err)
	file, program := filepath.Join(directory, "overlay.json"), filepath.Join(directory, "memcached-operator")
	fatal(t, os.WriteFile(file, overlay, 0o600))
	command := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "-o", program, ".")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building the operator: %v\n%s", err, output)
	}
	return program
}

// start starts an operator, waits until it is at work, and returns what stops it.
func (r *reader) start(t *testing.T, program string) (stop func()) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	fatal(t, err)
	logged := func() string {
		content, err := os.ReadFile(file.Name())
		fatal(t, err)
		return string(content)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--metrics-bind-address=0", "--health-probe-bind-address=0", "--allow-privileged-fields")
	command.Env = append(os.Environ(), "KUBECONFIG="+r.operator)
	command.Stderr = file
	fatal(t, command.Start())
	stop = sync.OnceFunc(func() {
		if err := errors.Join(command.Process.Signal(syscall.SIGTERM), command.Wait(), file.Close()); err != nil {
			t.Errorf("the operator ended with: %v\n%s", err, logged())
		}
		for line := range strings.Lines(logged()) {
			// What is under way when it is stopped fails so.
			if strings.Contains(line, `"level":"error"`) && !strings.Contains(line, "context canceled") {
				t.Errorf("the operator logged: %s", line)
			}
		}
	})
	t.Cleanup(stop)
	eventually(t, "the operator should start", func() bool { return strings.Contains(logged(), "Starting workers") })
	return stop
}

// kubeconfig writes cfg, which has a token, to a file.
func kubeconfig(t *testing.T, cfg *rest.Config) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	name := filepath.Join(t.TempDir(), "kubeconfig")
	fatal(t, clientcmd.WriteToFile(*config, name))
	return name
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually asks until holds says so, for two minutes at most: the garbage collector learns of
// a new version within half a minute.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
