// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"strconv"
	"time"
)

// Sample is the statistics of a memcached at a time. The counters begin with the process.
type Sample struct {
	At      time.Time
	Version string
	// Uptime is how long the process runs.
	Uptime time.Duration
	// Bytes are in use of Limit.
	Bytes, Limit uint64
	// Connections are open of MaxConnections, which is 0 where memcached does not say.
	Connections, MaxConnections uint64
	// Gets, Hits, Sets and Evictions are counters.
	Gets, Hits, Sets, Evictions uint64
}

// Parse returns the Sample in the answer to the command stats.
func Parse(answer map[string]string, at time.Time) (Sample, error) {
	s := Sample{At: at, Version: answer["version"]}
	var uptime uint64
	for name, target := range map[string]*uint64{
		"uptime": &uptime, "bytes": &s.Bytes, "limit_maxbytes": &s.Limit, "curr_connections": &s.Connections,
		"cmd_get": &s.Gets, "get_hits": &s.Hits, "cmd_set": &s.Sets, "evictions": &s.Evictions, "max_connections": &s.MaxConnections,
	} {
		text, found := answer[name]
		if !found && name == "max_connections" {
			continue
		}
		value, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return Sample{}, fmt.Errorf("its statistics are not memcached's: %s is %q", name, text)
		}
		*target = value
	}
	s.Uptime = time.Duration(min(uptime, 1<<32)) * time.Second
	return s, nil
}

// Interval is the change of a memcached between two samples.
type Interval struct {
	Seconds                     float64
	Gets, Hits, Sets, Evictions uint64
}

// SinceStart returns the change of a memcached since its process began. memcached counts whole seconds.
func (s Sample) SinceStart() Interval {
	return Interval{Seconds: max(s.Uptime.Seconds(), 1), Gets: s.Gets, Hits: s.Hits, Sets: s.Sets, Evictions: s.Evictions}
}

// Since returns the change between before and s. It is false when there is none: the process began in between, or the
// counters were reset.
func (s Sample) Since(before Sample) (Interval, bool) {
	elapsed := s.At.Sub(before.At)
	// A process that began after before may run for longer than the one before it did, and have counted more.
	began := s.Uptime < before.Uptime || s.Uptime < elapsed
	if before.At.IsZero() || elapsed <= 0 || began || s.Gets < before.Gets || s.Sets < before.Sets || s.Hits < before.Hits || s.Evictions < before.Evictions {
		return Interval{}, false
	}
	return Interval{
		Seconds: elapsed.Seconds(), Gets: s.Gets - before.Gets, Hits: s.Hits - before.Hits, Sets: s.Sets - before.Sets,
		Evictions: s.Evictions - before.Evictions,
	}, true
}

// PerSecond returns a counter's change per second.
func (i Interval) PerSecond(count uint64) float64 { return float64(count) / max(i.Seconds, 1e-3) }

// HitRatio returns the share of gets that were hits. It is false without gets.
func (i Interval) HitRatio() (float64, bool) {
	if i.Gets == 0 {
		return 0, false
	}
	return float64(i.Hits) / float64(i.Gets), true
}

// Skews returns the gets and sets per second of each memcached as a multiple of their mean: 1 everywhere when keys and traffic
// are spread evenly. It is nil when there are none.
func Skews(intervals []Interval) []float64 {
	var sum float64
	for _, interval := range intervals {
		sum += interval.PerSecond(interval.Gets + interval.Sets)
	}
	if sum == 0 {
		return nil
	}
	skews := make([]float64, len(intervals))
	for i, interval := range intervals {
		skews[i] = interval.PerSecond(interval.Gets+interval.Sets) * float64(len(intervals)) / sum
	}
	return skews
}
