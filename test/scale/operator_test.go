// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// settleTime is how long there must be neither requests nor reconciles for the operator to
	// count as settled, and settleInterval how often that is looked at. The operator gives
	// memory back 10 s after its last work.
	settleTime     = 12 * time.Second
	settleInterval = 500 * time.Millisecond
)

// operator is the operator's program, running.
type operator struct {
	*testenv.Process
	env     *env
	started time.Time
	// metrics is the address that it serves metrics on.
	metrics string
	// profile is the name, less its end, of the profiles that -profiles makes it write.
	profile string
}

// start starts the operator for all namespaces, with leader election and arguments. It ends with the test,
// at the latest.
func (e *env) start(t *testing.T, arguments ...string) *operator {
	t.Helper()
	o := &operator{env: e, metrics: testenv.FreeAddress(t), profile: filepath.Join(t.TempDir(), "profile")}
	e.proxy.forgetLease()
	o.started = time.Now()
	// No memory limit of the environment is meant.
	o.Process = testenv.StartBinaryEnv(t, suite.Binary, []string{"CONTAINER_MEMORY_LIMIT=", "GOMEMLIMIT=", "GOGC=", "SCALE_PROFILE=" + o.profile}, append(arguments,
		"--kubeconfig="+testenv.Kubeconfig(t, e.operator, ""),
		"--leader-elect", "--leader-elect-namespace="+controlplane.OperatorNamespace,
		"--max-concurrent-reconciles="+strconv.Itoa(writers),
		"--health-probe-bind-address=127.0.0.1:0",
		"--metrics-bind-address="+o.metrics, "--metrics-secure=false")...)
	return o
}

// stop ends the operator as the kubelet does.
func (o *operator) stop(t *testing.T) {
	t.Helper()
	status := o.Terminate(t)
	if *profilesFlag != "" {
		testenv.NoError(t, os.WriteFile(filepath.Join(*profilesFlag, strconv.Itoa(o.PID())+".log"), []byte(o.Log.String()), 0o600))
	}
	if status != 0 {
		t.Fatalf("the operator exits with %d", status)
	}
}

// ready waits until the operator is ready and returns how long that took from its start.
func (o *operator) ready(t *testing.T) time.Duration {
	t.Helper()
	o.Ready(t)
	return time.Since(o.started)
}

// metric returns the sum of the operator's metrics whose line begins with prefix.
func (o *operator) metric(t *testing.T, prefix string) float64 {
	t.Helper()
	_, body := testenv.HTTPGet(t, http.DefaultClient, "http://"+o.metrics+"/metrics", "")
	return testenv.Metric(t, body, prefix)
}

// reconciles returns how often the operator has reconciled a Memcached.
func (o *operator) reconciles(t *testing.T) int {
	t.Helper()
	return int(o.metric(t, `controller_runtime_reconcile_total{controller="memcached"`))
}

// settle waits until the operator has reconciled at least that many times, and then until it
// has neither reconciled nor sent a request other than for its lease for settleTime, or for -idle if that is shorter.
func (o *operator) settle(t *testing.T, atLeast int) {
	t.Helper()
	o.settleFor(t, atLeast, min(settleTime, *idleFlag))
}

func (o *operator) settleFor(t *testing.T, atLeast int, quiet time.Duration) {
	t.Helper()
	timeout := 10*time.Minute + time.Duration(atLeast)*200*time.Millisecond
	last, since := 0, time.Now()
	testenv.Within(t, timeout, fmt.Sprintf("the operator should settle after %d reconciles", atLeast), func() bool {
		if answered := o.env.proxy.lastAnswer(); answered.After(since) {
			since = answered
		}
		if time.Since(since) < quiet {
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
	directory := fmt.Sprintf("/proc/%d/", o.PID())
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
	used.cpu = testenv.ProcessorTime(t, o.PID())
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
