// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// newTerminal returns the two ends of a pseudo-terminal: that of the person, and that of the program.
func newTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	testenv.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	var unlock, number int32
	for request, argument := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, failure := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(unsafe.Pointer(argument))); failure != 0 {
			t.Fatal(failure)
		}
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	testenv.NoError(t, err)
	return person, program
}

func TestTop_RestoresTheTerminal(t *testing.T) {
	t.Parallel()
	const enter, leave = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	binary := filepath.Join(t.TempDir(), "kubectl-memcached")
	output(t, controlplane.Root(), "go", "build", "-o", binary, "./cmd/kubectl-memcached")
	namespace := suite.NewNamespace(t)
	suite.NewMemcached(t, namespace, "cache", 0)
	for sentence, end := range map[string]func(person *os.File, top *os.Process) error{
		"after Ctrl-C":  func(person *os.File, _ *os.Process) error { _, err := person.WriteString("\x03"); return err },
		"after SIGTERM": func(_ *os.File, top *os.Process) error { return top.Signal(syscall.SIGTERM) },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			person, program := newTerminal(t)
			top := exec.CommandContext(t.Context(), binary, "top", "-n", namespace, "--interval=100ms", "--kubeconfig="+suite.Kubeconfig)
			top.Stdin, top.Stdout, top.Stderr = program, program, program
			top.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // Ctrl-C goes to the terminal's session
			testenv.NoError(t, top.Start())
			testenv.NoError(t, program.Close())
			shown, done := &testenv.Log{}, make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.Copy(shown, person) // ends with an error once the program has ended
			}()
			testenv.Eventually(t, "two frames are drawn", func() bool { return strings.Count(shown.String(), "Memcacheds: 1  pods: 0") >= 2 })
			testenv.NoError(t, end(person, top.Process))
			err := top.Wait()
			<-done
			if got := shown.String(); err != nil || strings.Count(got, enter) != 1 || !strings.HasSuffix(got, leave) || strings.Count(got, leave) != 1 {
				t.Errorf("it ends with %v after drawing\n%q", err, got)
			}
		})
	}
}
