// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// sandboxVariable holds a sandbox, and makes the test program be its first process.
const sandboxVariable = "MEMCACHED_TEST_SANDBOX"

// sandbox is what a container runtime does for the containers of a pod that share their
// process namespace: they see each other's processes and no others, and their own
// files with the volumes mounted. The network is the machine's.
type sandbox struct {
	UID, GID   uint32
	Containers []container
}

// container is a process of a sandbox.
type container struct {
	Name         string
	Image        string // the files that it sees, a directory of the machine
	Root         string // an empty directory of the machine, to mount them on
	ReadOnlyRoot bool
	Path         string // of the program, in the container
	Args, Env    []string
	Mounts       map[string]mount // by path in the container
	Cgroup       string           // its directory; empty for the test's own
}

// mount is a directory of the machine in a container.
type mount struct {
	Dir      string
	Writable bool
}

func TestMain(m *testing.M) {
	text, is := os.LookupEnv(sandboxVariable)
	if !is {
		os.Exit(m.Run())
	}
	var s sandbox
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = s.run()
	}
	fmt.Fprintln(os.Stderr, "sandbox:", err)
	os.Exit(1)
}

// command is the first process of the sandbox, in namespaces of its own. Whoever is not
// root gets them by a namespace of users, where the containers' user stands for him.
func (s sandbox) command() (*exec.Cmd, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), sandboxVariable+"="+string(text))
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if os.Getuid() != 0 {
		const capSysAdmin, capSysChroot = 21, 18
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(s.UID), HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(s.GID), HostID: os.Getgid(), Size: 1}}
		command.SysProcAttr.AmbientCaps = []uintptr{capSysAdmin, capSysChroot}
	}
	return command, nil
}

const lastOnly = "l"

// run starts the containers in their order, as the first process of the sandbox, whose end
// is theirs. It ends when one of them does, or when the test closes its standard input or
// is gone. At the first byte from there they get SIGTERM; at lastOnly, the last one alone.
func (s sandbox) run() error {
	runtime.LockOSThread() // no_new_privs is a thread's, and handed down
	const prSetNoNewPrivs = 38
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("setting no_new_privs: %w", errno)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("detaching from the machine's mounts: %w", err)
	}
	for _, c := range s.Containers {
		if err := c.mount(); err != nil {
			return fmt.Errorf("container %s: %w", c.Name, err)
		}
	}
	ended := make(chan error)
	var processes []*os.Process
	for _, c := range s.Containers {
		command := &exec.Cmd{Path: c.Path, Args: c.Args, Env: c.Env, Dir: "/", Stdout: os.Stderr, Stderr: os.Stderr}
		command.SysProcAttr = &syscall.SysProcAttr{Chroot: c.Root}
		if os.Getuid() == 0 {
			command.SysProcAttr.Credential = &syscall.Credential{Uid: s.UID, Gid: s.GID, Groups: []uint32{s.GID}}
		}
		if err := command.Start(); err != nil {
			return fmt.Errorf("starting container %s: %w", c.Name, err)
		}
		if err := join(c.Cgroup, command.Process.Pid); err != nil {
			return fmt.Errorf("limiting container %s: %w", c.Name, err)
		}
		processes = append(processes, command.Process)
		go func() { ended <- fmt.Errorf("container %s ended: %v", c.Name, command.Wait()) }() //nolint:errorlint // a nil error ends a container, too
	}
	go func() {
		first := make([]byte, 1)
		if n, _ := os.Stdin.Read(first); n > 0 {
			if string(first) == lastOnly {
				processes = processes[len(processes)-1:]
			}
			for _, process := range processes {
				_ = process.Signal(syscall.SIGTERM)
			}
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended <- fmt.Errorf("stopped by the test")
	}()
	return <-ended
}

// mount mounts the container's files and volumes, and what every container has.
func (c container) mount() error {
	if err := bind(c.Image, c.Root, 0, c.ReadOnlyRoot); err != nil {
		return err
	}
	// The machine's names stand for the pod's: localhost is among them.
	for _, path := range []string{"/dev", "/sys", "/etc/hosts"} {
		if err := bind(path, filepath.Join(c.Root, path), syscall.MS_REC, false); err != nil {
			return err
		}
	}
	for to, m := range c.Mounts {
		if err := bind(m.Dir, filepath.Join(c.Root, to), 0, !m.Writable); err != nil {
			return err
		}
	}
	if err := syscall.Mount("proc", filepath.Join(c.Root, "proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

// bind lets to show the directory or file from.
func bind(from, to string, flags uintptr, readOnly bool) error {
	if err := syscall.Mount(from, to, "", syscall.MS_BIND|flags, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", to, err)
	}
	if !readOnly {
		return nil
	}
	var is syscall.Statfs_t
	if err := syscall.Statfs(to, &is); err != nil {
		return fmt.Errorf("looking at %s: %w", to, err)
	}
	// What the machine's mount forbids, a user's own namespace cannot allow.
	const kept = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC | syscall.MS_NOATIME
	flags = uintptr(is.Flags)&kept | syscall.MS_REMOUNT | syscall.MS_BIND | syscall.MS_RDONLY
	if err := syscall.Mount("", to, "", flags, ""); err != nil {
		return fmt.Errorf("making %s read-only: %w", to, err)
	}
	return nil
}
