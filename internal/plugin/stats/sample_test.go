// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"maps"
	"slices"
	"testing"
	"time"
)

var answer = map[string]string{
	"version": "1.6.45", "uptime": "100", "bytes": "10", "limit_maxbytes": "67108864", "curr_connections": "3", "max_connections": "1024",
	"cmd_get": "50", "get_hits": "40", "cmd_set": "10", "evictions": "5",
}

func TestParse_RejectsWhatIsNotMemcached(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		name, value string
		want        string
	}{
		"no number":          {"bytes", "many", `its statistics are not memcached's: bytes is "many"`},
		"a negative number":  {"evictions", "-1", `its statistics are not memcached's: evictions is "-1"`},
		"a fraction":         {"uptime", "1.5", `its statistics are not memcached's: uptime is "1.5"`},
		"a figure is absent": {"cmd_get", "", `its statistics are not memcached's: cmd_get is ""`},
		"too large":          {"cmd_set", "18446744073709551616", `its statistics are not memcached's: cmd_set is "18446744073709551616"`},
	} {
		changed := maps.Clone(answer)
		changed[test.name] = test.value
		if _, err := Parse(changed, time.Now()); err == nil || err.Error() != test.want {
			t.Errorf("%s: the error is %v, want %s", sentence, err, test.want)
		}
	}
}

func TestParse_AcceptsOldVersions(t *testing.T) {
	t.Parallel()
	old := maps.Clone(answer)
	delete(old, "max_connections")
	sample, err := Parse(old, time.Now())
	if err != nil || sample.MaxConnections != 0 || sample.Gets != 50 || sample.Uptime != 100*time.Second {
		t.Errorf("the sample is %+v, %v", sample, err)
	}
}

func TestSince_NeedsTheSameProcess(t *testing.T) {
	t.Parallel()
	before, err := Parse(answer, time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		change func(*Sample)
		want   bool
	}{
		"the same process":        {func(s *Sample) { s.Gets, s.Hits, s.Sets, s.Evictions, s.Uptime = 60, 45, 30, 25, 110*time.Second }, true},
		"nothing happened":        {func(*Sample) {}, true},
		"a new process":           {func(s *Sample) { s.Uptime = time.Second }, false},
		"reset counters":          {func(s *Sample) { s.Gets = 0 }, false},
		"reset evictions":         {func(s *Sample) { s.Evictions = 0 }, false},
		"a clock that ran back":   {func(s *Sample) { s.At = time.Unix(90, 0) }, false},
		"no time between the two": {func(s *Sample) { s.At = before.At }, false},
	} {
		after := before
		after.At = time.Unix(110, 0)
		test.change(&after)
		interval, ok := after.Since(before)
		if ok != test.want {
			t.Errorf("%s: there is an interval: %v, want %v", sentence, ok, test.want)
		}
		if sentence == "the same process" && (interval != Interval{Seconds: 10, Gets: 10, Hits: 5, Sets: 20, Evictions: 20} || interval.PerSecond(interval.Evictions) != 2) {
			t.Errorf("the interval is %+v", interval)
		}
	}
	young := Sample{At: time.Unix(100, 0), Uptime: time.Second, Gets: 5}
	if interval, ok := (Sample{At: time.Unix(160, 0), Uptime: 30 * time.Second, Gets: 500}).Since(young); ok {
		t.Errorf("there is an interval %+v to a process that began within it and has counted more", interval)
	}
	if _, ok := (Sample{At: time.Unix(160, 0), Uptime: 61 * time.Second, Gets: 500}).Since(young); !ok {
		t.Error("there is no interval of a process that runs for longer")
	}
	if _, ok := before.Since(Sample{}); ok {
		t.Error("there is an interval without an earlier sample")
	}
}

func TestSinceStart_LastsASecondAtLeast(t *testing.T) {
	t.Parallel()
	old, begun := Sample{Uptime: 10 * time.Second, Gets: 100}.SinceStart(), Sample{Gets: 10}.SinceStart()
	if got := Skews([]Interval{old, begun}); !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("the skews are %v, want 1 for the process that has just begun too", got)
	}
}

func TestInterval_HitRatioNeedsGets(t *testing.T) {
	t.Parallel()
	if _, ok := (Interval{Seconds: 1}).HitRatio(); ok {
		t.Error("there is a hit ratio without gets")
	}
	if ratio, ok := (Interval{Gets: 4, Hits: 1}).HitRatio(); !ok || ratio != 0.25 {
		t.Errorf("the hit ratio is %v, %v", ratio, ok)
	}
}

func TestSkews_AreMultiplesOfTheMean(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		intervals []Interval
		want      []float64
	}{
		"no pod":                  {nil, nil},
		"no requests":             {[]Interval{{Seconds: 1}, {Seconds: 1}}, nil},
		"one pod":                 {[]Interval{{Seconds: 2, Gets: 7}}, []float64{1}},
		"one has all":             {[]Interval{{Seconds: 1, Gets: 3}, {Seconds: 1}, {Seconds: 1}}, []float64{3, 0, 0}},
		"sets count":              {[]Interval{{Seconds: 1, Gets: 3}, {Seconds: 1, Sets: 1}}, []float64{1.5, 0.5}},
		"pods of different age":   {[]Interval{{Seconds: 10, Gets: 10}, {Seconds: 1, Gets: 1}}, []float64{1, 1}},
		"a process just began":    {[]Interval{{Seconds: 0}, {Seconds: 1, Gets: 1}}, []float64{0, 2}},
		"no time, some requests":  {[]Interval{{Seconds: 0, Gets: 1}}, []float64{1}},
		"one of two has requests": {[]Interval{{Seconds: 1, Gets: 2}, {Seconds: 1}}, []float64{2, 0}},
	} {
		if got := Skews(test.intervals); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", sentence, got, test.want)
		}
	}
}
