// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long the operator may take to end.
const patience = 20 * time.Second

// process is an operator that runs.
type process struct {
	command *exec.Cmd
	stdout  bytes.Buffer
	log     log
	ended   chan struct{}
}

// log is what a process prints to standard error, readable while it runs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// entry is one line of the log: structured, or plain when it is no JSON.
type entry struct {
	Level string `json:"level"`
	Name  string `json:"name"`
	Msg   string `json:"msg"`
	Addr  string `json:"addr"`
	plain string
}

func (l *log) entries() []entry {
	var entries []entry
	for line := range strings.Lines(l.String()) {
		var e entry
		if json.Unmarshal([]byte(line), &e) != nil {
			e = entry{plain: line}
		}
		entries = append(entries, e)
	}
	return entries
}

// plain are the lines that are no structured log: what the operator says when it ends.
func (l *log) plain() string {
	var b strings.Builder
	for _, e := range l.entries() {
		b.WriteString(e.plain)
	}
	return b.String()
}

// errors are the structured lines of level error.
func (l *log) errors() []string {
	var errors []string
	for _, e := range l.entries() {
		if e.Level == "error" {
			errors = append(errors, e.Msg)
		}
	}
	return errors
}

// start starts the operator with args, and an environment without a cluster in it. It
// ends with the test, at the latest.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{command: exec.CommandContext(context.WithoutCancel(t.Context()), suite.program, args...), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), "KUBECONFIG=", "HOME="+t.TempDir(), "KUBERNETES_SERVICE_HOST=", "WATCH_NAMESPACE=",
		"RELATED_IMAGE_MEMCACHED=", "RELATED_IMAGE_MEMCACHED_EXPORTER=", "RELATED_IMAGE_MEMCACHED_RELOADER=", "ALLOW_PRIVILEGED_FIELDS=", "OPERAND_IMAGES=")
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.log
	fatal(t, p.command.Start())
	go func() {
		// The process's state says the same.
		_ = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		// It fails when the process has ended.
		_ = p.command.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("the operator's log:\n%s", p.log.String())
		}
	})
	return p
}

// end waits for the operator's end and returns its exit status.
func (p *process) end(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("the operator did not end within %s", patience)
	}
	return p.command.ProcessState.ExitCode()
}

// terminate ends the operator as the kubelet does.
func (p *process) terminate(t *testing.T) int {
	t.Helper()
	fatal(t, p.command.Process.Signal(syscall.SIGTERM))
	return p.end(t)
}

// refuse runs the operator with args, which has to end with status 1, one plain line
// and no logged error, and returns that line.
func refuse(t *testing.T, args ...string) string {
	t.Helper()
	text := refuseInLines(t, args...)
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("the operator says in more than one line:\n%s", text)
	}
	return text
}

// refuseInLines is refuse for what does not fit into one line.
func refuseInLines(t *testing.T, args ...string) string {
	t.Helper()
	p := start(t, append([]string{"--health-probe-bind-address=0", "--metrics-bind-address=0"}, args...)...)
	if status := p.end(t); status != 1 {
		t.Fatalf("the operator exits with %d, want 1", status)
	}
	text := p.log.plain()
	if !strings.HasPrefix(text, "memcached-operator: ") {
		t.Errorf("the message does not begin with the program's name:\n%s", text)
	}
	if errors := p.log.errors(); len(errors) > 0 {
		t.Errorf("beside it, errors are logged: %q", errors)
	}
	if out := p.stdout.String(); out != "" {
		t.Errorf("standard output holds %q", out)
	}
	return text
}

// startReady starts the operator for namespace, with its own identity, and waits until
// it is ready.
func startReady(t *testing.T, namespace string, args ...string) (p *process, probes string) {
	t.Helper()
	p = start(t, append([]string{
		"--kubeconfig=" + kubeconfig(t, suite.operator, ""), "--watch-namespaces=" + namespace,
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0",
	}, args...)...)
	return p, p.ready(t)
}

// ready waits until the operator is ready and returns the address of its probes.
func (p *process) ready(t *testing.T) string {
	t.Helper()
	var address string
	eventually(t, "the operator should be ready", func() bool {
		select {
		case <-p.ended:
			t.Fatal("the operator ended")
		default:
		}
		for _, e := range p.log.entries() {
			if e.Name == "health probe" {
				address = e.Addr
			}
		}
		if address == "" {
			return false
		}
		status, _ := get(t, http.DefaultClient, "http://"+address+"/readyz", "")
		return status == http.StatusOK
	})
	return address
}

// get asks for url, with a token where that is not empty. Status 0 is no answer.
func get(t *testing.T, client *http.Client, url, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	fatal(t, err)
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

// freeAddress is an address on loopback that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
