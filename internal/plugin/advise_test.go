// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"io"
	"maps"
	"strings"
	"testing"
)

// general is what memcached answers to stats after two days, without what does not fit.
var general = map[string]string{
	"version": "1.6.45", "uptime": "172800", "bytes": "900000000", "limit_maxbytes": "1073741824", "curr_connections": "100", "max_connections": "1024",
	"cmd_get": "1000000", "get_hits": "990000", "cmd_set": "20000", "evictions": "0", "curr_items": "1000000", "evicted_unfetched": "0",
	"rejected_connections": "0", "listen_disabled_num": "0", "store_too_large": "0", "threads": "4", "rusage_user": "3600.5", "rusage_system": "3600.5",
}

// evictedClasses are those of two classes, of which one has evicted none.
var evictedClasses = map[string]string{"items:4:evicted": "0", "items:4:evicted_time": "0", "items:12:evicted": "5000", "items:12:evicted_time": "1200"}

func TestAdvise_FitsTheUse(t *testing.T) {
	t.Parallel()
	const fits = "Its fields fit its use so far.\n"
	for sentence, test := range map[string]struct {
		// changes are those of the second of two pods.
		changes map[string]string
		want    string
	}{
		"nothing to change": {nil, fits},
		"evictions of what is read": {
			map[string]string{"evictions": "5000", "evicted_unfetched": "100", "get_hits": "700000"},
			"twice the memory, or size   items are evicted 20m after their last use, and 84.5% of gets are hits: with twice the memory they stay about twice as long\n",
		},
		"evictions that cost nothing":   {map[string]string{"evictions": "5000", "evicted_unfetched": "100"}, fits},
		"evictions of what is not read": {map[string]string{"evictions": "5000", "evicted_unfetched": "3000"}, "the application   60% of the evicted items were never read: store less, or with a shorter expiry\n"},
		"connections are open":          {map[string]string{"curr_connections": "1000"}, "more maxConnections   up to 98% of the connections of a pod are open, and 0 were refused\n"},
		"connections were refused":      {map[string]string{"rejected_connections": "7"}, "more maxConnections   up to 10% of the connections of a pod are open, and 7 were refused\n"},
		"items were too large":          {map[string]string{"store_too_large": "3"}, "larger maxItemSize   3 items were not stored because they are larger\n"},
		"the threads are busy":          {map[string]string{"rusage_user": "500000"}, "more pods (size)   the threads of a pod are busy for 73% of the time\n"},
		"the requests are uneven":       {map[string]string{"cmd_get": "1", "get_hits": "1", "cmd_set": "0"}, fits}, // twice the mean of two pods at most
		"a memcached that counts less":  {map[string]string{"evicted_unfetched": "", "rejected_connections": "", "store_too_large": ""}, fits},
		"the memory is not used yet":    {map[string]string{"bytes": "10", "uptime": "600", "rusage_user": "1", "rusage_system": "1"}, fits},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			changed := maps.Clone(general)
			maps.Copy(changed, test.changes)
			first, err := newUse(general, nil)
			if err != nil {
				t.Fatal(err)
			}
			second, err := newUse(changed, evictedClasses)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := writeAdvice(&out, "shop/cache", []use{first, second}); err != nil {
				t.Fatal(err)
			}
			if _, got, _ := strings.Cut(out.String(), "\n\n"); strings.TrimPrefix(got, strings.SplitAfter(got, "\n")[0]) != test.want && got != test.want {
				t.Errorf("it advises\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestAdvise_Golden(t *testing.T) {
	t.Parallel()
	wasteful := maps.Clone(general)
	maps.Copy(wasteful, map[string]string{"bytes": "200000000", "store_too_large": "1"})
	var uses []use
	for _, answer := range []map[string]string{wasteful, wasteful, general} {
		u, err := newUse(answer, nil)
		if err != nil {
			t.Fatal(err)
		}
		u.sample.Bytes, u.sample.Gets = min(u.sample.Bytes, 210000000), u.sample.Gets*uint64(1+10*(len(uses)/2))
		uses = append(uses, u)
	}
	golden(t, "advise.txt", func(out io.Writer) error { return writeAdvice(out, "shop/cache", uses) })
	golden(t, "advise-none.txt", func(out io.Writer) error { return writeAdvice(out, "shop/cache", nil) })
	if _, err := newUse(map[string]string{"version": "1.6.45"}, nil); err == nil {
		t.Error("an answer without figures is accepted")
	}
}
