// SPDX-License-Identifier: Apache-2.0

// Package traffic is an application that has a cache in front of its database, under load: it reads keys by Zipf's law, fills the cache on a
// miss, and deletes or overwrites what it changes. It counts what it sees, second by second.
package traffic

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are the application and its load. Zero values are the defaults.
type Options struct {
	// Dial connects to the cache. It is called again after an error.
	Dial func(ctx context.Context) (net.Conn, error)
	// Keys is the number of keys, 10,000 by default; each has a value of ValueBytes, 500 by default.
	Keys, ValueBytes int
	// Workers is the number of connections, 8 by default. Each key is one worker's, so that what the cache answers is what was
	// written, or older.
	Workers int
	// Rate is requests in a second, 2,000 by default.
	Rate int
	// Skew is the exponent of Zipf's law, 0.99 by default.
	Skew float64
	// Reads is the share of requests that read, 0.95 by default; half of the others delete, half overwrite.
	Reads float64
	// Timeout is how long the cache may take for an answer, a second by default.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	o.Keys, o.ValueBytes = cmp.Or(o.Keys, 10000), cmp.Or(o.ValueBytes, 500)
	o.Workers, o.Rate = cmp.Or(o.Workers, 8), cmp.Or(o.Rate, 2000)
	o.Skew, o.Reads, o.Timeout = cmp.Or(o.Skew, 0.99), cmp.Or(o.Reads, 0.95), cmp.Or(o.Timeout, time.Second)
	return o
}

// Second is what the application saw in a second. A stale read is a hit of a value that it had deleted or overwritten before, and the cache
// had confirmed that; it counts as a hit too. A lost read is one that a cache which loses nothing would have answered: it is a miss or an
// error, and the cache had confirmed the value after the last delete.
type Second struct {
	Hits, Misses, Errors, Stale, Lost int
}

// Ratio returns the share of reads that hit, errors being misses; NaN without reads.
func (s Second) Ratio() float64 { return float64(s.Hits) / float64(s.Hits+s.Misses+s.Errors) }

// LostRatio returns the share of reads that were lost; NaN without reads.
func (s Second) LostRatio() float64 { return float64(s.Lost) / float64(s.Hits+s.Misses+s.Errors) }

// Load is a running load.
type Load struct {
	options Options
	started time.Time
	stop    context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	seconds []Second
}

// Start stores a value under each key and then starts the load. It ends with ctx, or by Stop.
func Start(ctx context.Context, options Options) *Load {
	ctx, stop := context.WithCancel(ctx)
	l := &Load{options: options.withDefaults(), stop: stop}
	workers := make([]*worker, l.options.Workers)
	var filling sync.WaitGroup
	for i := range workers {
		workers[i] = newWorker(l, i)
		filling.Go(func() { workers[i].fill(ctx) })
	}
	filling.Wait()
	l.started = time.Now()
	for _, w := range workers {
		l.workers.Go(func() { w.run(ctx) })
	}
	return l
}

// Stop ends the load and returns all that it saw.
func (l *Load) Stop() []Second {
	l.stop()
	l.workers.Wait()
	return l.Seconds()
}

// Seconds returns what the application has seen so far. The last second is not over.
func (l *Load) Seconds() []Second {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seconds)
}

// count adds to the current second.
func (l *Load) count(add func(*Second)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.seconds) <= int(time.Since(l.started)/time.Second) {
		l.seconds = append(l.seconds, Second{})
	}
	add(&l.seconds[len(l.seconds)-1])
}

// Dip is how far the hit ratio fell, in points of a hundred.
type Dip struct {
	// Points are those of the worst second.
	Points float64
	// Seconds is for how long the ratio of the last smoothing seconds was more than a point below. That of a single second is so by chance:
	// of 750 requests a second with 93 % hits, one second in seven.
	Seconds int
}

const smoothing = 5

// DipBelow returns the dip of the seconds after a change, below the ratio of those before it. The last second is not judged, since it may not
// be over.
func DipBelow(before, after []Second) Dip {
	ratio := Total(before).Ratio()
	below := func(s Second) float64 { return 100 * (ratio - s.Ratio()) }
	var dip Dip
	for i := range len(after) - 1 {
		if points := below(after[i]); points > dip.Points { // NaN, of a second without reads, is not more
			dip.Points = points
		}
		if below(Total(after[max(0, i+1-smoothing):i+1])) > 1 {
			dip.Seconds++
		}
	}
	return dip
}

// Total adds seconds up.
func Total(seconds []Second) (all Second) {
	for _, s := range seconds {
		all.Hits, all.Misses, all.Errors = all.Hits+s.Hits, all.Misses+s.Misses, all.Errors+s.Errors
		all.Stale, all.Lost = all.Stale+s.Stale, all.Lost+s.Lost
	}
	return all
}

// worker is a connection of the application, and the rows of the database for its keys.
type worker struct {
	*Load
	keys []string
	// shares holds the share of the keys up to each, in their order.
	shares []float64
	// versions counts the changes of each row. It is uncertain whether the cache has an older one if the last change was not confirmed.
	versions  []int
	uncertain []bool
	// stored tells for which rows the cache confirmed a value and was asked for no delete since.
	stored  []bool
	padding string
	cache   *connection
}

func newWorker(l *Load, index int) *worker {
	w := &worker{Load: l, padding: strings.Repeat("x", l.options.ValueBytes)}
	sum := 0.0
	for rank := index; rank < l.options.Keys; rank += l.options.Workers {
		sum += 1 / math.Pow(float64(rank+1), l.options.Skew)
		w.keys, w.shares = append(w.keys, "key-"+strconv.Itoa(rank)), append(w.shares, sum)
	}
	w.versions, w.uncertain, w.stored = make([]int, len(w.keys)), make([]bool, len(w.keys)), make([]bool, len(w.keys))
	return w
}

// fill stores all values, those that are read most at last.
func (w *worker) fill(ctx context.Context) {
	for i := range slices.Backward(w.keys) {
		w.store(ctx, i)
	}
}

func (w *worker) run(ctx context.Context) {
	defer w.disconnect()
	ticker := time.NewTicker(time.Second * time.Duration(w.options.Workers) / time.Duration(w.options.Rate))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.request(ctx)
		}
	}
}

// request reads or changes a key.
func (w *worker) request(ctx context.Context) {
	i, _ := slices.BinarySearch(w.shares, rand.Float64()*w.shares[len(w.shares)-1])
	if rand.Float64() < w.options.Reads {
		w.read(ctx, i)
		return
	}
	w.versions[i]++
	w.stored[i] = false
	if rand.IntN(2) == 0 {
		w.uncertain[i] = w.delete(ctx, i) != nil
		return
	}
	w.store(ctx, i)
	w.uncertain[i] = !w.stored[i]
}

// store gives the row to the cache. If that fails, it is a miss later.
func (w *worker) store(ctx context.Context, i int) {
	if w.set(ctx, i) == nil {
		w.stored[i] = true
	}
}

func (w *worker) read(ctx context.Context, i int) {
	value, err := w.get(ctx, i)
	if ctx.Err() != nil {
		return
	}
	if err != nil || value == "" {
		w.count(func(s *Second) {
			if err != nil {
				s.Errors++
			} else {
				s.Misses++
			}
			if w.stored[i] {
				s.Lost++
			}
		})
		if err == nil {
			w.store(ctx, i)
		}
		return
	}
	text, _, _ := strings.Cut(value, " ")
	version, err := strconv.Atoi(text)
	isStale := (err != nil || version != w.versions[i]) && !w.uncertain[i]
	w.count(func(s *Second) {
		s.Hits++
		if isStale {
			s.Stale++
		}
	})
}

// value returns the row of a key.
func (w *worker) value(i int) string {
	text := strconv.Itoa(w.versions[i]) + " "
	return text + w.padding[min(len(text), len(w.padding)):]
}
