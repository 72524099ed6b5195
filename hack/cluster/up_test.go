package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestUpAndDown(t *testing.T) {
	dir := newDir(t)
	kubeconfig := filepath.Join(dir, "kubeconfig")

	t.Run("up prints the kubeconfig", func(t *testing.T) {
		printed, status := output(t, "up", "--dir="+dir, "--without-controllers")
		if status != 0 || !strings.Contains(printed, kubeconfig) {
			t.Fatalf("exit status %d: want 0 and %s", status, kubeconfig)
		}
	})
	t.Run("up again says that it runs", func(t *testing.T) {
		printed, status := output(t, "up", "--dir="+dir, "--without-controllers")
		if status != 0 || !strings.Contains(printed, "already running") || !strings.Contains(printed, kubeconfig) {
			t.Errorf("exit status %d: want 0, \"already running\" and %s", status, kubeconfig)
		}
	})
	t.Run("serve does not share the directory", func(t *testing.T) {
		printed, status := output(t, "serve", "--dir="+dir, "--without-controllers")
		if status != 1 || !strings.Contains(printed, "already running") {
			t.Errorf("exit status %d: want 1 and \"already running\"", status)
		}
	})
	t.Run("the supervisor leads a session of its own", func(t *testing.T) {
		pid, err := supervisorPID(dir)
		if err != nil {
			t.Fatal(err)
		}
		if group, err := syscall.Getpgid(pid); err != nil || group != pid {
			t.Errorf("process group %d of supervisor %d (%v): want its own", group, pid, err)
		}
	})
	t.Run("a supervisor that was killed is replaced", func(t *testing.T) {
		pid, err := supervisorPID(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		printed, status := output(t, "up", "--dir="+dir, "--without-controllers")
		if status != 0 || strings.Contains(printed, "already running") {
			t.Errorf("exit status %d: want 0 and a new cluster", status)
		}
		if err := connect(t, kubeconfig).List(t.Context(), &corev1.NamespaceList{}); err != nil {
			t.Error(err)
		}
	})
	for _, sentence := range []string{"down removes everything", "down twice is no error"} {
		t.Run(sentence, func(t *testing.T) {
			if _, status := output(t, "down", "--dir="+dir); status != 0 {
				t.Errorf("exit status %d: want 0", status)
			}
			if left := processes(t, dir); exists(dir) || len(left) > 0 {
				t.Errorf("left behind: directory %t, processes %v", exists(dir), left)
			}
		})
	}
}

func TestDownAfterSIGKILLRemovesTheDirectory(t *testing.T) {
	dir := newDir(t)
	s := startServer(t, "--dir="+dir, "--without-controllers")
	s.signal(t, syscall.SIGKILL)
	s.wait(t)
	if _, status := output(t, "down", "--dir="+dir); status != 0 || exists(dir) {
		t.Errorf("exit status %d, directory left: %t; want 0 and none", status, exists(dir))
	}
}

func TestUpRefuses(t *testing.T) {
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
		"a missing binary names the make target":       {[]string{"up", "--dir=" + empty, "--bin=" + empty}, buildTarget},
		"a directory of other files is left alone":     {[]string{"up", "--dir=" + foreign}, "no cluster's"},
		"down leaves a directory of other files alone": {[]string{"down", "--dir=" + foreign}, "no cluster's"},
		"fewer than no nodes":                          {[]string{"run", "--nodes=-1", "--", "true"}, "--nodes"},
		"no directory":                                 {[]string{"up"}, "--dir"},
		"nothing to run":                               {[]string{"run"}, "CMD"},
	} {
		t.Run(sentence, func(t *testing.T) {
			printed, status := output(t, test.args...)
			if status != 1 || !strings.Contains(printed, test.want) {
				t.Errorf("exit status %d: want 1 and %q", status, test.want)
			}
		})
	}
	if !exists(precious) {
		t.Error("a file that was not ours is gone")
	}
}

func TestAnAssetsDirectoryOfTheUsersIsHonoured(t *testing.T) {
	t.Setenv(assetsVariable, t.TempDir())
	printed, status := output(t, "run", "--", "true")
	if status != 1 || !strings.Contains(printed, assetsVariable) {
		t.Errorf("exit status %d: want 1 and %s named, as it is empty", status, assetsVariable)
	}
}
