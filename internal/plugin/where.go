// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

const whereLong = `Where asks every pod of a Memcached whether it has a key, and shows which one does. The client decides which pod holds a
key, so only the pods know. It does not read the value, and does not count as a use of the key. A key in two pods says
that clients disagree about the list of servers, or that it was there before the list changed.

Exit codes:
  0  a pod has the key
  1  no pod has it, or a pod did not answer
  2  a flag is wrong, or the cluster cannot be read`

const whereExample = `  kubectl memcached where session:42 cache`

// location is the answer of a pod about a key.
type location struct {
	stats.Target
	// item is what memcached knows about the key; nil when it has none.
	item map[string]string
	err  error
}

func (p *program) newWhereCommand() *cobra.Command {
	connection := newConnection()
	cmd := &cobra.Command{
		Use:               "where KEY [NAME]",
		Short:             "Show which pod of a Memcached has a key",
		Long:              whereLong,
		Example:           whereExample,
		Args:              atMost(2),
		ValidArgsFunction: p.completeNames(connection, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("the key is missing: the usage is %s", cmd.UseLine())
			}
			if err := memcached.CheckKey(args[0]); err != nil {
				return err
			}
			return p.where(cmd, connection, args[0], strings.Join(args[1:], ""))
		},
	}
	connection.addFlags(cmd, true)
	p.completeFlags(cmd, connection)
	return cmd
}

func (p *program) where(cmd *cobra.Command, connection *connection, key, name string) error {
	ctx := cmd.Context()
	s, err := connection.open(p.dial)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	_, targets, err := s.podsOf(ctx, name)
	if err != nil {
		return err
	}
	locations := make([]location, len(targets))
	errs := s.pool.Each(ctx, targets, func(i int, client *memcached.Client) (err error) {
		locations[i].item, err = client.Item(key)
		return err
	})
	found := false
	for i, target := range targets {
		locations[i].Target, locations[i].err = target, errs[i]
		found = found || errs[i] == nil && locations[i].item != nil
	}
	if err := writeLocations(p.streams.Out, locations); err != nil {
		return err
	}
	if !found {
		errs = append(errs, errors.New("no pod has the key"))
	}
	return p.printProblems(cmd, nil, errs)
}

func writeLocations(out io.Writer, locations []location) error {
	t := table{head: []string{"POD", "NODE", "HAS KEY", "SIZE", "EXPIRES IN", "LAST USED"}}
	for _, l := range locations {
		node := cmp.Or(l.Pod.Spec.NodeName, none)
		switch {
		case l.err != nil:
			t.add(l.Pod.Name, node, podProblem(l.err))
		case l.item == nil:
			t.add(l.Pod.Name, node, "no", none, none, none)
		default:
			lastUsed := none
			if text := seconds(l.item["la"]); text != none {
				lastUsed = text + " ago"
			}
			t.add(l.Pod.Name, node, "yes", cmp.Or(l.item["size"], none), expiry(l.item["exp"]), lastUsed)
		}
	}
	return t.write(out)
}

// expiry returns in how many seconds an item expires, as people read it. memcached says -1 for never, and before 1.6.24 it
// says the number of seconds with the wrong sign (https://github.com/memcached/memcached/issues/1100).
func expiry(text string) string {
	if text == "-1" {
		return "never"
	}
	return seconds(strings.TrimPrefix(text, "-"))
}

// seconds returns a number of seconds as people read it.
func seconds(text string) string {
	count, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return none
	}
	return duration.HumanDuration(time.Duration(count) * time.Second)
}
