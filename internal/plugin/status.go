// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/plugin/stats"
	"github.com/example/memcached-operator/internal/templates"
)

const statusLong = `Status shows a Memcached: its conditions, its objects, and for each pod the node, and of memcached the version, how much of
the memory is used, the hit ratio, evictions per second, connections, and skew. Hit ratio and skew are since memcached
started, evictions over --interval. Skew is the gets and sets of a pod as a multiple of the mean of all pods. With
spec.stableNames it shows which pod has which name.

It needs permission to get the Memcached, list pods, create pods/portforward, and get the Secrets that the Memcached names.
With permission to list them it shows the objects, of the kinds that the operator ships, and by EndpointSlices the stable names.`

const statusExample = `  kubectl memcached status cache
  kubectl memcached status cache -o json | jq '.pods[].hitRatio'
  kubectl memcached status -n shop      # the only Memcached of the namespace`

// status is what the command status shows.
type status struct {
	memcached *cachev1alpha1.Memcached
	objects   []metav1.PartialObjectMetadata
	// names are the stable names of pods by their UIDs.
	names map[types.UID]string
	rows  []row
	now   time.Time
}

func (p *program) newStatusCommand() *cobra.Command {
	connection, interval, output := newConnection(), time.Second, ""
	cmd := &cobra.Command{
		Use:               "status [NAME]",
		Short:             "Show conditions, objects and pods of a Memcached",
		Long:              statusLong,
		Example:           statusExample,
		Args:              atMost(1),
		ValidArgsFunction: p.completeNames(connection, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if interval <= 0 {
				return fmt.Errorf("--interval: %s is not positive", interval)
			}
			if err := checkOutput(output); err != nil {
				return err
			}
			return p.status(cmd, connection, interval, output, strings.Join(args, ""))
		},
	}
	connection.addFlags(cmd, true)
	p.completeFlags(cmd, connection)
	cmd.Flags().DurationVar(&interval, "interval", interval, "Time over which evictions are counted.")
	addOutput(cmd, &output)
	return cmd
}

func (p *program) status(cmd *cobra.Command, connection *connection, interval time.Duration, output, name string) error {
	ctx := cmd.Context()
	s, err := connection.open(p.dial)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	mc, err := s.Get(ctx, s.namespace, name)
	if err != nil {
		return err
	}
	view, errs, err := s.look(ctx, mc, interval)
	if err != nil {
		return err
	}
	write := view.write
	if output == "json" {
		write = view.writeJSON
	}
	if err := write(p.streams.Out); err != nil {
		return err
	}
	return p.printProblems(cmd, errs, rowErrors(view.rows))
}

// look returns what there is of mc, and errors about what there is not, without those of pods.
func (s *session) look(ctx context.Context, mc *cachev1alpha1.Memcached, interval time.Duration) (status, []error, error) {
	kinds, err := shippedKinds()
	if err != nil {
		return status{}, nil, err
	}
	objects, errObjects := s.Objects(ctx, mc, kinds)
	names, errNames := s.StableNames(ctx, mc)
	targets, errPods := s.targets(ctx, []cachev1alpha1.Memcached{*mc}, mc.Namespace, mc.Name)
	rows, err := sampleTwice(ctx, s.pool, targets, interval)
	view := status{memcached: mc, objects: objects, names: names, rows: rows, now: time.Now()}
	return view, []error{errObjects, errNames, errPods}, err
}

// shippedKinds returns the kinds of the embedded templates.
func shippedKinds() ([]schema.GroupVersionKind, error) {
	renderer, err := (&templates.Options{}).Renderer()
	if err != nil {
		return nil, err
	}
	return renderer.Kinds(), nil
}

// sampleTwice returns rows whose ratios are since memcached started, and whose rates are those of an interval.
func sampleTwice(ctx context.Context, pool *stats.Pool, targets []stats.Target, interval time.Duration) ([]row, error) {
	samples, errs := pool.Samples(ctx, targets)
	before := bySample(targets, samples, errs)
	if len(before) > 0 {
		if err := wait(ctx, interval); err != nil {
			return nil, err
		}
		// What did not answer is not asked again.
		for i := range targets {
			targets[i].Err = errs[i]
		}
		samples, errs = pool.Samples(ctx, targets)
	}
	rows := newRows(targets, before, samples, errs)
	for i := range rows {
		if rows[i].err == nil {
			rows[i].ratio = new(rows[i].sample.SinceStart())
		}
	}
	setSkews(rows)
	return rows, ctx.Err()
}

// wait waits for d. The error says that ctx ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return errors.New("interrupted")
	case <-timer.C:
		return nil
	}
}

// write writes s for people.
func (s status) write(out io.Writer) error {
	mc := s.memcached
	head := fmt.Sprintf("Memcached  %s/%s\nPods       %s ready\nEndpoint   %s\nImage      %s\nAccess     %s\n", mc.Namespace, mc.Name,
		cmp.Or(mc.Status.PodsReady, none), cmp.Or(mc.Status.Endpoint, none), cmp.Or(mc.Status.Image, none), requirements(mc.Spec))
	if _, err := io.WriteString(out, printers.EscapeTerminal(head)); err != nil {
		return err
	}
	conditions := table{head: []string{"CONDITION", "STATUS", "REASON", "AGE", "MESSAGE"}}
	for _, condition := range mc.Status.Conditions {
		conditions.add(condition.Type, string(condition.Status), condition.Reason, s.age(condition.LastTransitionTime), condition.Message)
	}
	objects := table{head: []string{"OBJECT", "AGE"}}
	for _, object := range s.objects {
		objects.add(object.Kind+"/"+object.Name, s.age(object.CreationTimestamp))
	}
	pods := table{head: []string{"POD", "NAME", "NODE", "READY", "RESTARTS", "VERSION", "FILL", "HIT RATIO", "EVICTIONS/S", "CONNECTIONS", "SKEW"}}
	for _, r := range s.rows {
		if r.err != nil {
			pods.add(r.Pod.Name, s.name(r), r.node(), r.ready(), r.restarts(), podProblem(r.err))
			continue
		}
		pods.add(r.Pod.Name, s.name(r), r.node(), r.ready(), r.restarts(), r.sample.Version, r.fill(), r.hitRatio(), r.perSecond(evictions), r.connections(), r.skewText())
	}
	if !mc.Spec.HasStableNames() {
		pods.remove(1)
	}
	for _, t := range []table{conditions, objects, pods} {
		if len(t.rows) == 0 {
			continue
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
		if err := t.write(out); err != nil {
			return err
		}
	}
	return nil
}

func (s status) name(r row) string { return cmp.Or(s.names[r.Pod.UID], none) }

func (s status) age(since metav1.Time) string {
	return duration.HumanDuration(s.now.Sub(since.Time))
}

// requirements says what clients need.
func requirements(spec cachev1alpha1.MemcachedSpec) string {
	var needs []string
	if spec.TLS != nil {
		text := fmt.Sprintf("TLS (Secret %s)", spec.TLS.SecretName)
		if auth := spec.TLS.ClientAuth; auth != nil && *auth != cachev1alpha1.ClientAuthNone {
			text = fmt.Sprintf("TLS (Secret %s, clientAuth %s)", spec.TLS.SecretName, *auth)
		}
		needs = append(needs, text)
	}
	if spec.Auth != nil {
		needs = append(needs, fmt.Sprintf("user and password (Secret %s)", spec.Auth.SecretName))
	}
	return cmp.Or(strings.Join(needs, ", "), "plain text, no password")
}
