package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The tests start the test binary as the cluster command, so that they see what
// a user does: real processes, exit codes, and what is left behind.

// asCommandVariable makes the test binary be the cluster command.
const asCommandVariable = "CLUSTER_TEST_AS_COMMAND"

// patience is far beyond what anything here takes, even on a busy machine.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asCommandVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// binaries returns the directory of the control plane's programs.
func binaries(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "kube"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "kube")); err != nil {
		t.Fatalf("the tests run a real control plane, build it with %q: %v", buildTarget, err)
	}
	return path
}

// command returns the cluster command with these arguments, not yet started.
// What it prints is shown should the test fail.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if args[0] != "down" {
		args = append([]string{args[0], "--bin=" + binaries(t)}, args[1:]...)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommandVariable+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = t.Output()
	return cmd
}

// output runs the cluster command to its end and returns what it printed, its
// errors included, and its exit status.
func output(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := command(t, args...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("cluster %s: %v", strings.Join(args, " "), err)
	}
	t.Logf("cluster %s:\n%s", strings.Join(args, " "), printed.String())
	return printed.String(), cmd.ProcessState.ExitCode()
}

// newDir returns a directory for a cluster to make, and makes sure in the end
// that nothing runs there.
func newDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cluster")
	t.Cleanup(func() {
		if err := stopSupervisor(dir); err != nil {
			t.Error(err)
		}
		wantNothingLeft(t, dir)
	})
	return dir
}

// A server is a running "cluster serve".
type server struct {
	access
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.Reader
	ended  chan struct{}
}

// startServer starts "cluster serve" and waits until it is ready.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	s := launchServer(t, args...)
	s.awaitReady(t)
	return s
}

// launchServer starts "cluster serve".
func launchServer(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{cmd: command(t, append([]string{"serve"}, args...)...), ended: make(chan struct{})}
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if s.stdout, err = s.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitReady waits for the line that serve prints.
func (s *server) awaitReady(t *testing.T) {
	t.Helper()
	line, err := bufio.NewReader(s.stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("serve ended before it was ready: %v", err)
	}
	if err := json.Unmarshal(line, &s.access); err != nil {
		t.Fatalf("serve printed %q: %v", line, err)
	}
	go func() {
		_ = s.cmd.Wait() // wait returns the status
		close(s.ended)
	}()
}

// signal sends a signal to the supervisor alone.
func (s *server) signal(t *testing.T, which syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(which); err != nil {
		t.Fatal(err)
	}
}

// wait returns the exit status of the supervisor.
func (s *server) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-s.ended:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatal("serve does not end")
		return -1
	}
}

// connect returns a client for the cluster of a kubeconfig.
func connect(t *testing.T, kubeconfig string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// processes returns the process ids of those running programs whose command
// line has all the words in it, by command line.
func processes(t *testing.T, words ...string) map[string]string {
	t.Helper()
	// Not t.Context(), which has ended when cleaning up.
	listing, err := exec.CommandContext(context.WithoutCancel(t.Context()), "ps", "-axww", "-o", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatalf("listing processes: %v", err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(listing)) {
		fields := strings.Fields(line)
		arguments := strings.Join(fields[2:], " ")
		matches := !strings.HasPrefix(fields[1], "Z")
		for _, word := range words {
			matches = matches && strings.Contains(arguments, word)
		}
		if matches {
			found[arguments] = fields[0]
		}
	}
	return found
}

// waitFor waits until the condition holds.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !poll(patience, condition) {
		t.Fatalf("waited %s in vain for %s", patience, what)
	}
}

// exists reports whether there is a file of that name.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// wantNothingLeft waits until no process of a cluster is left, the last of which ends a moment after it has removed the
// directory, and fails the test if the directory is left.
func wantNothingLeft(t *testing.T, dir string) {
	t.Helper()
	waitFor(t, "no process to be left", func() bool { return len(processes(t, dir)) == 0 })
	if exists(dir) {
		t.Error("the directory is left")
	}
}
