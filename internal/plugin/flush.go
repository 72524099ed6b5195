// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/internal/memcached"
)

// defaultPause is the pause between two pods: the database gets the reads of one pod's share at a time.
const defaultPause = 30 * time.Second

const flushLong = `Flush empties the pods of a Memcached, one after the other with a pause between them, so that the database behind it gets the
reads of one pod's share at a time. Ctrl-C leaves the other pods as they are. It asks before; the answer is the Memcached's name.

Use it when a cache holds stale values, as after pods were removed and added again while clients stored values elsewhere.

Exit codes:
  0  every pod is empty
  1  a pod did not answer, or the answer was another one
  2  a flag is wrong, or the cluster cannot be read`

const flushExample = `  kubectl memcached flush cache
  kubectl memcached flush cache --pause=2m --yes`

func (p *program) newFlushCommand() *cobra.Command {
	connection := newConnection()
	var pause time.Duration
	var yes bool
	cmd := &cobra.Command{
		Use:               "flush NAME",
		Short:             "Empty the pods of a Memcached, one after the other",
		Long:              flushLong,
		Example:           flushExample,
		Args:              atMost(1),
		ValidArgsFunction: p.completeNames(connection, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fmt.Errorf("the name is missing: the usage is %s", cmd.UseLine())
			case pause < 0:
				return fmt.Errorf("--pause: %s is less than 0", pause)
			}
			return p.flush(cmd, connection, args[0], pause, yes)
		},
	}
	cmd.Flags().DurationVar(&pause, "pause", defaultPause, "Time between two pods, in which the database fills the share of the last.")
	cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask.")
	connection.addFlags(cmd, true)
	p.completeFlags(cmd, connection)
	return cmd
}

func (p *program) flush(cmd *cobra.Command, connection *connection, name string, pause time.Duration, yes bool) error {
	ctx := cmd.Context()
	s, err := connection.open(p.dial)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	mc, targets, err := s.podsOf(ctx, name)
	if err != nil {
		return err
	}
	if !yes && !p.confirm(fmt.Sprintf("This empties %d pods of %s/%s, one every %s. Type %s to go on: ", len(targets), mc.Namespace, mc.Name, pause, mc.Name), mc.Name) {
		return p.printProblems(cmd, []error{errors.New("nothing was flushed: the answer was not the Memcached's name; --yes does not ask")}, nil)
	}
	var errs []error
	for i, target := range targets {
		if i > 0 && !waitFor(ctx, pause) {
			errs = append(errs, fmt.Errorf("stopped: %d of %d pods were not flushed", len(targets)-i, len(targets)))
			break
		}
		failed := errors.Join(s.pool.Each(ctx, targets[i:i+1], func(_ int, client *memcached.Client) error { return client.Flush() })...)
		if failed != nil {
			errs = append(errs, fmt.Errorf("pod %s was not flushed: %w", target.Pod.Name, failed))
			continue
		}
		if _, err := fmt.Fprintf(p.streams.Out, "pod/%s flushed\n", target.Pod.Name); err != nil {
			return err
		}
	}
	return p.printProblems(cmd, errs, nil)
}

// confirm asks question and reports whether the answer is want.
func (p *program) confirm(question, want string) bool {
	_, _ = fmt.Fprint(p.streams.Err, question)
	answer, _ := bufio.NewReader(p.streams.In).ReadString('\n')
	return strings.TrimSpace(answer) == want
}

// waitFor waits for d and reports whether ctx lasted that long.
func waitFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
