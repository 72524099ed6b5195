package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// interruptPatience is how long a command may take to end after Ctrl-C before
// it is told to, and after that before it is forced to.
const interruptPatience = 5 * time.Second

// run is the command that runs another against a cluster of its own.
func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("cluster run", flag.ContinueOnError)
	o.bind(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("nothing to run: want \"cluster run [flags] -- CMD...\"")
	}
	environment := os.Environ() // before startCluster adds to it for its own
	return supervise(ctx, o, func(c *cluster) error {
		// For the command itself too: it may be kubectl.
		if err := os.Setenv("PATH", c.programs.searchPath()); err != nil {
			return fmt.Errorf("setting PATH: %w", err)
		}
		cmd := exec.Command(flags.Arg(0), flags.Args()[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Env = append(environment,
			"KUBECONFIG="+c.access().Kubeconfig,
			"PATH="+os.Getenv("PATH"),
			// Else kubectl leaves what it learned of this cluster in ~/.kube.
			"KUBECACHEDIR="+c.dir.in("kubectl"),
		)
		return runCommand(ctx, c, cmd)
	})
}

// runCommand runs the command to its end and returns its status if that is not
// 0. Ctrl-C in a terminal reaches the command by itself, as it belongs to the
// foreground like this process, so it is given time before it is told again; a
// signal meant for this process alone is passed on.
func runCommand(ctx context.Context, c *cluster, cmd *exec.Cmd) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running the command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	alive := c.alive.Done()
	var ask, force <-chan time.Time
	for {
		select {
		case err := <-ended:
			return cmp.Or(c.failure(ctx), statusOf(err))
		case <-alive:
			alive = nil
			ask, force = time.After(interruptPatience), time.After(2*interruptPatience)
			if c.failure(ctx) != nil { // no use in going on
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
		case s := <-signals:
			_ = cmd.Process.Signal(s)
		case <-ask:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case <-force:
			_ = cmd.Process.Kill()
		}
	}
}

// statusOf turns the end of a command into the status to exit with, as shells
// do: 128 and the signal's number for a command ended by a signal.
func statusOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitStatus(128 + int(status.Signal()))
	}
	return exitStatus(exit.ExitCode())
}
