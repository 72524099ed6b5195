// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// extraArgs are examples of everything that spec.extraArgs takes, and how they show in
// memcached's settings, where they do.
var extraArgs = map[string]settings{
	"--disable-cas":                           {"cas_enabled": "no"},
	"--disable-dumping":                       {"dump_enabled": "no"},
	"--disable-evictions":                     {"evictions": "off"},
	"--disable-flush-all":                     {"flush_enabled": "no"},
	"--disable-watch":                         nil,
	"--enable-largepages":                     nil,
	"--listen-backlog=512":                    {"tcp_backlog": "512"},
	"--max-reqs-per-event=40":                 {"reqs_per_event": "40"},
	"--protocol=ascii":                        {"binding_protocol": "ascii"},
	"--slab-growth-factor=1.5":                {"growth_factor": "1.50"},
	"--slab-min-size=64":                      {"chunk_size": "64"},
	"--extended=hash_algorithm=xxh3":          {"hash_algorithm": "xxh3"},
	"--extended=hash_algorithm=jenkins":       {"hash_algorithm": "jenkins"},
	"--extended=hash_algorithm=murmur3":       {"hash_algorithm": "murmur3"},
	"--extended=hashpower=16":                 {"hashpower_init": "16"},
	"--extended=hot_lru_pct=30":               {"hot_lru_pct": "30"},
	"--extended=hot_max_factor=0.3":           {"hot_max_factor": "0.30"},
	"--extended=lru_crawler":                  {"lru_crawler": "yes"},
	"--extended=lru_crawler_sleep=200":        {"lru_crawler_sleep": "200"},
	"--extended=lru_crawler_tocrawl=100":      {"lru_crawler_tocrawl": "100"},
	"--extended=lru_maintainer":               {"lru_maintainer_thread": "yes"},
	"--extended=maxconns_fast":                {"maxconns_fast": "yes"},
	"--extended=modern":                       nil,
	"--extended=no_hashexpand":                nil,
	"--extended=no_lru_crawler":               {"lru_crawler": "no"},
	"--extended=no_lru_maintainer":            {"lru_maintainer_thread": "no"},
	"--extended=no_maxconns_fast":             {"maxconns_fast": "no"},
	"--extended=no_slab_automove":             {"slab_automove": "0"},
	"--extended=no_slab_reassign":             {"slab_reassign": "no"},
	"--extended=slab_automove":                {"slab_automove": "1"},
	"--extended=slab_automove=2":              {"slab_automove": "2"},
	"--extended=slab_automove_freeratio=0.02": {"slab_automove_freeratio": "0.020"},
	"--extended=slab_automove_ratio=0.7":      {"slab_automove_ratio": "0.70"},
	"--extended=slab_automove_window=60":      {"slab_automove_window": "60"},
	"--extended=slab_reassign":                {"slab_reassign": "yes"},
	"--extended=tail_repair_time=3600":        {"tail_repair_time": "3600"},
	"--extended=temporary_ttl=120":            {"temporary_ttl": "120"},
	"--extended=track_sizes":                  {"track_sizes": "yes"},
	"--extended=warm_lru_pct=50":              {"warm_lru_pct": "50"},
	"--extended=warm_max_factor=3":            {"warm_max_factor": "3.00"},
	"--extended=watcher_logbuf_size=512":      {"watcher_logbuf_size": "524288"},
	"--extended=worker_logbuf_size=128":       {"worker_logbuf_size": "131072"},
}

func TestExtraArgs_ReachMemcached(t *testing.T) {
	t.Parallel()
	for arg, want := range extraArgs {
		t.Run(arg, func(t *testing.T) {
			t.Parallel()
			startsWith(t, fmt.Sprintf("extraArgs: [%s]", arg), want)
		})
	}
}

// TestExtraArgs_ExamplesAndPageMatchTheAPI: the examples above and the page for users have each option that the API
// accepts, and no other.
func TestExtraArgs_ExamplesAndPageMatchTheAPI(t *testing.T) {
	t.Parallel()
	patterns := extraArgsPatterns(t)
	allowed := map[string]bool{}
	for _, pattern := range patterns {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		testenv.NoError(t, err)
		for _, text := range texts(parsed) {
			allowed[option(text)] = true
		}
	}
	shown := map[string]bool{}
	for arg := range extraArgs {
		shown[option(arg)] = true
		if !slices.ContainsFunc(patterns, func(p string) bool { return regexp.MustCompile(p).MatchString(arg) }) {
			t.Errorf("the API rejects the example %s", arg)
		}
	}
	want := slices.Sorted(maps.Keys(allowed))
	for where, options := range map[string]map[string]bool{"this test": shown, "docs/reference/extra-args.md": optionsOnThePage(t)} {
		if got := slices.Sorted(maps.Keys(options)); !slices.Equal(got, want) {
			t.Errorf("%s has\n%q, and the API accepts\n%q", where, got, want)
		}
	}
}

// optionsOnThePage returns the options in the first column of the tables of docs/reference/extra-args.md.
func optionsOnThePage(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(repository, "docs", "reference", "extra-args.md"))
	testenv.NoError(t, err)
	_, lists, _ := strings.Cut(string(page), "\n## Options\n")
	lists, _, _ = strings.Cut(lists, "\n## Rejected options\n")
	options := map[string]bool{}
	for line := range strings.Lines(lists) {
		cells := strings.Split(line, "|")
		if len(cells) < 2 {
			continue
		}
		for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			name := strings.TrimSuffix(found[1], "=")
			if !strings.HasPrefix(name, "--") {
				name = "--extended=" + name
			}
			options[option(name)] = true
		}
	}
	return options
}

// option is the name in an argument, without its value.
func option(arg string) string {
	const extended = "--extended="
	inner, is := strings.CutPrefix(arg, extended)
	name, _, _ := strings.Cut(inner, "=")
	if is {
		return extended + name
	}
	return name
}

// extraArgsPatterns are the patterns in the rule for spec.extraArgs.
func extraArgsPatterns(t *testing.T) []string {
	t.Helper()
	items := testenv.SpecSchema(t).Properties["extraArgs"].Items
	if items == nil {
		t.Fatal("the CRD has no spec.extraArgs")
	}
	var patterns []string
	for _, rule := range items.Schema.XValidations {
		for _, found := range regexp.MustCompile(`matches\('([^']*)'\)`).FindAllStringSubmatch(rule.Rule, -1) {
			patterns = append(patterns, found[1])
		}
	}
	if len(patterns) == 0 {
		t.Fatal("the rule of spec.extraArgs matches no pattern")
	}
	return patterns
}

// texts are what a pattern matches, with # for a part that is not written out.
func texts(pattern *syntax.Regexp) []string {
	switch pattern.Op {
	case syntax.OpLiteral:
		return []string{string(pattern.Rune)}
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpCapture:
		return texts(pattern.Sub[0])
	case syntax.OpQuest:
		return append(texts(pattern.Sub[0]), "")
	case syntax.OpAlternate:
		var all []string
		for _, sub := range pattern.Sub {
			all = append(all, texts(sub)...)
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range pattern.Sub {
			var longer []string
			for _, end := range texts(sub) {
				for _, begin := range all {
					longer = append(longer, begin+end)
				}
			}
			all = longer
		}
		return all
	default:
		return []string{"#"}
	}
}

// TestExtraArgs_DoNotOverrideFields: a field of the spec takes precedence over the same setting in extraArgs.
func TestExtraArgs_DoNotOverrideFields(t *testing.T) {
	t.Parallel()
	startsWith(t, "{maxItemSize: 96Ki, extraArgs: [--extended=slab_chunk_max=1, --max-item-size=2048, --extended=idle_timeout=1, --udp-port=11211], idleTimeoutSeconds: 90}",
		settings{"slab_chunk_max": "32768", "item_size_max": "98304", "idle_timeout": "90", "udpport": "0"})
}
