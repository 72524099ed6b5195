// SPDX-License-Identifier: Apache-2.0

package pacing_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/example/memcached-operator/reconcilers/pacing"
)

// scenario is what happens in a cluster with Memcacheds of these sizes.
type scenario struct {
	limit string
	sizes []int32
	steps func(c *cluster)
}

func testScenarios(t *testing.T, scenarios map[string]scenario) {
	t.Parallel()
	for name, test := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.steps(newCluster(t, test.limit, test.sizes...))
		})
	}
}

// beginnings say which Memcacheds begin, and when.
var beginnings = map[string]scenario{
	"none begins before each Memcached was reconciled": {"1", []int32{1, 1, 1}, func(c *cluster) {
		c.reconcile("a", "b")
		c.expectOrder("")
		c.reconcile("c")
		c.expectOrder("a")
		c.expectCounts(pacing.Counts{Waiting: 2, Replacing: 1})
	}},
	"the smallest begins, and the next when it is ready": {"1", []int32{3, 1, 2}, func(c *cluster) {
		c.reconcileAll()
		c.expectOrder("b")
		c.reconcile("b", "a", "c")
		c.expectOrder("b")
		c.finish("b")
		c.expectOrder("b c")
		c.finish("c")
		c.finish("a")
		c.expectOrder("b c a")
		c.expectCounts(pacing.Counts{})
	}},
	"one that is not ready begins before smaller ones": {"1", []int32{1, 5}, func(c *cluster) {
		c.memcacheds["b"].unready = true
		c.reconcileAll()
		c.expectOrder("b")
	}},
	"a percentage is one of all Memcacheds, rounded down": {"40%", []int32{1, 1, 1, 1, 1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.expectOrder("a b")
	}},
	"a percentage of few Memcacheds is at least one": {"1%", []int32{1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.expectOrder("a")
	}},
	"a change by another client is reverted at once": {"1", []int32{1, 1}, func(c *cluster) {
		c.memcacheds["a"].template, c.memcacheds["b"].template = 1, 1
		c.reconcileAll()
		c.memcacheds["a"].template, c.memcacheds["b"].template = 7, 7
		c.reconcile("a", "b")
		c.expectOrder("a b")
		c.expectCounts(pacing.Counts{})
	}},
	"a change by another client is reverted at once while the Memcached waits": {"1", []int32{1, 1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.memcacheds["c"].edited++
		c.reconcile("b", "c")
		c.expectOrder("a c")
		c.expectCounts(pacing.Counts{Waiting: 1, Replacing: 2})
		c.finish("a")
		c.expectOrder("a c")
		c.finish("c")
		c.expectOrder("a c b")
	}},
	"one that replaces its pods after its own change does not count": {"1", []int32{1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.memcacheds["b"].template = 1
		c.memcacheds["b"].unready, c.memcacheds["b"].replacing = true, true
		c.reconcile("b")
		c.expectCounts(pacing.Counts{Replacing: 1})
	}},
	"one that is deleted while it replaces its pods makes room": {"1", []int32{1, 1}, func(c *cluster) {
		c.reconcileAll()
		delete(c.memcacheds, "a")
		c.reconcile("a")
		c.expectOrder("a b")
	}},
	"one that is deleted before it was reconciled is not waited for": {"1", []int32{1, 1}, func(c *cluster) {
		c.reconcile("a")
		delete(c.memcacheds, "b")
		c.reconcile("b")
		c.expectOrder("a")
	}},
	"one that is written again while it replaces its pods need not wait": {"1", []int32{1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.memcacheds["a"].template = 7
		c.reconcile("a")
		c.expectOrder("a a")
		c.expectCounts(pacing.Counts{Waiting: 1, Replacing: 1})
	}},
	"none begins while the Memcacheds cannot be listed": {"1", []int32{1}, func(c *cluster) {
		c.listErr = errors.New("the cache is stopped")
		c.reconcileAll()
		c.expectOrder("")
		c.listErr = nil
		c.reconcileAll()
		c.expectOrder("a")
	}},
}

func TestLimiter_DecidesWhoBegins(t *testing.T) { testScenarios(t, beginnings) }

// halts say what halts a roll-out, and what ends the halt.
var halts = map[string]scenario{
	"none begins until it is ready": {"2", []int32{1, 1, 1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.stall("a")
		c.finish("b")
		c.expectOrder("a b")
		if want := []string{"a"}; !slices.Equal(c.halted, want) {
			c.t.Errorf("halted by %v, want %v", c.halted, want)
		}
		if want := "waiting for roll-out (1 of 4 done), which is halted because a Memcached became stalled"; c.memcacheds["c"].message != want {
			c.t.Errorf("message %q, want %q", c.memcacheds["c"].message, want)
		}
		c.expectCounts(pacing.Counts{Waiting: 2, Stalled: 1})
		c.finish("a")
		c.expectOrder("a b c d")
	}},
	"an operator that is started then halts as well": {"1", []int32{1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.stall("a")
		c.restart(1)
		c.reconcileAll()
		c.expectOrder("a")
		c.expectCounts(pacing.Counts{Waiting: 1, Stalled: 1})
	}},
	"corrected templates are applied to it first": {"1", []int32{1, 1, 2}, func(c *cluster) {
		c.reconcileAll()
		c.finish("a")
		c.stall("b")
		c.restart(2)
		c.reconcileAll()
		c.expectOrder("a b b")
		c.finish("b")
		c.expectOrder("a b b a")
	}},
	"one that was stalled before the rollout does not halt it": {"1", []int32{1, 1}, func(c *cluster) {
		c.memcacheds["a"] = &memcached{template: 1, stalled: true, unready: true}
		c.reconcileAll()
		c.expectOrder("b")
	}},
	"one that becomes stalled when none waits halts nothing": {"1", []int32{1}, func(c *cluster) {
		c.reconcileAll()
		c.stall("a")
		if len(c.halted) > 0 {
			c.t.Errorf("halted by %v", c.halted)
		}
	}},
}

func TestLimiter_HaltsWhenOneBecomesStalled(t *testing.T) { testScenarios(t, halts) }

// failures say what a roll-out does about Memcacheds that cannot be reconciled.
var failures = map[string]scenario{
	"one that fails from the start is passed over after two minutes": {"1", []int32{1, 1}, func(c *cluster) {
		c.broken["a"] = true
		c.reconcileAll()
		c.now = c.now.Add(time.Minute)
		c.reconcile("a", "b")
		c.expectOrder("")
		c.now = c.now.Add(time.Minute)
		c.reconcile("a")
		c.reconcile("a")
		c.expectOrder("b")
		c.expectPassed("a")
	}},
	"one that failed for a moment is waited for": {"1", []int32{1, 1}, func(c *cluster) {
		c.broken["b"] = true
		c.reconcile("a", "b")
		c.broken["b"] = false
		c.now = c.now.Add(time.Hour)
		c.reconcile("b")
		c.expectOrder("a")
		c.expectPassed()
	}},
	"one that recovers after it was passed over waits for its turn": {"1", []int32{1, 1}, func(c *cluster) {
		c.broken["a"] = true
		c.reconcileAll()
		c.now = c.now.Add(2 * time.Minute)
		c.reconcile("a")
		c.broken["a"] = false
		c.reconcile("a")
		c.expectOrder("b")
		c.finish("b")
		c.expectOrder("b a")
	}},
	"one that fails while it replaces its pods makes room": {"1", []int32{1, 1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.broken["a"] = true
		c.reconcile("a")
		c.now = c.now.Add(2 * time.Minute)
		c.reconcile("a")
		c.expectOrder("a b")
		c.expectPassed("a")
		c.broken["a"] = false
		c.reconcile("a")
		c.expectCounts(pacing.Counts{Waiting: 1, Replacing: 2})
		c.finish("b")
		c.expectOrder("a b")
		c.finish("a")
		c.expectOrder("a b c")
	}},
	"one that is deleted is forgotten": {"1", []int32{1, 1}, func(c *cluster) {
		c.broken["a"] = true
		c.reconcileAll()
		delete(c.memcacheds, "a")
		delete(c.broken, "a")
		c.reconcile("a")
		c.expectOrder("b")
	}},
}

// reloads say what becomes of a roll-out when templates take the place of others.
var reloads = map[string]scenario{
	"one that replaces its pods still counts": {"1", []int32{1, 1}, func(c *cluster) {
		c.reconcileAll()
		c.reload(2)
		c.reconcileAll()
		c.expectOrder("a a")
		c.expectCounts(pacing.Counts{Waiting: 1, Replacing: 1})
	}},
	"a reconcile with the templates of before does not count": {"1", []int32{1, 1}, func(c *cluster) {
		c.memcacheds["a"].template, c.memcacheds["b"].template = 1, 1
		c.reconcileAll()
		before := c.limiter
		c.reload(2)
		before.Report(c.t.Context(), key("a"), pacing.Outcome{})
		c.reconcile("b")
		c.expectOrder("")
		c.reconcile("a")
		c.expectOrder("a")
	}},
}

func TestNext_BeginsAnew(t *testing.T) { testScenarios(t, reloads) }

func TestLimiter_PassesOverFailures(t *testing.T) { testScenarios(t, failures) }

func (c *cluster) expectPassed(want ...string) {
	c.t.Helper()
	if !slices.Equal(c.passed, want) {
		c.t.Errorf("passed over %v, want %v", c.passed, want)
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

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]intstr.IntOrString{"1": intstr.FromInt32(1), "500": intstr.FromInt32(500), "1%": intstr.FromString("1%"), "100%": intstr.FromString("100%")} {
		if got, err := pacing.Parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "0%", "101%", "-5%", "1.5", "10 %", "%", "all", "99999999999"} {
		want := fmt.Sprintf("%q is neither a number from 1 nor a percentage from 1%% to 100%%", text)
		if got, err := pacing.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
