// SPDX-License-Identifier: Apache-2.0

// Package run tests `make run` on a local control plane: beside a Helm release, and with
// privileged fields.
package run

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	memcached  = `{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: NAME}, spec: SPEC}`
	patched    = `{patches: [{target: {kind: Service}, patch: "{metadata: {annotations: {example.com/team: web}}}"}]}`
	binding    = "clusterrolebinding/local-memcached-operator-manager-rolebinding"
	deployment = "deployment/memcached-operator-controller-manager"
	timeout    = 2 * time.Minute
)

// env is a local control plane and the environment of the commands that use it.
type env struct {
	root string
	vars []string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir, home, operator := filepath.Join(t.TempDir(), "cluster"), t.TempDir(), filepath.Join(t.TempDir(), "memcached-operator")
	e := &env{root, append(os.Environ(), "CLUSTER_DIR="+dir, "KUBECONFIG="+dir+"/kubeconfig", "OPERATOR="+operator,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"PATH="+root+"/bin:"+root+"/bin/kube:"+os.Getenv("PATH"))}
	e.succeeds(t, "", "go", "build", "-o", operator, ".")
	e.succeeds(t, "", "bin/cluster", "up", "--dir", dir)
	t.Cleanup(func() {
		if output, err := e.command("bin/cluster", "down", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("cluster down: %v\n%s", err, output)
		}
	})
	return e
}

// command returns a command whose program is looked up in the repository and its bin.
func (e *env) command(name string, args ...string) *exec.Cmd {
	for _, dir := range []string{"", "bin", "bin/kube"} {
		if path := filepath.Join(e.root, dir, name); strings.Contains(name, "/") == (dir == "") && exists(path) {
			name = path
			break
		}
	}
	command := exec.Command(name, args...)
	command.Dir, command.Env = e.root, e.vars
	return command
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (e *env) succeeds(t *testing.T, input, name string, args ...string) {
	t.Helper()
	command := e.command(name, args...)
	command.Stdin = strings.NewReader(input)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
}

// fails runs a command that must fail with all of want in its output.
func (e *env) fails(t *testing.T, want []string, name string, args ...string) {
	t.Helper()
	output, err := e.command(name, args...).CombinedOutput()
	if err == nil {
		t.Fatalf("%s %s: want an error", name, strings.Join(args, " "))
	}
	for _, text := range want {
		if !strings.Contains(string(output), text) {
			t.Errorf("%s %s: the output lacks %q:\n%s", name, strings.Join(args, " "), text, output)
		}
	}
}

// isReady creates a Memcached and waits until it is ready.
func (e *env) isReady(t *testing.T, name, spec string) {
	t.Helper()
	e.succeeds(t, strings.NewReplacer("NAME", name, "SPEC", spec).Replace(memcached), "kubectl", "apply", "-f", "-")
	e.succeeds(t, "", "kubectl", "wait", "--for=condition=Ready", "--timeout=2m", "memcached/"+name)
}

// process is a running `make run`.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	mutex   sync.Mutex
	log     bytes.Buffer
}

func (p *process) Write(data []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.log.Write(data)
}

func (p *process) logged() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.log.String()
}

// start starts hack/run.sh and waits until its operator has installed the CRD and is running.
func (e *env) start(t *testing.T, variables ...string) *process {
	t.Helper()
	p := &process{command: e.command("hack/run.sh"), ended: make(chan struct{})}
	p.command.Env = append(p.command.Env, variables...)
	p.command.Stdout, p.command.Stderr = p, p
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.command.Wait(); close(p.ended) }()
	t.Cleanup(func() { p.stop(t, syscall.SIGTERM) })
	for deadline := time.Now().Add(timeout); !strings.Contains(p.logged(), "Starting workers"); time.Sleep(50 * time.Millisecond) {
		select {
		case <-p.ended:
			t.Fatalf("make run ended:\n%s", p.logged())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the operator did not start:\n%s", p.logged())
		}
	}
	return p
}

// stop sends a signal to the process group, as a terminal does, and waits for its end.
func (p *process) stop(t *testing.T, signal syscall.Signal) {
	t.Helper()
	select {
	case <-p.ended:
		return
	default:
	}
	_ = syscall.Kill(-p.command.Process.Pid, signal) // fails only if the process has ended
	select {
	case <-p.ended:
	case <-time.After(timeout):
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
		t.Errorf("make run did not end after %s:\n%s", signal, p.logged())
	}
}

func TestRun_BesideHelm(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	install := []string{"install", "memcached-operator", "charts/memcached-operator", "--namespace", "memcached-operator-system", "--create-namespace"}

	p := e.start(t)
	e.isReady(t, "first", "{}")
	e.fails(t, []string{"already runs", `"memcached-operator-local"`, "make run"}, "helm4", install...)
	p.stop(t, syscall.SIGINT)
	e.fails(t, []string{"NotFound"}, "kubectl", "get", binding)

	e.fails(t, []string{"was not installed by Helm", "--take-ownership --set crds.takeOwnership=true", "crds.enabled=false"}, "helm4", install...)
	e.succeeds(t, "", "helm4", append(install, "--take-ownership", "--set", "crds.takeOwnership=true")...)
	e.fails(t, []string{"Helm release memcached-operator", "scale deployment memcached-operator-controller-manager --replicas=0"}, "hack/run.sh")
	e.succeeds(t, "", "kubectl", "--namespace", "memcached-operator-system", "scale", deployment, "--replicas=0")
	p = e.start(t)
	e.isReady(t, "second", "{}")
	p.stop(t, syscall.SIGTERM)
}

func TestRun_Privileged(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.start(t, "PRIVILEGED=1")
	e.isReady(t, "patched", patched)
}
