// SPDX-License-Identifier: Apache-2.0

package pacing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/reconcilers/pacing"
)

// memcached is a Memcached of a cluster.
type memcached struct {
	size int32
	// template is the version of the applied pod template.
	template int
	// replacing, stalled and unready are what its status shows.
	replacing, stalled, unready bool
	// edited counts the changes of its objects by other clients.
	edited int
	// message is the last progress that a reconcile showed.
	message string
	// rolled counts the replacements of its pods.
	rolled int
}

// cluster holds Memcacheds and an operator with a Limiter and templates of a version.
type cluster struct {
	t          *testing.T
	limit      string
	template   int
	memcacheds map[string]*memcached
	limiter    *pacing.Limiter
	// queue holds the woken Memcacheds, and order those that began to replace their pods.
	queue, order []string
	listErr      error
	halted       []string
	// now is the time, and broken are the Memcacheds each reconcile of which fails; passed are those that are passed over.
	now    time.Time
	broken map[string]bool
	passed []string
}

// newCluster returns a cluster with these sizes of Memcacheds a, b, c and so on, all ready, and an operator with
// changed templates that has not reconciled any of them.
func newCluster(t *testing.T, limit string, sizes ...int32) *cluster {
	t.Helper()
	c := &cluster{t: t, limit: limit, memcacheds: map[string]*memcached{}, broken: map[string]bool{}}
	for i, size := range sizes {
		c.memcacheds[string(rune('a'+i))] = &memcached{size: size}
	}
	c.restart(1)
	return c
}

// restart starts an operator with templates of a version.
func (c *cluster) restart(template int) {
	c.t.Helper()
	limit, err := pacing.Parse(c.limit)
	if err != nil {
		c.t.Fatal(err)
	}
	c.template, c.queue = template, nil
	c.limiter = pacing.New(limit, c.list, func(key types.NamespacedName) { c.queue = append(c.queue, key.Name) }, func() time.Time { return c.now })
}

// reload gives the operator templates of a version.
func (c *cluster) reload(template int) {
	c.template, c.limiter = template, c.limiter.Next()
}

func (c *cluster) list(context.Context) ([]types.NamespacedName, error) {
	var keys []types.NamespacedName
	for name := range c.memcacheds {
		keys = append(keys, key(name))
	}
	return keys, c.listErr
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// reconcile reconciles Memcacheds, and then those that are woken.
func (c *cluster) reconcile(names ...string) {
	c.t.Helper()
	c.queue = append(c.queue, names...)
	for len(c.queue) > 0 {
		name := c.queue[0]
		c.queue = c.queue[1:]
		c.reconcileOne(name)
	}
}

func (c *cluster) reconcileOne(name string) {
	c.t.Helper()
	if c.broken[name] {
		if c.limiter.Fail(c.t.Context(), key(name)) {
			c.passed = append(c.passed, name)
		}
		return
	}
	m, outcome := c.memcacheds[name], pacing.Outcome{}
	if m != nil {
		if m.template != c.template {
			candidate := pacing.Candidate{NamespacedName: key(name), Outdated: fmt.Sprint(m.template, m.edited), Ready: !m.unready, Size: m.size}
			if c.limiter.MayReplacePods(c.t.Context(), candidate) {
				*m = memcached{size: m.size, template: c.template, replacing: true, unready: true, rolled: m.rolled + 1}
				c.order = append(c.order, name)
			} else {
				outcome.Deferred = true
				m.message = c.limiter.Progress().String()
			}
		}
		outcome.NotReady, outcome.Replacing, outcome.Stalled = m.unready, m.replacing, m.stalled
	}
	if c.limiter.Report(c.t.Context(), key(name), outcome) {
		c.halted = append(c.halted, name)
	}
}

// reconcileAll reconciles all Memcacheds, as after a start.
func (c *cluster) reconcileAll() {
	c.t.Helper()
	c.reconcile(c.names(func(*memcached) bool { return true })...)
}

// finish makes the new pods of Memcacheds ready.
func (c *cluster) finish(names ...string) {
	c.t.Helper()
	for _, name := range names {
		m := c.memcacheds[name]
		m.replacing, m.unready, m.stalled = false, false, false
		c.reconcile(name)
	}
}

// stall makes a Memcached stalled.
func (c *cluster) stall(name string) {
	c.t.Helper()
	c.memcacheds[name].stalled, c.memcacheds[name].unready = true, true
	c.reconcile(name)
}

// names returns the sorted names of the Memcacheds that match.
func (c *cluster) names(match func(*memcached) bool) []string {
	var names []string
	for name, m := range c.memcacheds {
		if match(m) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func isReplacing(m *memcached) bool { return m.replacing }

// expectOrder checks which Memcacheds began, in order.
func (c *cluster) expectOrder(want string) {
	c.t.Helper()
	if got := strings.Join(c.order, " "); got != want {
		c.t.Errorf("began %q, want %q", got, want)
	}
}

func (c *cluster) expectCounts(want pacing.Counts) {
	c.t.Helper()
	if got := c.limiter.Counts(); got != want {
		c.t.Errorf("counts %+v, want %+v", got, want)
	}
}

// rollOut lets Memcacheds become ready, be reconciled and the operator be restarted in random order, until all
// are done.
func (c *cluster) rollOut(random *rand.Rand, limit int) {
	c.t.Helper()
	unseen := c.names(func(*memcached) bool { return true })
	for {
		switch replacing := c.names(isReplacing); {
		case len(replacing) > limit:
			c.t.Fatalf("%d replace their pods, at most %d may", len(replacing), limit)
		case random.IntN(20) == 0:
			c.restart(c.template)
			unseen = c.names(func(*memcached) bool { return true })
		case len(unseen) > 0 && random.IntN(2) == 0:
			i := random.IntN(len(unseen))
			c.reconcile(unseen[i])
			unseen = slices.Delete(unseen, i, i+1)
		case len(replacing) > 0:
			c.finish(replacing[random.IntN(len(replacing))])
		case len(unseen) == 0:
			return
		}
	}
}
