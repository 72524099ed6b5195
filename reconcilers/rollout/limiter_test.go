// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/example/memcached-operator/reconcilers/rollout"
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
	limiter    *rollout.Limiter
	// queue holds the woken Memcacheds, and order those that began to replace their pods.
	queue, order []string
	listErr      error
	halted       []string
}

// newCluster returns a cluster with these sizes of Memcacheds a, b, c and so on, all ready, and an operator with
// changed templates that has not reconciled any of them.
func newCluster(t *testing.T, limit string, sizes ...int32) *cluster {
	t.Helper()
	c := &cluster{t: t, limit: limit, memcacheds: map[string]*memcached{}}
	for i, size := range sizes {
		c.memcacheds[string(rune('a'+i))] = &memcached{size: size}
	}
	c.restart(1)
	return c
}

// restart starts an operator with templates of a version.
func (c *cluster) restart(template int) {
	c.t.Helper()
	limit, err := rollout.Parse(c.limit)
	if err != nil {
		c.t.Fatal(err)
	}
	c.template, c.queue = template, nil
	c.limiter = rollout.New(limit, c.list, func(key types.NamespacedName) { c.queue = append(c.queue, key.Name) })
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
	m, outcome := c.memcacheds[name], rollout.Outcome{}
	if m != nil {
		if m.template != c.template {
			candidate := rollout.Candidate{NamespacedName: key(name), Outdated: fmt.Sprint(m.template, m.edited), Ready: !m.unready, Size: m.size}
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

func (c *cluster) expectCounts(want rollout.Counts) {
	c.t.Helper()
	if got := c.limiter.Counts(); got != want {
		c.t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestLimiter_DecidesWhoBegins(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"none begins before each Memcached was reconciled": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1, 1)
			c.reconcile("a", "b")
			c.expectOrder("")
			c.reconcile("c")
			c.expectOrder("a")
			c.expectCounts(rollout.Counts{Waiting: 2, Replacing: 1})
		},
		"the smallest begins, and the next when it is ready": func(t *testing.T) {
			c := newCluster(t, "1", 3, 1, 2)
			c.reconcileAll()
			c.expectOrder("b")
			c.reconcile("b", "a", "c")
			c.expectOrder("b")
			c.finish("b")
			c.expectOrder("b c")
			c.finish("c")
			c.finish("a")
			c.expectOrder("b c a")
			c.expectCounts(rollout.Counts{})
		},
		"one that is not ready begins before smaller ones": func(t *testing.T) {
			c := newCluster(t, "1", 1, 5)
			c.memcacheds["b"].unready = true
			c.reconcileAll()
			c.expectOrder("b")
		},
		"a percentage is one of all Memcacheds, rounded down": func(t *testing.T) {
			c := newCluster(t, "40%", 1, 1, 1, 1, 1, 1)
			c.reconcileAll()
			c.expectOrder("a b")
		},
		"a percentage of few Memcacheds is at least one": func(t *testing.T) {
			c := newCluster(t, "1%", 1, 1)
			c.reconcileAll()
			c.expectOrder("a")
		},
		"a change by another client is reverted at once": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1)
			c.memcacheds["a"].template, c.memcacheds["b"].template = 1, 1
			c.reconcileAll()
			c.memcacheds["a"].template, c.memcacheds["b"].template = 7, 7
			c.reconcile("a", "b")
			c.expectOrder("a b")
			c.expectCounts(rollout.Counts{})
		},
		"a change by another client is reverted at once while the Memcached waits": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1, 1)
			c.reconcileAll()
			c.memcacheds["c"].edited++
			c.reconcile("b", "c")
			c.expectOrder("a c")
			c.expectCounts(rollout.Counts{Waiting: 1, Replacing: 2})
			c.finish("a")
			c.expectOrder("a c")
			c.finish("c")
			c.expectOrder("a c b")
		},
		"one that replaces its pods after its own change does not count": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1)
			c.reconcileAll()
			c.memcacheds["b"].template = 1
			c.memcacheds["b"].unready, c.memcacheds["b"].replacing = true, true
			c.reconcile("b")
			c.expectCounts(rollout.Counts{Replacing: 1})
		},
		"one that is deleted while it replaces its pods makes room": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1)
			c.reconcileAll()
			delete(c.memcacheds, "a")
			c.reconcile("a")
			c.expectOrder("a b")
		},
		"one that is deleted before it was reconciled is not waited for": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1)
			c.reconcile("a")
			delete(c.memcacheds, "b")
			c.reconcile("b")
			c.expectOrder("a")
		},
		"one that is written again while it replaces its pods need not wait": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1)
			c.reconcileAll()
			c.memcacheds["a"].template = 7
			c.reconcile("a")
			c.expectOrder("a a")
			c.expectCounts(rollout.Counts{Waiting: 1, Replacing: 1})
		},
		"none begins while the Memcacheds cannot be listed": func(t *testing.T) {
			c := newCluster(t, "1", 1)
			c.listErr = errors.New("the cache is stopped")
			c.reconcileAll()
			c.expectOrder("")
			c.listErr = nil
			c.reconcileAll()
			c.expectOrder("a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func TestLimiter_HaltsWhenOneBecomesStalled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"none begins until it is ready": func(t *testing.T) {
			c := newCluster(t, "2", 1, 1, 1, 1)
			c.reconcileAll()
			c.stall("a")
			c.finish("b")
			c.expectOrder("a b")
			if want := []string{"a"}; !slices.Equal(c.halted, want) {
				t.Errorf("halted by %v, want %v", c.halted, want)
			}
			if want := "waiting for roll-out (1 of 4 done), which is halted because a Memcached became stalled"; c.memcacheds["c"].message != want {
				t.Errorf("message %q, want %q", c.memcacheds["c"].message, want)
			}
			c.expectCounts(rollout.Counts{Waiting: 2, Stalled: 1})
			c.finish("a")
			c.expectOrder("a b c d")
		},
		"an operator that is started then halts as well": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1)
			c.reconcileAll()
			c.stall("a")
			c.restart(1)
			c.reconcileAll()
			c.expectOrder("a")
			c.expectCounts(rollout.Counts{Waiting: 1, Stalled: 1})
		},
		"corrected templates are applied to it first": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1, 2)
			c.reconcileAll()
			c.finish("a")
			c.stall("b")
			c.restart(2)
			c.reconcileAll()
			c.expectOrder("a b b")
			c.finish("b")
			c.expectOrder("a b b a")
		},
		"one that was stalled before the rollout does not halt it": func(t *testing.T) {
			c := newCluster(t, "1", 1, 1)
			c.memcacheds["a"] = &memcached{template: 1, stalled: true, unready: true}
			c.reconcileAll()
			c.expectOrder("b")
		},
		"one that becomes stalled when none waits halts nothing": func(t *testing.T) {
			c := newCluster(t, "1", 1)
			c.reconcileAll()
			c.stall("a")
			if len(c.halted) > 0 {
				t.Errorf("halted by %v", c.halted)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func TestLimiter_ShowsProgressInTenths(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "1", slices.Repeat([]int32{1}, 25)...)
	last := c.memcacheds["y"]
	c.reconcileAll()
	var messages, want []string
	for replacing := c.names(isReplacing); last.rolled == 0; replacing = c.names(isReplacing) {
		messages = append(messages, last.message)
		c.finish(replacing...)
	}
	for done := range 24 {
		want = append(want, fmt.Sprintf("waiting for roll-out (%d of 25 done)", done/2*2))
	}
	if !slices.Equal(messages, want) {
		t.Errorf("the messages are %q, want %q", messages, want)
	}
}

// TestLimiter_RollsEachOnce rolls out two changes, at random times and with restarts at random times.
func TestLimiter_RollsEachOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			limit := 1 + random.IntN(4)
			sizes := make([]int32, 1+random.IntN(20))
			for i := range sizes {
				sizes[i] = random.Int32N(4)
			}
			c := newCluster(t, fmt.Sprint(limit), sizes...)
			c.template = 0
			for template := 1; template <= 2; template++ {
				c.restart(template)
				c.rollOut(random, limit)
			}
			for name, m := range c.memcacheds {
				if m.rolled != 2 || m.template != 2 {
					t.Errorf("%s was rolled out %d times, to templates %d", name, m.rolled, m.template)
				}
			}
		})
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

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]intstr.IntOrString{"1": intstr.FromInt32(1), "500": intstr.FromInt32(500), "1%": intstr.FromString("1%"), "100%": intstr.FromString("100%")} {
		if got, err := rollout.Parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "0%", "101%", "-5%", "1.5", "10 %", "%", "all", "99999999999"} {
		want := fmt.Sprintf("%q is neither a number from 1 nor a percentage from 1%% to 100%%", text)
		if got, err := rollout.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
