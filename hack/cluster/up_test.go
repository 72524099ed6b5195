package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestUp_ThenDown(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	// The steps build on one another, so they are in order.
	for _, step := range []struct {
		sentence string
		command  string
		before   func(*testing.T, string)
		status   int
		want     []string
		after    func(*testing.T, string)
	}{
		{sentence: "up prints the kubeconfig", command: "up", want: []string{kubeconfig}, after: wantOwnSession},
		{sentence: "up again says that it runs", command: "up", want: []string{"already running", kubeconfig}},
		{sentence: "serve does not share the directory", command: "serve", status: 1, want: []string{"already running"}},
		{sentence: "a supervisor that was killed is replaced", before: killSupervisor, command: "up", want: []string{kubeconfig}, after: wantUsable},
		{sentence: "down removes everything", command: "down", after: wantNothingLeft},
		{sentence: "down twice is no error", command: "down", after: wantNothingLeft},
	} {
		t.Run(step.sentence, func(t *testing.T) {
			if step.before != nil {
				step.before(t, dir)
			}
			args := []string{step.command, "--dir=" + dir}
			if step.command != "down" {
				args = append(args, "--without-controllers")
			}
			printed, status := output(t, args...)
			if status != step.status {
				t.Fatalf("exit status %d: want %d", status, step.status)
			}
			for _, want := range step.want {
				if !strings.Contains(printed, want) {
					t.Errorf("printed %q: want %q", printed, want)
				}
			}
			if step.after != nil {
				step.after(t, dir)
			}
		})
	}
}

// wantOwnSession checks that no Ctrl-C of ours reaches the supervisor.
func wantOwnSession(t *testing.T, dir string) {
	pid, err := supervisorPID(dir)
	if err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("process group %d of supervisor %d (%v): want its own", group, pid, err)
	}
}

func killSupervisor(t *testing.T, dir string) {
	pid, err := supervisorPID(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func wantUsable(t *testing.T, dir string) {
	if err := connect(t, filepath.Join(dir, "kubeconfig")).List(t.Context(), &corev1.NamespaceList{}); err != nil {
		t.Errorf("using the cluster: %v", err)
	}
}

func TestDown_RemovesDirectoryAfterSIGKILL(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := startServer(t, "--dir="+dir, "--without-controllers")
	s.signal(t, syscall.SIGKILL)
	s.wait(t)
	if _, status := output(t, "down", "--dir="+dir); status != 0 || exists(dir) {
		t.Errorf("exit status %d, directory left: %t; want 0 and none", status, exists(dir))
	}
}

func TestUp_Refuses(t *testing.T) {
	empty := t.TempDir()
	foreign := t.TempDir()
	precious := filepath.Join(foreign, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"names the make target of a missing binary": {[]string{"up", "--dir=" + empty, "--bin=" + empty}, buildTarget},
		"up refuses a directory with other files":   {[]string{"up", "--dir=" + foreign}, "do not belong to a cluster"},
		"down refuses a directory with other files": {[]string{"down", "--dir=" + foreign}, "do not belong to a cluster"},
		"refuses a negative number of nodes":        {[]string{"run", "--nodes=-1", "--", "true"}, "--nodes"},
		"refuses a missing directory":               {[]string{"up"}, "--dir"},
		"refuses a missing command":                 {[]string{"run"}, "CMD"},
	} {
		t.Run(sentence, func(t *testing.T) {
			printed, status := output(t, test.args...)
			if status != 1 || !strings.Contains(printed, test.want) {
				t.Errorf("exit status %d: want 1 and %q", status, test.want)
			}
		})
	}
	if !exists(precious) {
		t.Error("a file of another owner was removed")
	}
}

func TestRun_UsesAssetsDirectory(t *testing.T) {
	t.Setenv(assetsVariable, t.TempDir())
	printed, status := output(t, "run", "--", "true")
	if status != 1 || !strings.Contains(printed, assetsVariable) {
		t.Errorf("exit status %d: want 1 and %s named, as it is empty", status, assetsVariable)
	}
}
