package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// upPatience is how long "up" waits for a supervisor, which gives up
	// earlier by itself and then says why.
	upPatience = 10 * time.Minute
	// downPatience is how long a supervisor may take to stop everything. It
	// takes 5 seconds at most.
	downPatience = 20 * time.Second
)

// up is the command that starts a supervisor in the background.
func up(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("cluster up", flag.ContinueOnError)
	o.bind(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if o.dir == "" || flags.NArg() > 0 {
		return errors.New("want \"cluster up --dir DIR [flags]\"")
	}
	if _, err := findPrograms(o); err != nil {
		return err
	}
	// Claimed only for a moment: what an earlier cluster left is cleared, so
	// what is found there later is the new one's.
	dir, err := claimWorkDir(o.dir)
	if errors.Is(err, errInUse) {
		return awaitRunning(ctx, o.dir)
	}
	if err != nil {
		return err
	}
	supervisor, err := startSupervisor(dir, o)
	if err != nil {
		return err
	}
	a, err := awaitReady(ctx, dir.path, supervisor)
	if err != nil {
		return err
	}
	fmt.Println(a.Kubeconfig)
	return nil
}

// awaitRunning waits until the cluster that another process is running, or just
// starting, in the directory is ready.
func awaitRunning(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	var a access
	if !poll(startPatience, func() bool {
		a, err = readAccess(dir)
		return err == nil || ctx.Err() != nil
	}) {
		return fmt.Errorf("a cluster is starting in %s but does not get ready: %w", dir, err)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	log.Printf("a cluster is already running in %s", dir)
	fmt.Println(a.Kubeconfig)
	return nil
}

// startSupervisor starts "serve" in a session of its own, where no terminal's
// Ctrl-C or closing reaches it. The channel is closed when it ends.
func startSupervisor(dir *workDir, o options) (<-chan struct{}, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this executable: %w", err)
	}
	output, err := os.Create(dir.in(logsDir, "supervisor.log"))
	if err != nil {
		return nil, fmt.Errorf("making the supervisor's log: %w", err)
	}
	defer func() { _ = output.Close() }()
	if err := dir.unclaim(); err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "serve",
		"--dir="+dir.path,
		"--bin="+o.bin,
		"--crds="+o.crds,
		"--feature-gates="+o.featureGates,
		"--nodes="+strconv.Itoa(o.nodes),
		"--without-controllers="+strconv.FormatBool(o.withoutControllers))
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log says more than its status
		close(ended)
	}()
	return ended, nil
}

// awaitReady waits for the supervisor to announce its cluster.
func awaitReady(ctx context.Context, dir string, supervisor <-chan struct{}) (access, error) {
	deadline := time.After(upPatience)
	for {
		if a, err := readAccess(dir); err == nil {
			return a, nil
		}
		select {
		case <-supervisor:
			return access{}, fmt.Errorf("the cluster did not start, its logs are in %s:\n%s",
				filepath.Join(dir, logsDir), tail(filepath.Join(dir, logsDir, "supervisor.log")))
		case <-ctx.Done():
			return access{}, errors.Join(context.Cause(ctx), stopSupervisor(dir))
		case <-deadline:
			return access{}, errors.Join(fmt.Errorf("the cluster is not ready after %s", upPatience), stopSupervisor(dir))
		case <-time.After(pollInterval):
		}
	}
}

// readAccess reads what the supervisor announced.
func readAccess(dir string) (access, error) {
	content, err := os.ReadFile(filepath.Join(dir, readyFile))
	if err != nil {
		return access{}, err
	}
	var a access
	return a, json.Unmarshal(content, &a)
}

// down is the command that stops the cluster of a directory and removes it.
func down(args []string) error {
	flags := flag.NewFlagSet("cluster down", flag.ContinueOnError)
	dir := flags.String("dir", "", "directory of the cluster")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *dir == "" || flags.NArg() > 0 {
		return errors.New("want \"cluster down --dir DIR\"")
	}
	return stopSupervisor(*dir)
}

// stopSupervisor stops whatever runs in the directory and removes it. It is
// content when there is nothing to stop.
func stopSupervisor(dir string) error {
	if err := refuseForeign(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // an empty directory of another owner
	}
	if err != nil {
		return fmt.Errorf("opening the cluster's lock: %w", err)
	}
	defer func() { _ = lock.Close() }()

	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGTERM, downPatience}, {syscall.SIGKILL, downPatience}} {
		if acquire(lock, 0) {
			break
		}
		pid, err := supervisorPID(dir)
		if errors.Is(err, fs.ErrNotExist) {
			break // it is just removing the directory itself
		}
		if err != nil {
			return fmt.Errorf("finding the supervisor of %s: %w", dir, err)
		}
		// The lock is held, so this is the process that holds it.
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping the supervisor, process %d: %w", pid, err)
		}
		acquire(lock, step.patience)
	}
	return removeAll(dir)
}
