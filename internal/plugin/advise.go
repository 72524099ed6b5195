// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

const adviseLong = `Advise says which fields of a Memcached do not fit its use, by what memcached has counted since it started, and why: memory,
connections, item size, threads, and how evenly the pods are used. It changes nothing.

The longer memcached runs the better the advice is: let it run through the hours of the highest load.

It needs the permissions of top.`

const adviseExample = `  kubectl memcached advise cache`

func (p *program) newAdviseCommand() *cobra.Command {
	connection := newConnection()
	cmd := &cobra.Command{
		Use:               "advise [NAME]",
		Short:             "Say which fields of a Memcached do not fit its use",
		Long:              adviseLong,
		Example:           adviseExample,
		Args:              atMost(1),
		ValidArgsFunction: p.completeNames(connection, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.advise(cmd, connection, strings.Join(args, ""))
		},
	}
	connection.addFlags(cmd, true)
	p.completeFlags(cmd, connection)
	return cmd
}

func (p *program) advise(cmd *cobra.Command, connection *connection, name string) error {
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
	uses, errs := usesOf(ctx, s.pool, targets)
	if err := writeAdvice(p.streams.Out, mc.Namespace+"/"+mc.Name, uses); err != nil {
		return err
	}
	var named []error
	for i, err := range errs {
		if err != nil {
			named = append(named, fmt.Errorf("pod %s: %w", targets[i].Pod.Name, err))
		}
	}
	return p.printProblems(cmd, named, errs)
}

// use is what a memcached has counted since it started.
type use struct {
	sample stats.Sample
	// Items are stored, and Evictions were, of which Unread were never read; the last was not used for EvictedAge.
	items, evictions, unread float64
	evictedAge               time.Duration
	// rejected is connections beyond the limit, tooLarge is items beyond the size.
	rejected, tooLarge float64
	threads            float64
	// cpu is seconds of CPU.
	cpu float64
}

// usesOf returns the use of each target that answers, and the error of each that does not.
func usesOf(ctx context.Context, pool *stats.Pool, targets []stats.Target) ([]use, []error) {
	all := make([]use, len(targets))
	errs := pool.Each(ctx, targets, func(i int, client *memcached.Client) error {
		general, err := client.Stats()
		if err != nil {
			return err
		}
		items, err := client.Stats("items")
		if err != nil {
			return err
		}
		all[i], err = newUse(general, items)
		return err
	})
	var uses []use
	for i, use := range all {
		if errs[i] == nil {
			uses = append(uses, use)
		}
	}
	return uses, errs
}

// newUse returns the use in the answers to the commands stats and stats items. A figure that an old memcached lacks is 0.
func newUse(general, items map[string]string) (use, error) {
	sample, err := stats.Parse(general, time.Now())
	if err != nil {
		return use{}, err
	}
	figure := func(name string) float64 {
		value, _ := strconv.ParseFloat(general[name], 64)
		return value
	}
	u := use{
		sample: sample, items: figure("curr_items"), evictions: figure("evictions"), unread: figure("evicted_unfetched"),
		rejected: figure("rejected_connections") + figure("listen_disabled_num"), tooLarge: figure("store_too_large"),
		threads: figure("threads"), cpu: figure("rusage_user") + figure("rusage_system"), evictedAge: math.MaxInt64,
	}
	for name, text := range items {
		class, isAge := strings.CutSuffix(name, ":evicted_time")
		if seconds, err := strconv.Atoi(text); isAge && err == nil && items[class+":evicted"] != "0" {
			u.evictedAge = min(u.evictedAge, time.Duration(seconds)*time.Second)
		}
	}
	return u, nil
}

// The bounds of advice.
const (
	enoughTime     = 24 * time.Hour // after which memory that is not used will not be
	muchUsed       = 0.8            // of connections
	littleUsed     = 0.5            // of memory
	busyThread     = 0.5            // of a CPU, on average over the day and the night
	unevenSkew     = 2.0
	mostlyUnread   = 0.5
	goodHitRatio   = 0.95
	roomAboveUse   = 1.3
	smallestMemory = 64 << 20 // the default
	mebibyte       = 1 << 20
	minimumGets    = 1000 // for a ratio to say something
)

// total is the use of all pods of a Memcached.
type total struct {
	// use has sums, and the smallest evictedAge.
	use
	// uptime is the shortest, largest is the bytes of the fullest pod.
	uptime  time.Duration
	largest uint64
	// busiest and openest are the largest shares of CPU of the threads, and of connections.
	busiest, openest float64
	// skew is the largest.
	skew float64
}

func sum(uses []use) total {
	t := total{use: use{evictedAge: math.MaxInt64}, uptime: math.MaxInt64}
	var intervals []stats.Interval
	for _, u := range uses {
		t.items, t.evictions, t.unread = t.items+u.items, t.evictions+u.evictions, t.unread+u.unread
		t.rejected, t.tooLarge = t.rejected+u.rejected, t.tooLarge+u.tooLarge
		t.sample.Bytes, t.sample.Limit = t.sample.Bytes+u.sample.Bytes, t.sample.Limit+u.sample.Limit
		t.sample.Gets, t.sample.Hits = t.sample.Gets+u.sample.Gets, t.sample.Hits+u.sample.Hits
		t.evictedAge, t.uptime, t.largest = min(t.evictedAge, u.evictedAge), min(t.uptime, u.sample.Uptime), max(t.largest, u.sample.Bytes)
		t.busiest = max(t.busiest, u.cpu/max(u.sample.Uptime.Seconds(), 1)/max(u.threads, 1))
		t.openest = max(t.openest, float64(u.sample.Connections)/float64(max(u.sample.MaxConnections, 1)))
		intervals = append(intervals, u.sample.SinceStart())
	}
	for _, skew := range stats.Skews(intervals) {
		t.skew = max(t.skew, skew)
	}
	return t
}

// advice is a field to change, and why.
type advice struct{ change, reason string }

// advice returns which fields do not fit the use.
func (t total) advice() []advice {
	found := t.memoryAdvice()
	add := func(is bool, change, format string, arguments ...any) {
		if is {
			found = append(found, advice{change, fmt.Sprintf(format, arguments...)})
		}
	}
	add(t.rejected > 0 || t.openest > muchUsed, "more maxConnections", "up to %.0f%% of the connections of a pod are open, and %.0f were refused", 100*t.openest, t.rejected)
	add(t.tooLarge > 0, "larger maxItemSize", "%.0f items were not stored because they are larger", t.tooLarge)
	add(t.busiest > busyThread, "more pods (size)", "the threads of a pod are busy for %.0f%% of the time", 100*t.busiest)
	add(t.skew > unevenSkew && t.sample.Gets >= minimumGets, "the clients",
		"a pod has %.1f times the mean of the requests: few keys have most of them, or clients use different lists of servers", t.skew)
	return found
}

// memoryAdvice returns whether the memory fits the use.
func (t total) memoryAdvice() []advice {
	used, ratio := float64(t.sample.Bytes)/max(float64(t.sample.Limit), 1), float64(t.sample.Hits)/max(float64(t.sample.Gets), 1)
	switch {
	case t.unread > mostlyUnread*t.evictions:
		return []advice{{"the application", fmt.Sprintf("%.0f%% of the evicted items were never read: store less, or with a shorter expiry", 100*t.unread/t.evictions)}}
	case t.evictions > 0 && ratio < goodHitRatio && t.sample.Gets >= minimumGets:
		return []advice{{"twice the memory, or size", fmt.Sprintf("items are evicted %s after their last use, and %.1f%% of gets are hits: with twice the memory they stay about twice as long",
			duration.HumanDuration(t.evictedAge), 100*ratio)}}
	case t.evictions == 0 && used < littleUsed && t.uptime >= enoughTime && t.sample.Limit > smallestMemory:
		room := max(smallestMemory, int64(float64(t.largest)*roomAboveUse)/mebibyte*mebibyte+mebibyte)
		return []advice{{"memory: " + resource.NewQuantity(room, resource.BinarySI).String(), fmt.Sprintf("%.0f%% of the memory is used after %s, without evictions", 100*used, duration.HumanDuration(t.uptime))}}
	default:
		return nil
	}
}

// writeAdvice writes what uses, the pods of the Memcached name that answer, say.
func writeAdvice(out io.Writer, name string, uses []use) error {
	t := sum(uses)
	if _, err := fmt.Fprintf(out, "Memcached  %s\nItems      %.0f, %.0f bytes each, in %.0f of %.0f MiB of %d pods\n\n", printers.EscapeTerminal(name),
		t.items, float64(t.sample.Bytes)/max(t.items, 1), float64(t.sample.Bytes)/mebibyte, float64(t.sample.Limit)/mebibyte, len(uses)); err != nil {
		return err
	}
	lines := table{head: []string{"CHANGE", "BECAUSE"}}
	for _, a := range t.advice() {
		lines.add(a.change, a.reason)
	}
	switch {
	case len(uses) == 0:
		return nil
	case len(lines.rows) == 0:
		_, err := fmt.Fprintln(out, "Its fields fit its use so far.")
		return err
	default:
		return lines.write(out)
	}
}
