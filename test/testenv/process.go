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
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/test/controlplane"
)

const (
	// exitTimeout is how long the operator may take to exit.
	exitTimeout = 90 * time.Second
	// readyTimeout is how long it may take to become ready.
	readyTimeout = time.Minute
	pollInterval = 20 * time.Millisecond
)

// Build builds the operator to the file program.
func Build(ctx context.Context, program string) error {
	command := exec.CommandContext(ctx, "go", "build", "-ldflags=-X main.version=1.2.3", "-o", program, ".")
	command.Dir = controlplane.Root()
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the operator: %w\n%s", err, output)
	}
	return nil
}

// Process is an operator that runs.
type Process struct {
	Stdout bytes.Buffer
	Log    Log
	// Ended is closed once the process has ended.
	Ended   chan struct{}
	command *exec.Cmd
}

// Start starts program with args, and an environment without a cluster in it. It ends with
// the test, at the latest.
func Start(t *testing.T, program string, args ...string) *Process {
	t.Helper()
	p := &Process{command: exec.CommandContext(context.WithoutCancel(t.Context()), program, args...), Ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), "KUBECONFIG=", "HOME="+t.TempDir(), "KUBERNETES_SERVICE_HOST=", "WATCH_NAMESPACE=",
		"RELATED_IMAGE_MEMCACHED=", "RELATED_IMAGE_MEMCACHED_EXPORTER=", "RELATED_IMAGE_MEMCACHED_RELOADER=", "ALLOW_PRIVILEGED_FIELDS=", "OPERAND_IMAGES=")
	p.command.Stdout, p.command.Stderr = &p.Stdout, &p.Log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
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

// Kill ends the process by SIGKILL and waits for that.
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

// End waits for the operator's end and returns its exit status.
func (p *Process) End(t *testing.T) int {
	t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(exitTimeout):
		t.Fatalf("the operator did not end within %s", exitTimeout)
	}
	return p.command.ProcessState.ExitCode()
}

// Terminate ends the operator as the kubelet does and returns its exit status.
func (p *Process) Terminate(t *testing.T) int {
	t.Helper()
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return p.End(t)
}

// Ready waits until the operator is ready and returns the address of its probes.
func (p *Process) Ready(t *testing.T) string {
	t.Helper()
	var address string
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, readyTimeout, true, func(context.Context) (bool, error) {
		if p.HasEnded() {
			return false, fmt.Errorf("the operator ended")
		}
		if address == "" {
			address = p.probeAddress()
		}
		if address == "" {
			return false, nil
		}
		status, _ := Get(t, http.DefaultClient, "http://"+address+"/readyz", "")
		return status == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("the operator should be ready: %v", err)
	}
	return address
}

// probeAddress returns the address of the probes from the log, or the empty string.
func (p *Process) probeAddress() string {
	for _, e := range p.Log.Entries() {
		if e.Name == "health probe" {
			return e.Addr
		}
	}
	return ""
}

// Get requests url, with a token where that is not empty. Status 0 means that there was no
// answer.
func Get(t *testing.T, client *http.Client, url, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
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
