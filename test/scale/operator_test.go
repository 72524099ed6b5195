// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// readyTimeout is how long the operator may take to be ready.
	readyTimeout = 2 * time.Minute
	// stopTimeout is how long it may take to end; a pod has 10 s.
	stopTimeout = 10 * time.Second
	// settleTime is how long there must be neither requests nor reconciles for the operator to
	// count as settled, and settleInterval how often that is looked at. The operator gives
	// memory back 10 s after its last work.
	settleTime     = 12 * time.Second
	settleInterval = 500 * time.Millisecond
	// clockTicks is in how many parts of a second Linux gives the CPU time of a process.
	clockTicks = 100
)

// operator is the operator's program, running.
type operator struct {
	env     *env
	command *exec.Cmd
	started time.Time
	// probes and metrics are the addresses that it serves these on.
	probes, metrics string
	// output is the file with its standard error.
	output string
	// profile is the name, less its end, of the profiles that -profiles makes it write.
	profile string
	ended   chan struct{}
}

// start starts the operator for all namespaces, with leader election. It ends with the test,
// at the latest.
func (e *env) start(t *testing.T) *operator {
	t.Helper()
	o := &operator{env: e, probes: testenv.FreeAddress(t), metrics: testenv.FreeAddress(t), ended: make(chan struct{})}
	dir := t.TempDir()
	o.output, o.profile = filepath.Join(dir, "output"), filepath.Join(dir, "profile")
	output, err := os.Create(o.output)
	testenv.NoError(t, err)
	defer output.Close()
	o.command = exec.CommandContext(context.WithoutCancel(t.Context()), suite.Binary,
		"--kubeconfig="+testenv.Kubeconfig(t, e.operator, ""),
		"--leader-elect", "--leader-elect-namespace="+controlplane.OperatorNamespace,
		"--max-concurrent-reconciles="+strconv.Itoa(writers),
		"--health-probe-bind-address="+o.probes,
		"--metrics-bind-address="+o.metrics, "--metrics-secure=false")
	// Neither a cluster nor a memory limit of the environment is meant.
	o.command.Env = append(os.Environ(), "KUBECONFIG=", "HOME="+dir, "KUBERNETES_SERVICE_HOST=", "WATCH_NAMESPACE=",
		"CONTAINER_MEMORY_LIMIT=", "GOMEMLIMIT=", "GOGC=", "SCALE_PROFILE="+o.profile)
	o.command.Stdout, o.command.Stderr = output, output
	e.proxy.forgetLease()
	o.started = time.Now()
	testenv.NoError(t, o.command.Start())
	go func() {
		_ = o.command.Wait() // the process's state says the same
		close(o.ended)
	}()
	t.Cleanup(func() {
		_ = o.command.Process.Kill() // it fails when the process has ended
		<-o.ended
		if t.Failed() {
			t.Logf("the end of the operator's log:\n%s", o.tail())
		}
	})
	return o
}

// tail returns the last lines of the operator's output.
func (o *operator) tail() string {
	content, err := os.ReadFile(o.output)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-4096):])
}

// stop ends the operator as the kubelet does.
func (o *operator) stop(t *testing.T) {
	t.Helper()
	testenv.NoError(t, o.command.Process.Signal(syscall.SIGTERM))
	select {
	case <-o.ended:
	case <-time.After(stopTimeout):
		t.Fatalf("the operator did not end within %s", stopTimeout)
	}
	if *profilesFlag != "" {
		content, err := os.ReadFile(o.output)
		testenv.NoError(t, err)
		testenv.NoError(t, os.WriteFile(filepath.Join(*profilesFlag, strconv.Itoa(o.command.Process.Pid)+".log"), content, 0o600))
	}
	if status := o.command.ProcessState.ExitCode(); status != 0 {
		t.Fatalf("the operator exits with %d:\n%s", status, o.tail())
	}
}

// ready waits until the operator is ready and returns how long that took from its start.
func (o *operator) ready(t *testing.T) time.Duration {
	t.Helper()
	testenv.Within(t, readyTimeout, "the operator should be ready", func() bool {
		select {
		case <-o.ended:
			t.Fatal("the operator ended")
		default:
		}
		status, _ := get(t, "http://"+o.probes+"/readyz")
		return status == http.StatusOK
	})
	return time.Since(o.started)
}

// get asks for url. Status 0 is no answer.
func get(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	testenv.NoError(t, err)
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, body
}

// metric returns the sum of the operator's metrics whose line begins with prefix.
func (o *operator) metric(t *testing.T, prefix string) float64 {
	t.Helper()
	_, body := get(t, "http://"+o.metrics+"/metrics")
	var total float64
	for line := range strings.Lines(string(body)) {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		line = strings.TrimSpace(line)
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		testenv.NoError(t, err)
		total += value
	}
	return total
}

// reconciles returns how often the operator has reconciled a Memcached.
func (o *operator) reconciles(t *testing.T) int {
	t.Helper()
	return int(o.metric(t, `controller_runtime_reconcile_total{controller="memcached"`))
}

// settle waits until the operator has reconciled at least that many times, and then until it
// has neither reconciled nor sent a request other than for its lease for settleTime.
func (o *operator) settle(t *testing.T, atLeast int) {
	t.Helper()
	timeout := 10*time.Minute + time.Duration(atLeast)*200*time.Millisecond
	last, since := 0, time.Now()
	testenv.Within(t, timeout, fmt.Sprintf("the operator should settle after %d reconciles", atLeast), func() bool {
		if answered := o.env.proxy.lastAnswer(); answered.After(since) {
			since = answered
		}
		if time.Since(since) < settleTime {
			return false // Reading the metrics costs the operator CPU time.
		}
		reconciles := o.reconciles(t)
		if reconciles != last {
			last, since = reconciles, time.Now()
			return false
		}
		return reconciles >= atLeast
	})
}

// usage is what a process uses.
type usage struct {
	// rss and maxRSS are its resident memory in bytes, now and at most. anonymous is the part
	// of rss that is not the program's file, which the kernel can drop and read again.
	rss, maxRSS, anonymous int64
	cpu                    time.Duration
}

// usage returns what the operator uses.
func (o *operator) usage(t *testing.T) usage {
	t.Helper()
	directory := fmt.Sprintf("/proc/%d/", o.command.Process.Pid)
	status, err := os.ReadFile(directory + "status")
	testenv.NoError(t, err)
	var used usage
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "VmRSS":
			used.rss = kibibytes(t, value)
		case "RssAnon":
			used.anonymous = kibibytes(t, value)
		case "VmHWM":
			used.maxRSS = kibibytes(t, value)
		}
	}
	stat, err := os.ReadFile(directory + "stat")
	testenv.NoError(t, err)
	// The fields behind the program's name, which is in brackets; proc(5) counts from 1.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range []string{fields[14-3], fields[15-3]} { // utime, stime
		ticks, err := strconv.ParseInt(field, 10, 64)
		testenv.NoError(t, err)
		used.cpu += time.Duration(ticks) * time.Second / clockTicks
	}
	for _, part := range []string{"heap_alloc", "heap_inuse", "heap_idle", "heap_released", "stack_inuse"} {
		t.Logf("%s: %.1f MiB", part, o.metric(t, "go_memstats_"+part+"_bytes ")/(1<<20))
	}
	return used
}

// kibibytes returns the bytes that a value such as "1024 kB" means.
func kibibytes(t *testing.T, value string) int64 {
	t.Helper()
	number, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	testenv.NoError(t, err)
	return number << 10
}
