// SPDX-License-Identifier: Apache-2.0

package pacing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Outcome is what a reconcile found or did. The zero value means that the rollout has nothing to wait for: the
// Memcached is ready, paused or gone.
type Outcome struct {
	// Deferred reports that MayReplacePods returned false.
	Deferred bool
	// NotReady reports that the Memcached is not ready, although it once was with its present spec. One that never
	// was is its user's business.
	NotReady bool
	// Replacing reports that the Deployment is replacing pods.
	Replacing bool
	// Stalled reports that the Memcached is stalled.
	Stalled bool
}

// Candidate is a Memcached whose pods would be replaced.
type Candidate struct {
	types.NamespacedName
	// Outdated identifies the state of its objects. Another client changed one of them if it changes.
	Outdated string
	// Ready reports whether all pods are ready. Those that are not go first, since this may be what mends them.
	Ready bool
	// Size is the number of pods. Small ones go before large ones.
	Size int32
}

// compare orders candidates by their turn.
func (c Candidate) compare(other Candidate) int {
	ready := func(c Candidate) int {
		if c.Ready {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(ready(c), ready(other)), cmp.Compare(c.Size, other.Size), strings.Compare(c.String(), other.String()))
}

// Progress is the progress of a rollout.
type Progress struct {
	// Done is how many of the Memcacheds in the rollout are done, rounded down to a tenth of all, and Of how many
	// there are; 0 until that is known.
	Done, Of int
	// Halted reports that none begins since one became stalled.
	Halted bool
}

// String returns the progress for a message.
func (p Progress) String() string {
	text := "waiting for roll-out"
	if p.Of > 0 {
		text += fmt.Sprintf(" (%d of %d done)", p.Done, p.Of)
	}
	if p.Halted {
		text += ", which is halted because a Memcached became stalled"
	}
	return text
}

// passOver is for how long a rollout waits for a Memcached each reconcile of which fails.
const passOver = 2 * time.Minute

// failure is a series of failed reconciles.
type failure struct {
	since time.Time
	// passed reports that the rollout goes on without the Memcached.
	passed bool
}

// Counts is how many Memcacheds of a rollout are in which state.
type Counts struct{ Waiting, Replacing, Stalled int }

// Limiter decides when Memcacheds may replace their pods. It is safe for use by many goroutines.
type Limiter struct {
	limit intstr.IntOrString
	list  func(context.Context) ([]types.NamespacedName, error)
	wake  func(types.NamespacedName)
	now   func() time.Time

	mu sync.Mutex
	// unseen holds the Memcacheds that have not been reconciled since the start; nil until the first call.
	unseen map[types.NamespacedName]bool
	// total is the number of Memcacheds at the start.
	total int
	// waiting, replacing and stalled hold the Memcacheds of the rollout that are not done.
	waiting            map[types.NamespacedName]Candidate
	replacing, stalled map[types.NamespacedName]bool
	// failing holds the Memcacheds whose last reconciles failed.
	failing map[types.NamespacedName]failure
	// all is the number of Memcacheds in the rollout. It is 0 until each has been seen.
	all int
	// shown is the progress that waiting Memcacheds were last woken for.
	shown Progress
}

// New returns a Limiter. limit is how many of all Memcacheds may replace their pods at the same time: a number or a
// percentage, rounded down, at least 1. list returns all Memcacheds. wake enqueues one that may begin, or whose
// Progress changed; it must not block. now is time.Now, except in tests.
func New(limit intstr.IntOrString, list func(context.Context) ([]types.NamespacedName, error), wake func(types.NamespacedName), now func() time.Time) *Limiter {
	return &Limiter{
		limit: limit, list: list, wake: wake, now: now, failing: map[types.NamespacedName]failure{},
		waiting: map[types.NamespacedName]Candidate{}, replacing: map[types.NamespacedName]bool{}, stalled: map[types.NamespacedName]bool{},
	}
}

// Next returns the Limiter of the next templates. It begins anew, as after a start, but for Memcacheds that replace their pods
// already. What l allows or is told from now on is not known to it, until these Memcacheds are reconciled with the next templates.
func (l *Limiter) Next() *Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := New(l.limit, l.list, l.wake, l.now)
	next.replacing, next.stalled = maps.Clone(l.replacing), maps.Clone(l.stalled)
	return next
}

// MayReplacePods reports whether the pods of c may be replaced now. If not, c waits and is woken in its turn.
//
// A need that arises once each Memcached has been seen is not one of the templates: another client changed
// an object, so that it is reverted at once. So is such a change while c waits.
func (l *Limiter) MayReplacePods(ctx context.Context, c Candidate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.replacing[c.NamespacedName] || l.stalled[c.NamespacedName] {
		return true
	}
	switch before, waits := l.waiting[c.NamespacedName]; {
	case waits && before.Outdated != c.Outdated:
		delete(l.waiting, c.NamespacedName)
		l.replacing[c.NamespacedName] = true
		return true
	case !waits && l.started(ctx) && len(l.unseen) == 0:
		return true
	}
	l.waiting[c.NamespacedName] = c
	return false
}

// Report records the outcome of a reconcile of key. It reports whether the rollout was halted by that.
func (l *Limiter) Report(ctx context.Context, key types.NamespacedName, outcome Outcome) (halted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started(ctx) {
		return false // The cache cannot be listed; a later reconcile of key reports it again.
	}
	isNew := l.unseen[key] || l.failing[key].passed
	delete(l.unseen, key)
	delete(l.failing, key)
	if !outcome.Deferred {
		delete(l.waiting, key)
		halted = l.record(key, outcome, isNew)
	}
	if l.isComplete() {
		l.proceed()
	}
	return halted && len(l.waiting) > 0
}

// Fail records that a reconcile of key ended without an outcome: with a panic, a time-out or a denied request. After passOver
// the rollout neither waits for key nor keeps a place for it. Once key can be reconciled again, it waits for its turn.
// Fail reports whether the rollout goes on without key from now on.
func (l *Limiter) Fail(ctx context.Context, key types.NamespacedName) (passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started(ctx) {
		return false
	}
	f, ok := l.failing[key]
	if !ok {
		f.since = l.now()
	}
	passed = !f.passed && l.now().Sub(f.since) >= passOver && (l.unseen[key] || l.replacing[key])
	f.passed = f.passed || passed
	l.failing[key] = f
	if f.passed {
		delete(l.replacing, key)
	}
	if l.isComplete() {
		l.proceed()
	}
	return passed
}

// isComplete reports whether each Memcached has been seen since the start, or is passed over.
func (l *Limiter) isComplete() bool {
	for key := range l.unseen {
		if !l.failing[key].passed {
			return false
		}
	}
	return true
}

// record records the outcome for key, which does not wait. isNew reports that key was not seen before, or was passed over: it
// may have begun before.
func (l *Limiter) record(key types.NamespacedName, outcome Outcome, isNew bool) (halted bool) {
	began := l.replacing[key] || l.stalled[key] || isNew && outcome.Replacing
	before := len(l.stalled)
	delete(l.replacing, key)
	delete(l.stalled, key)
	switch {
	case !began || !outcome.NotReady:
	case outcome.Stalled:
		l.stalled[key] = true
	default:
		l.replacing[key] = true
	}
	return before == 0 && len(l.stalled) > 0
}

// started lists the Memcacheds at the first call and reports whether that succeeded.
func (l *Limiter) started(ctx context.Context) bool {
	if l.unseen != nil {
		return true
	}
	keys, err := l.list(ctx)
	if err != nil {
		return false
	}
	l.total = len(keys)
	l.unseen = make(map[types.NamespacedName]bool, len(keys))
	for _, key := range keys {
		l.unseen[key] = true
	}
	return true
}

// proceed lets as many waiting Memcacheds begin as the limit allows, and wakes the others when the progress that
// they show has changed.
func (l *Limiter) proceed() {
	l.all = max(l.all, len(l.waiting)+len(l.replacing)+len(l.stalled))
	if len(l.waiting) == 0 {
		return
	}
	if free := l.maximum() - len(l.replacing); free > 0 && len(l.stalled) == 0 {
		for _, c := range first(free, l.waiting) {
			delete(l.waiting, c.NamespacedName)
			l.replacing[c.NamespacedName] = true
			l.wake(c.NamespacedName)
		}
	}
	if now := l.progress(); now != l.shown {
		l.shown = now
		for key := range l.waiting {
			l.wake(key)
		}
	}
}

// first returns the first n candidates.
func first(n int, waiting map[types.NamespacedName]Candidate) []Candidate {
	candidates := make([]Candidate, 0, len(waiting))
	for _, c := range waiting {
		candidates = append(candidates, c)
	}
	slices.SortFunc(candidates, Candidate.compare)
	return candidates[:min(n, len(candidates))]
}

// maximum returns how many Memcacheds may replace their pods at the same time.
func (l *Limiter) maximum() int {
	n, _ := intstr.GetScaledValueFromIntOrPercent(&l.limit, l.total, false) // Parse has validated it.
	return max(1, n)
}

// Progress returns the progress of the rollout.
func (l *Limiter) Progress() Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress()
}

func (l *Limiter) progress() Progress {
	if l.all == 0 {
		return Progress{}
	}
	step := max(1, l.all/10)
	done := l.all - len(l.waiting) - len(l.replacing) - len(l.stalled)
	return Progress{Done: done / step * step, Of: l.all, Halted: len(l.stalled) > 0}
}

// Counts returns how many Memcacheds of the rollout are in which state.
func (l *Limiter) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Counts{len(l.waiting), len(l.replacing), len(l.stalled)}
}

// Parse parses a limit for New: a number from 1, or a percentage from 1% to 100%.
func Parse(text string) (intstr.IntOrString, error) {
	limit := intstr.Parse(text)
	n, err := intstr.GetScaledValueFromIntOrPercent(&limit, 100, false)
	if err != nil || n < 1 || limit.Type == intstr.String && n > 100 {
		return limit, fmt.Errorf("%q is neither a number from 1 nor a percentage from 1%% to 100%%", text)
	}
	return limit, nil
}
