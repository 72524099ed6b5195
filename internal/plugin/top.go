// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

const topLong = `Top shows the pods of one or all Memcacheds of a namespace, or of all namespaces, every --interval: how much of the memory
is used, and over the interval the hit ratio, gets, sets and evictions per second, connections, and skew: the gets and sets
of a pod as a multiple of the mean of its Memcached's pods.

On a terminal it redraws the screen until Ctrl-C. Otherwise it prints a table for each interval, or with -o json a line.

It needs permission to list Memcacheds, or to get the named one, to list pods, to create pods/portforward, and to get the
Secrets that the Memcacheds name.`

const topExample = `  kubectl memcached top cache
  kubectl memcached top -A --interval=10s
  kubectl memcached top --count=1 | sort -k 6`

// topOptions are the flags of top.
type topOptions struct {
	connection    *connection
	allNamespaces bool
	interval      time.Duration
	count         int
	output        string
	name          string
}

func (p *program) newTopCommand() *cobra.Command {
	o := &topOptions{connection: newConnection(), interval: 2 * time.Second}
	cmd := &cobra.Command{
		Use:               "top [NAME]",
		Short:             "Show the pods of Memcacheds, continuously",
		Long:              topLong,
		Example:           topExample,
		Args:              atMost(1),
		ValidArgsFunction: p.completeNames(o.connection, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = strings.Join(args, "")
			switch {
			case o.allNamespaces && o.name != "":
				return errors.New("--all-namespaces: name a Memcached in one namespace only")
			case o.interval <= 0:
				return fmt.Errorf("--interval: %s is not positive", o.interval)
			case o.count < 0:
				return fmt.Errorf("--count: %d is negative", o.count)
			}
			if err := checkOutput(o.output); err != nil {
				return err
			}
			return p.top(cmd, o)
		},
	}
	o.connection.addFlags(cmd, true)
	p.completeFlags(cmd, o.connection)
	flags := cmd.Flags()
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Show the Memcacheds of all namespaces.")
	flags.DurationVar(&o.interval, "interval", o.interval, "Time between two tables, over which rates are counted.")
	flags.IntVar(&o.count, "count", 0, "Number of tables; 0 is without end.")
	addOutput(cmd, &o.output)
	return cmd
}

func (p *program) top(cmd *cobra.Command, o *topOptions) error {
	ctx := cmd.Context()
	s, err := o.connection.open(p.dial)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	if o.allNamespaces {
		s.namespace = ""
	}
	v := newView(p.streams.Out, o.output)
	defer v.close()
	var last frame
	before := map[string]stats.Sample{}
	// The first samples only begin an interval.
	for round := 0; o.count == 0 || round <= o.count; round++ {
		next, samples, err := s.frame(ctx, o, before)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && round == 0:
			return err
		case err != nil: // the cluster may be back in the next round
			last.problem = err
		default:
			last, before = next, samples
		}
		if round > 0 {
			if err := v.show(last); err != nil {
				return err
			}
		}
		if round < o.count || o.count == 0 {
			if wait(ctx, o.interval) != nil {
				return nil
			}
		}
	}
	v.close()
	return p.printProblems(cmd, []error{last.problem}, rowErrors(last.rows))
}

// frame is what top shows at a time.
type frame struct {
	at            time.Time
	interval      time.Duration
	allNamespaces bool
	memcacheds    int
	rows          []row
	problem       error
}

// frame asks all pods. It returns their samples too, for the next frame.
func (s *session) frame(ctx context.Context, o *topOptions, before map[string]stats.Sample) (frame, map[string]stats.Sample, error) {
	memcacheds, err := s.memcacheds(ctx, o.name)
	if err != nil {
		return frame{}, nil, err
	}
	targets, err := s.targets(ctx, memcacheds, s.namespace, o.name)
	if err != nil {
		return frame{}, nil, err
	}
	s.pool.Keep(targets)
	samples, errs := s.pool.Samples(ctx, targets)
	rows := newRows(targets, before, samples, errs)
	setSkews(rows)
	s.forgetFailed(memcacheds, rows)
	f := frame{at: time.Now(), interval: o.interval, allNamespaces: o.allNamespaces, memcacheds: len(memcacheds), rows: rows}
	return f, bySample(targets, samples, errs), nil
}

// memcacheds returns the named Memcached, or all.
func (s *session) memcacheds(ctx context.Context, name string) ([]cachev1alpha1.Memcached, error) {
	if name == "" {
		return s.List(ctx, s.namespace)
	}
	mc, err := s.Get(ctx, s.namespace, name)
	if err != nil {
		return nil, err
	}
	return []cachev1alpha1.Memcached{*mc}, nil
}

// write writes the frame as lines of text.
func (f frame) write(out io.Writer) error {
	failed := 0
	for _, r := range f.rows {
		if r.err != nil {
			failed++
		}
	}
	title := fmt.Sprintf("%s  every %s  Memcacheds: %d  pods: %d", f.at.Format(time.DateTime), f.interval, f.memcacheds, len(f.rows))
	if failed > 0 {
		title += fmt.Sprintf("  without an answer: %d", failed)
	}
	t := table{head: []string{"MEMCACHED", "POD", "NODE", "FILL", "HIT RATIO", "GETS/S", "SETS/S", "EVICTIONS/S", "CONNECTIONS", "SKEW"}}
	if f.allNamespaces {
		t.head = append([]string{"NAMESPACE"}, t.head...)
	}
	for _, r := range f.rows {
		cells := []string{r.Memcached, r.Pod.Name, r.node()}
		if f.allNamespaces {
			cells = append([]string{r.Pod.Namespace}, cells...)
		}
		if r.err != nil {
			t.add(append(cells, podProblem(r.err))...)
			continue
		}
		t.add(append(cells, r.fill(), r.hitRatio(), r.perSecond(gets), r.perSecond(sets), r.perSecond(evictions), r.connections(), r.skewText())...)
	}
	if _, err := fmt.Fprintln(out, title); err != nil {
		return err
	}
	if err := t.write(out); err != nil {
		return err
	}
	for _, missing := range stats.Missing(append(rowErrors(f.rows), f.problem)) {
		_, _ = fmt.Fprintln(out, missing)
	}
	if f.problem != nil && len(stats.Missing([]error{f.problem})) == 0 {
		_, _ = fmt.Fprintln(out, printers.EscapeTerminal(f.problem.Error()))
	}
	_, err := fmt.Fprintln(out)
	return err
}
