package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRun_ExitStatus(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		script string
		status int
		want   string
	}{
		"the command finds kubectl and the cluster":       {"kubectl get namespaces -o name", 0, "namespace/default"},
		"the command's exit status is passed on":          {"exit 7", 7, ""},
		"a command ended by a signal gives 128 and it":    {"kill -KILL $$", 137, ""},
		"the command's children are not tied to anything": {"env", 0, "KUBECONFIG="},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			printed, status := output(t, "run", "--dir="+dir, "--without-controllers", "--", "sh", "-c", test.script)
			if status != test.status || !strings.Contains(printed, test.want) {
				t.Errorf("exit status %d: want %d and %q", status, test.status, test.want)
			}
			if strings.Contains(printed, parentPIDVariable) {
				t.Errorf("%s is passed on: the command's own kubectl would end at once", parentPIDVariable)
			}
			if exists(dir) {
				t.Error("the directory is left behind")
			}
		})
	}
}

func TestRun_ReportsMissingCommand(t *testing.T) {
	t.Parallel()
	printed, status := output(t, "run", "--without-controllers", "--", "no-such-command")
	if status != 1 || !strings.Contains(printed, "no-such-command") {
		t.Errorf("exit status %d: want 1 and the command named", status)
	}
}

func TestRun_StopsOnCtrlC(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	cmd := command(t, "run", "--dir="+dir, "--without-controllers", "--", "sh", "-c", "echo running; exec sleep 600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	// As a terminal does: to the whole group.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is checked below
	if status := cmd.ProcessState.ExitCode(); status != 128+int(syscall.SIGINT) {
		t.Errorf("exit status %d: want 130", status)
	}
	wantNothingLeft(t, dir)
}

func TestKube_ListsItsPrograms(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries(t), "kube"))
	printed, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("called by a name that is no program's: want an error")
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"} {
		if !strings.Contains(string(printed), name) {
			t.Errorf("%q does not name %s", printed, name)
		}
	}
}
