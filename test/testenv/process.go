// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Process is an operator that runs as a process of its own.
type Process struct {
	Stdout bytes.Buffer
	Log    Log
	// Ended is closed once the process has ended.
	Ended   chan struct{}
	command *exec.Cmd
}

// StartBinary starts the operator's binary with args, in an environment that names no cluster.
// It is killed when the test ends, unless it has ended before.
func StartBinary(t *testing.T, binary string, args ...string) *Process {
	t.Helper()
	return StartBinaryEnv(t, binary, nil, args...)
}

// StartBinaryEnv is StartBinary with variables of the environment, each as NAME=value.
func StartBinaryEnv(t *testing.T, binary string, variables []string, args ...string) *Process {
	t.Helper()
	p := &Process{command: exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...), Ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), "KUBECONFIG=", "HOME="+t.TempDir(), "KUBERNETES_SERVICE_HOST=", "WATCH_NAMESPACE=",
		"RELATED_IMAGE_MEMCACHED=", "RELATED_IMAGE_MEMCACHED_EXPORTER=", "RELATED_IMAGE_MEMCACHED_RELOADER=", "RELATED_IMAGE_EXPORTER=", "ALLOW_PRIVILEGED_FIELDS=", "OPERAND_IMAGES=")
	p.command.Env = append(p.command.Env, variables...)
	p.command.Stdout, p.command.Stderr = &p.Stdout, &p.Log
	NoError(t, p.command.Start())
	go func() {
		// The process's state says the same.
		_ = p.command.Wait()
		close(p.Ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the operator's log:\n%s", p.Log.String())
		}
	})
	return p
}

// Signal sends signal to the process, which may have ended.
func (p *Process) Signal(signal os.Signal) error {
	return p.command.Process.Signal(signal)
}

// PID returns the ID of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// ProcessorTime returns the CPU time that a process has used, as Linux counts it, in hundredths of a second.
func ProcessorTime(t testing.TB, pid int) (sum time.Duration) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	NoError(t, err)
	// The fields behind the program's name, which is in brackets; proc(5) counts from 1.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range []string{fields[14-3], fields[15-3]} { // utime, stime
		ticks, err := strconv.Atoi(field)
		NoError(t, err)
		sum += time.Duration(ticks) * time.Second / 100
	}
	return sum
}

// Kill ends the process by SIGKILL and waits until it has ended.
func (p *Process) Kill() {
	// It fails when the process has ended.
	_ = p.command.Process.Kill()
	<-p.Ended
}

// HasEnded reports whether the process has ended.
func (p *Process) HasEnded() bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

// End waits until the operator has ended and returns its exit status. At its start the operator waits up to a minute for an
// API server.
func (p *Process) End(t *testing.T) int {
	t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(Timeout + time.Minute):
		t.Fatal("the operator did not end")
	}
	return p.command.ProcessState.ExitCode()
}

// Terminate ends the operator as the kubelet does and returns its exit status.
func (p *Process) Terminate(t *testing.T) int {
	t.Helper()
	NoError(t, p.Signal(syscall.SIGTERM))
	return p.End(t)
}

// Ready waits until the operator is ready and returns the address of its probes.
func (p *Process) Ready(t *testing.T) string {
	t.Helper()
	var address string
	Eventually(t, "the operator should be ready", func(context.Context) (bool, error) {
		if p.HasEnded() {
			return false, fmt.Errorf("the operator ended")
		}
		if address == "" {
			address = p.probeAddress()
		}
		if address == "" {
			return false, nil
		}
		status, _ := HTTPGet(t, http.DefaultClient, "http://"+address+"/readyz", "")
		return status == http.StatusOK, nil
	})
	return address
}

// probeAddress returns the address of the probes, which the log tells, or the empty string.
func (p *Process) probeAddress() string {
	for _, e := range p.Log.Entries() {
		if e.Name == "health probe" {
			return e.Addr
		}
	}
	return ""
}

// HTTPGet requests url, with a bearer token unless it is empty. It returns status 0 when there
// is no answer.
func HTTPGet(t testing.TB, client *http.Client, url, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(content)
}

// Metric returns the sum of the samples, in the text of a metrics endpoint, whose line begins with prefix.
func Metric(t testing.TB, metrics, prefix string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 64)
		NoError(t, err)
		sum += value
	}
	return sum
}

// addresses counts those that FreeAddress has returned.
var addresses atomic.Uint32

// FreeAddress returns a TCP address on loopback that is not in use and that no other test gets: its host, of 127.0.0.0/8,
// is that of this process and this call. A port that was free a moment ago could be in use when the operator listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	n, process := addresses.Add(1), os.Getpid()
	if n > 255 {
		t.Fatal("this process has no more addresses")
	}
	return fmt.Sprintf("127.%d.%d.%d:8080", 1+process>>8%254, process%256, n)
}
