package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// logTailBytes is how much of a log an error shows.
const logTailBytes = 3000

// A child is a program that the supervisor runs beside envtest's two.
type child struct {
	name   string
	cmd    *exec.Cmd
	exited chan struct{}
}

// startChild starts a program with its output in the log. When the process ends, it
// calls died with an error that contains the end of the log.
func startChild(cmd *exec.Cmd, name, log string, died func(error)) (*child, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("making the log of %s: %w", name, err)
	}
	defer func() { _ = output.Close() }() // the child has its own copy
	cmd.Stdout, cmd.Stderr = output, output
	// In a process group of its own, the process does not receive Ctrl-C of the
	// terminal: the supervisor receives it and stops all programs in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c := &child{name: name, cmd: cmd, exited: make(chan struct{})}
	go func() {
		err := cmd.Wait()
		close(c.exited)
		died(deathOf(name, log, err))
	}()
	return c, nil
}

// terminate asks the process to end; stop waits until it has.
func (c *child) terminate() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails only if the process has ended
}

// stop ends the process, by force at the deadline.
func (c *child) stop(deadline time.Time) {
	select {
	case <-c.exited:
	case <-time.After(time.Until(deadline)):
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
}

// A lifeline copies the output of a process that envtest starts, and reports when the
// process ends, which closes the last writing end of the pipe.
type lifeline struct {
	writer *os.File
	ended  chan struct{}
}

// newLifeline returns a lifeline that copies the output to a log.
func newLifeline(log string) (*lifeline, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		_ = output.Close()
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	l := &lifeline{writer: writer, ended: make(chan struct{})}
	go func() {
		_, _ = io.Copy(output, reader)
		_, _ = output.Close(), reader.Close()
		close(l.ended)
	}()
	return l, nil
}

// release closes the supervisor's own end of the pipe, after which only the
// process holds it open.
func (l *lifeline) release() {
	_ = l.writer.Close()
}

// deathOf returns an error with the name, the exit status and the end of the log of a
// program that ended.
func deathOf(name, log string, cause error) error {
	how := "exit status 0"
	if cause != nil {
		how = cause.Error()
	}
	return fmt.Errorf("%s ended unexpectedly (%s); the end of its log:\n%s", name, how, tail(log))
}

// tail returns the last lines of a log.
func tail(log string) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	content = bytes.TrimSpace(content)
	if len(content) == 0 {
		return "(nothing)"
	}
	if len(content) > logTailBytes {
		content = content[len(content)-logTailBytes:]
		if _, whole, found := bytes.Cut(content, []byte("\n")); found {
			content = whole
		}
	}
	return string(content)
}

// errOutputEnded replaces the exit status, which envtest does not report.
var errOutputEnded = errors.New("its output ended")
