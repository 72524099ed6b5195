// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/example/memcached-operator/test/testenv"
)

// reportVariable is the environment variable with the name of the file that the figures are
// written to as Markdown.
const reportVariable = "SCALE_REPORT"

// The goals. createSize is the number of Memcacheds that those of time and CPU are for.
const (
	createSize        = 1000
	ratioGoal         = 1.25
	reconcilesGoal    = 6.0 // its own event, those of four writes unless they come together, and that of the Deployment controller
	cpuGoal           = 8 * time.Millisecond
	emptyGoal         = 40 << 20
	rssSize           = 10_000
	rssGoal           = 160 << 20
	servedGoal        = time.Second
	reloadGoal        = time.Minute
	editGoal          = 100 * time.Millisecond
	metGoal, notMet   = "met", "MISSED"
	notJudged, noGoal = "not judged at this size", ""
)

// row is a line of the report.
type row struct{ goal, figure, result string }

// evaluate returns the result for a goal that applies or does not.
func evaluate(applies, met bool) string {
	switch {
	case !applies:
		return notJudged
	case met:
		return metGoal
	default:
		return notMet
	}
}

// rows returns the report about f.
func (f *figures) rows() []row {
	n := float64(f.memcacheds)
	perMemcached := func(keep func(request) bool) float64 { return float64(f.start.requests.of(keep)) / n }
	reconciles := float64(f.start.reconciles) / n
	idle := f.idle.requests.of(func(r request) bool { return !r.isLease() && !r.isDiscovery() && r.verb != "watch" })
	up := f.memcacheds <= rssSize
	return slices.Concat([]row{
		{fmt.Sprintf("all written in at most %.2f x a bare client's time (aim 1.15), at %d", ratioGoal, createSize),
			fmt.Sprintf("%.2f x: %.1f s from the start of the process, the bare client %.1f s", f.ratio(f.bare.total()), f.start.written.Seconds(), f.bare.total().Seconds()),
			evaluate(f.memcacheds == createSize, f.ratio(f.bare.total()) <= ratioGoal)},
		{"  against the bare client without events", fmt.Sprintf("%.2f x: %.1f s", f.ratio(f.bare.objects), f.bare.objects.Seconds()), noGoal},
		{"  from readiness on", fmt.Sprintf("%.2f x: %.1f s", (f.start.written-f.start.ready).Seconds()/f.bare.total().Seconds(), (f.start.written - f.start.ready).Seconds()), noGoal},
		{"  writes of a Memcached", fmt.Sprintf("%.2f, events %.2f; the bare client %.2f together", perMemcached(request.isWrite), perMemcached(request.isEvent), float64(f.bare.requests)/n), noGoal},
		{fmt.Sprintf("at most %.0f reconciles of a new Memcached, on average to 1 %%", reconcilesGoal), fmt.Sprintf("%.4f", reconciles), evaluate(true, reconciles <= 1.01*reconcilesGoal)},
		{fmt.Sprintf("at most %s of CPU for a new Memcached, at %d", cpuGoal, createSize), fmt.Sprintf("%.2f ms", f.cpu().Seconds()*1000), evaluate(f.memcacheds == createSize, f.cpu() <= cpuGoal)},
		// How much of the file is resident depends on the machine: the kernel reads it ahead, and drops it when memory is short.
		{fmt.Sprintf("at most %d MiB resident without Memcacheds, the program's file apart", emptyGoal>>20), resident(f.empty.used),
			evaluate(true, f.empty.used.anonymous <= emptyGoal)},
		{fmt.Sprintf("at most %d MiB resident with %d", rssGoal>>20, rssSize), fmt.Sprintf("after the start %s; idle %s; after the restart %s", resident(f.start.used), resident(f.idle.used), resident(f.restart.used)),
			evaluate(up, f.settledRSS() <= rssGoal)},
	}, f.changeRows(), []row{
		{"no request while idle but for the lease, watches and discovery", fmt.Sprintf("%d in %s; in all %s", idle, f.idle.window, summary(f.idle.requests)), evaluate(true, idle == 0)},
	})
}

// changeRows returns the part of the report that is about edits and the restart.
func (f *figures) changeRows() []row {
	// With few Memcacheds, as in CI, times are printed and not judged.
	timed := f.memcacheds >= createSize && f.memcacheds <= rssSize
	return []row{
		{fmt.Sprintf("99 of 100 edits in the child within %s", editGoal),
			fmt.Sprintf("p50 %d ms, p99 %d ms, the slowest of %d %d ms", f.edits.p50.Milliseconds(), f.edits.p99.Milliseconds(), edits, f.edits.most.Milliseconds()),
			evaluate(timed, f.edits.p99 <= editGoal)},
		{"no write after a restart", fmt.Sprintf("%d; ready after %.1f s, leader after %.1f s, CPU %.1f s", f.restart.writes, f.restart.ready.Seconds(), f.restart.leads.Seconds(), f.restart.used.cpu.Seconds()),
			evaluate(true, f.restart.writes == 0)},
		{fmt.Sprintf("a new Memcached has its children within %s of leadership", servedGoal), fmt.Sprintf("%d ms", f.restart.served.Milliseconds()), evaluate(timed, f.restart.served <= servedGoal)},
		{fmt.Sprintf("a reload of %d within %s, and a new Memcached meanwhile within %s", rssSize, reloadGoal, servedGoal),
			fmt.Sprintf("%.1f s and %d ms, %d writes", f.reload.took.Seconds(), f.reload.served.Milliseconds(), f.reload.writes),
			evaluate(timed, f.reload.took <= reloadGoal && f.reload.served <= servedGoal && f.reload.writes == 0)},
	}
}

// resident describes the resident memory of a process.
func resident(used usage) string {
	return fmt.Sprintf("%d MiB (%d without the program's file, at most %d)", used.rss>>20, used.anonymous>>20, used.maxRSS>>20)
}

// summary returns how many requests of each verb and resource there were.
func summary(c counts) string {
	totals := map[string]int{}
	for r, count := range c {
		totals[r.verb+" "+cmp.Or(r.resource, "discovery")] += count
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		texts = append(texts, fmt.Sprintf("%d %s", totals[name], name))
	}
	return strings.Join(texts, ", ")
}

// reported are the figures reported so far.
var reported []*figures

// report prints the figures beside their goals and fails for every goal that is missed.
func report(t *testing.T, f *figures) {
	t.Helper()
	reported = append(reported, f)
	fmt.Printf("\n%d Memcacheds of size 0, in %d namespaces; %s\n\n", f.memcacheds, namespaces, machine())
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "goal\tfigure\tresult")
	for _, r := range f.rows() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.goal, r.figure, r.result)
		if r.result == notMet {
			t.Errorf("%s: %s", r.goal, r.figure)
		}
	}
	testenv.NoError(t, table.Flush())
	fmt.Printf("\nrequests of the start: %s\n\n", summary(f.start.requests))
	if name := os.Getenv(reportVariable); name != "" {
		testenv.NoError(t, os.WriteFile(name, []byte(markdown()), 0o600))
	}
}

// machine describes what was measured on.
func machine() string {
	return fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// markdown returns all reported figures: the table of docs/user/scale.md, then the goals.
func markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s; %s.\n\n", suite.started.Format(time.DateOnly), machine())
	b.WriteString("| Memcacheds | RSS MiB | CPU s | start s | requests |\n|---|---|---|---|---|\n")
	if len(reported) > 0 {
		empty := reported[0].empty
		fmt.Fprintf(&b, "| 0 | %s | %.1f | %.1f | %d |\n", rssCell(empty.used.rss, empty.used.maxRSS), empty.used.cpu.Seconds(), empty.ready.Seconds(), empty.requests.of(isCounted))
	}
	for _, f := range reported {
		fmt.Fprintf(&b, "| %d | %s | %.1f | %.1f | %d |\n", f.memcacheds, rssCell(f.settledRSS(), f.maxRSS()), f.start.used.cpu.Seconds(), f.start.written.Seconds(), f.start.requests.of(isCounted))
	}
	for _, f := range reported {
		fmt.Fprintf(&b, "\n## %d Memcacheds\n\n| goal | figure | result |\n|---|---|---|\n", f.memcacheds)
		for _, r := range f.rows() {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.TrimSpace(r.goal), r.figure, r.result)
		}
	}
	return b.String()
}

// isCounted reports whether r counts among the requests of a start.
func isCounted(r request) bool { return !r.isLease() }

func rssCell(settled, most int64) string {
	return fmt.Sprintf("%d (at most %d)", settled>>20, most>>20)
}
