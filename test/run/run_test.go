// SPDX-License-Identifier: Apache-2.0

// Package run tests scripts: `make run` on a local control plane, beside a Helm release and with privileged fields, and
// hack/crd-safety.sh.
package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/program"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	install = "helm4 install memcached-operator charts/memcached-operator --namespace memcached-operator-system --create-namespace"
	patched = `{patches: [{target: {kind: Service}, patch: "{metadata: {annotations: {example.com/team: web}}}"}]}`
)

// suite has the operator's program.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{NoControlPlane: true, Program: program.Main}))
}

// env holds the variables of the commands that use a local control plane.
type env []string

func newEnv(t *testing.T) env {
	t.Helper()
	root, dir, home := controlplane.Root(), filepath.Join(t.TempDir(), "cluster"), t.TempDir()
	e := env(append(os.Environ(), "CLUSTER_DIR="+dir, "KUBECONFIG="+dir+"/kubeconfig", "OPERATOR="+suite.Binary,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"PATH="+root+"/bin:"+root+"/bin/kube:"+os.Getenv("PATH")))
	e.succeeds(t, "cluster up --dir $CLUSTER_DIR")
	t.Cleanup(func() { e.succeeds(t, "cluster down --dir $CLUSTER_DIR") })
	return e
}

// command returns a shell in the root of the repository that runs commands.
func (e env) command(commands string) *exec.Cmd {
	command := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = controlplane.Root(), e
	return command
}

func (e env) succeeds(t *testing.T, commands string) {
	t.Helper()
	if output, err := e.command(commands).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, output)
	}
}

// fails runs commands that must fail with all of want in their output.
func (e env) fails(t *testing.T, commands string, want ...string) {
	t.Helper()
	output, err := e.command(commands).CombinedOutput()
	if err == nil {
		t.Fatalf("%s: want an error", commands)
	}
	for _, text := range want {
		if !strings.Contains(string(output), text) {
			t.Errorf("%s: the output lacks %q:\n%s", commands, text, output)
		}
	}
}

// isReady creates a Memcached and waits until it is ready.
func (e env) isReady(t *testing.T, name, spec string) {
	t.Helper()
	e.succeeds(t, "kubectl apply -f - <<< '{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: "+name+"}, spec: "+spec+"}'")
	e.succeeds(t, "kubectl wait --for=condition=Ready --timeout=2m memcached/"+name)
}

// process is a running `make run`.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	log     testenv.Log
}

// start starts hack/run.sh and waits until its operator has installed the CRD and is running.
func (e env) start(t *testing.T, variables ...string) *process {
	t.Helper()
	p := &process{command: e.command("exec hack/run.sh"), ended: make(chan struct{})}
	p.command.Env = append(p.command.Env, variables...)
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.NoError(t, p.command.Start())
	go func() { _ = p.command.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		p.stop(t, syscall.SIGTERM)
		if t.Failed() {
			t.Logf("make run prints:\n%s", p.log.String())
		}
	})
	testenv.Eventually(t, "the operator should start", func(context.Context) (bool, error) {
		select {
		case <-p.ended:
			return false, errors.New("make run ended")
		default:
			return strings.Contains(p.log.String(), "Starting workers"), nil
		}
	})
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
	case <-time.After(testenv.Timeout):
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
		t.Errorf("make run did not end after %s", signal)
	}
}

func TestRun_BesideHelm(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.start(t)
	e.isReady(t, "first", "{}")
	e.fails(t, install, "already runs", `"memcached-operator-local"`, "make run")
	p.stop(t, syscall.SIGINT)
	e.fails(t, "kubectl get clusterrolebinding/local-memcached-operator-manager-rolebinding", "NotFound")

	e.fails(t, install, "was not installed by Helm", "--take-ownership --set crds.takeOwnership=true", "crds.enabled=false")
	e.succeeds(t, install+" --take-ownership --set crds.takeOwnership=true")
	e.fails(t, "hack/run.sh", "Helm release memcached-operator", "scale deployment memcached-operator-controller-manager --replicas=0")
	e.succeeds(t, "kubectl --namespace memcached-operator-system scale deployment/memcached-operator-controller-manager --replicas=0")
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
