// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Unix(100000, 0)

const minute = time.Minute

// serving returns the pods in text as parsePods does, which serve for long enough to hand over: those that are being deleted are since noon.
func serving(text string) []Pod {
	pods := parsePods(text)
	for i := range pods {
		pods[i].Addresses = []string{address(pods[i].Name)}
		pods[i].PreStop, pods[i].ServesUntil = ServingTime(minute), noon.Add(ServingTime(minute))
	}
	return pods
}

// address returns an address for the pod with that name, a letter.
func address(name string) string { return fmt.Sprintf("10.0.0.%d", name[0]-'a'+1) }

// cache is a Memcached as the operator sees it again and again: its layout is only what EndpointSlices and the list of nodes remember.
type cache struct {
	layout Layout
	list   string
}

// observe has the operator see pods at now, with that size, and returns the list of nodes that it writes, shortened.
func (c *cache) observe(t *testing.T, size int, pods string, now time.Time) string {
	t.Helper()
	before := Layout{Slots: c.layout.Slots}.WithList(c.list)
	if got, want := before.List("cache", "shop", int32(size), 11211), c.list; c.list != "" && got != want {
		t.Fatalf("the list is read as\n%s, and is\n%s", got, want)
	}
	observed := serving(pods)
	c.layout = before.HandOver(before.Next(size, observed), observed, now, minute)
	c.list = c.layout.List("cache", "shop", int32(size), 11211)
	short := strings.NewReplacer(".cache-nodes.shop.svc", "", "- ", "", " 11211", "", "cache-", "", "10.0.0.", "ip", "\n", ", ")
	return strings.TrimSuffix(short.Replace(c.list), ", ")
}

func TestHandOver_Lists(t *testing.T) {
	t.Parallel()
	type step struct {
		seconds    int // after noon
		size       int
		pods, want string
	}
	start := step{-100, 3, "a b c", "ip1, ip2, ip3"}
	for name, steps := range map[string][]step{
		"from a pod that is being deleted": {
			start, {1, 3, "a- b c d!", "ip1, ip2, ip3"}, {5, 3, "a- b c d", "ip4, ip2, ip3, old 1 ip1 100015 100070"},
			{6, 3, "a- b c d", "ip4, ip2, ip3, old 1 ip1 100015 100070"}, {90, 3, "a- b c d", "ip4, ip2, ip3, old 1 ip1 100015 100070"}, {91, 3, "b c d", "ip4, ip2, ip3"},
		},
		"from two pods": {
			start, {5, 3, "a- b c d", "ip4, ip2, ip3, old 1 ip1 100015 100070"},
			{7, 3, "a- b- c d e", "ip4, ip5, ip3, old 1 ip1 100015 100070, old 2 ip2 100017 100070"},
		},
		"from a successor that is deleted": {
			start, {5, 3, "a- b c d", "ip4, ip2, ip3, old 1 ip1 100015 100070"}, {9, 3, "a- b c d- e", "ip5, ip2, ip3, old 1 ip4 100019 100070"},
		},
		"not for a pod that is gone":         {start, {5, 3, "b c d", "ip4, ip2, ip3"}},
		"not from a pod that does not serve": {start, {5, 3, "a!- b c d", "ip4, ip2, ip3"}},
		"not when it is too late":            {start, {56, 3, "a- b c d", "ip4, ip2, ip3"}},
		"to the others from one that is not needed": {
			start, {0, 2, "a b c", "ip1, ip2, old 3 ip3 100010 100070, was 3 100010 100070"}, {1, 2, "a b c-", "ip1, ip2, old 3 ip3 100010 100070, was 3 100010 100070"},
			{77, 2, "a b", "ip1, ip2"},
		},
		"to a new pod": {
			start, {0, 4, "a b c d!", "ip1, ip2, ip3"}, {2, 4, "a b c d", "ip1, ip2, ip3, ip4, was 3 100012 100072, since 3"},
			{77, 4, "a b c d", "ip1, ip2, ip3, ip4, was 3 100012 100072, since 3"}, {78, 4, "a b c d", "ip1, ip2, ip3, ip4, since 3"},
		},
		"to new pods one after the other": {
			start, {0, 5, "a b c d e!", "ip1, ip2, ip3, ip4, was 3 100010 100070, since 3"}, {3, 5, "a b c d e", "ip1, ip2, ip3, ip4, was 3 100010 100070, since 3"},
			{76, 5, "a b c d e", "ip1, ip2, ip3, ip4, ip5, was 4 100086 100146, since 3"}, {150, 4, "a b c d e", "ip1, ip2, ip3, ip4, old 5 ip5 100160 100220, was 5 100160 100220, since 3"},
			{151, 3, "a b c d e-", "ip1, ip2, ip3, old 4 ip4 100161 100221, old 5 ip5 100160 100220, was 4 100161 100220"},
		},
		"back before it is over": {
			start, {0, 4, "a b c d", "ip1, ip2, ip3, ip4, was 3 100010 100070, since 3"}, {20, 3, "a b c d", "ip1, ip2, ip3, old 4 ip4 100030 100090, was 4 100030 100090"},
		},
		"to another slot": { // The Deployment has deleted a pod that is needed, in place of one that is not.
			start, {0, 2, "a b c", "ip1, ip2, old 3 ip3 100010 100070, was 3 100010 100070"},
			{2, 2, "a- b c", "ip3, ip2, old 1 ip1 100012 100070, old 3 ip3 100010 100070, was 3 100010 100070"},
		},
		"none without pods": {start, {0, 0, "a- b- c-", "0"}, {1, 0, "a- b- c-", "0"}, {2, 1, "d", "ip4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c cache
			for _, step := range steps {
				if got := c.observe(t, step.size, step.pods, noon.Add(time.Duration(step.seconds)*time.Second)); got != step.want {
					t.Fatalf("at %d s with %s: %s, want %s", step.seconds, step.pods, got, step.want)
				}
			}
		})
	}
}

// The operator may end when the list is written and the EndpointSlices are not, or the other way round.
func TestHandOver_IsResumed(t *testing.T) {
	t.Parallel()
	before := Layout{Slots: Assign(2, nil, serving("a b")), Listed: 2}
	pods := serving("a- b c")
	at := func(l Layout, seconds int) Layout {
		return l.HandOver(l.Next(2, pods), pods, noon.Add(time.Duration(seconds)*time.Second), minute)
	}
	done := at(before, 1)
	withList := Layout{Slots: before.Slots}.WithList(done.List("cache", "shop", 2, 11211))
	if got := at(withList, 5); !reflect.DeepEqual(got.Olds, done.Olds) {
		t.Errorf("after the list was written: %+v, want %+v", got.Olds, done.Olds)
	}
	withSlots := Layout{Slots: done.Slots, Listed: 2}
	if got := at(withSlots, 5); len(got.Olds) > 0 || !slices.EqualFunc(got.Slots, done.Slots, func(a, b Slot) bool { return a.UID == b.UID }) {
		t.Errorf("after the slots were written: %+v", got)
	}
}

// What another client writes into the list holds up nothing for longer than a hand-over takes.
func TestWithList_OfAnotherClient(t *testing.T) {
	t.Parallel()
	pods := serving("a b c")
	slots := Assign(2, nil, pods)
	for _, lines := range []string{"old 1 10.9.9.9 11211 1 2\n", "old -7 10.9.9.9 11211 1 2\n", "old 1 evil.example 11211 1 2\n", "old 1 10.0.0.3 11211 1 99999999999\n", "was 7 1 99999999999\n", "was -3 1 2\n", "was\n", "old\n", "junk\n"} {
		l := Layout{Slots: slots}.WithList("- cache-0 11211\n- cache-1 11211\n" + lines)
		got := l.HandOver(l.Next(3, pods), pods, noon, minute)
		if len(got.Olds) > 0 || got.Was.Number != 2 || got.Listed != 3 {
			t.Errorf("with %q: %+v", lines, got)
		}
	}
}
