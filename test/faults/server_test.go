// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// component is a program of the control plane that runs.
type component struct {
	pid  int
	name string
	args []string
}

// findComponent finds the program of that name among the children of the control plane.
func findComponent(t *testing.T, name string) *component {
	t.Helper()
	parents := []string{strconv.Itoa(suite.PID()), strconv.Itoa(os.Getpid())}
	directories, err := filepath.Glob("/proc/[0-9]*")
	testenv.NoError(t, err)
	for _, directory := range directories {
		stat, err := os.ReadFile(filepath.Join(directory, "stat"))
		if err != nil {
			continue // It has ended.
		}
		// The second field is a name in parentheses, the fourth the parent.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || !slices.Contains(parents, fields[1]) || fields[0] == "Z" {
			continue
		}
		line, err := os.ReadFile(filepath.Join(directory, "cmdline"))
		args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if err != nil || filepath.Base(args[0]) != name {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(directory))
		testenv.NoError(t, err)
		return &component{pid, name, args}
	}
	t.Fatalf("the control plane has no %s", name)
	return nil
}

// restart kills the program and starts it again, with the same arguments and the same output:
// the control plane ends when the output does. Like all its programs, it ends with its parent.
func (p *component) restart(t *testing.T) {
	t.Helper()
	output, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", p.pid), os.O_WRONLY, 0)
	testenv.NoError(t, err)
	defer output.Close()
	testenv.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
	eventually(t, p.name+" should end", func(context.Context) (bool, error) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
		if err != nil {
			return true, nil //nolint:nilerr // it has ended
		}
		// Its ports are free once its other threads have ended too.
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
		return strings.Contains(string(stat), ") Z ") && len(threads) <= 1, nil
	})
	command := exec.CommandContext(context.WithoutCancel(t.Context()), p.args[0], p.args[1:]...)
	command.Env = append(os.Environ(), "CLUSTER_PARENT_PID="+strconv.Itoa(os.Getpid()))
	command.Stdout, command.Stderr = output, output
	testenv.NoError(t, command.Start())
	go func() {
		_ = command.Wait() // Its end shows in the tests that follow.
	}()
}

func TestServer_RestartsAndHangs(t *testing.T) {
	figure := measure(t, "API server and etcd killed, API server stopped: a change arrives within 5 s of the return")
	o := startOperator(t)
	mc := newMemcached(t, suite.NewNamespace(t), specOf(1))
	settled(t, mc)
	edits, rounds := 1, form(5, 1)
	var longest time.Duration
	perturb := func(name string, f func()) {
		t.Run(name, func(t *testing.T) {
			// A new process, since the informers of client-go back off for up to a minute after several
			// restarts within two minutes.
			o.process.Kill()
			o.restart()
			o.process.Ready(t)
			o.quiet(t, mc.Namespace, calmFor)
			f()
			edits++
			took := changeArrives(t, mc, edits)
			longest = max(longest, took)
			if o.process.HasEnded() {
				t.Fatal("the operator exited")
			}
			equalsFresh(t, o, mc)
		})
	}
	for range rounds {
		perturb("kube-apiserver", func() { findComponent(t, "kube-apiserver").restart(t) })
		perturb("etcd", func() { findComponent(t, "etcd").restart(t) })
	}
	figure.set("%d restarts each: at most %.2f s", rounds, longest.Seconds())
	if testing.Short() {
		return
	}
	perturb("stopped", func() {
		server := findComponent(t, "kube-apiserver")
		testenv.NoError(t, syscall.Kill(server.pid, syscall.SIGSTOP))
		defer func() { testenv.NoError(t, syscall.Kill(server.pid, syscall.SIGCONT)) }()
		last(t, time.Minute)
	})
	figure.set("%d restarts each, 1 stop: at most %.2f s", rounds, longest.Seconds())
}

// changeArrives edits mc as soon as the API server takes it, and returns how long the
// Deployment took to follow.
func changeArrives(t *testing.T, mc *cachev1alpha1.Memcached, edits int) time.Duration {
	t.Helper()
	eventually(t, "the API server should take an edit", func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc) != nil {
			return false, nil
		}
		mc.Spec = specOf(edits)
		return suite.Client.Update(ctx, mc) == nil, nil
	})
	start := time.Now()
	deploymentShows(t, mc, edits)
	took := time.Since(start)
	withinGoal(t, "the change arrived", took, returnLimit)
	return took
}
