// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/example/memcached-operator/test/testenv"
)

// zone is the proxy of a zone, with its nodes.
type zone struct {
	*proxy
	nodes []*server
	lines string // its list of nodes, without the zones
}

// startZones starts two zones of two nodes, whose proxies know of each other.
func startZones(t *testing.T, patient bool) (zones [2]*zone) {
	t.Helper()
	const spec = "proxy: {size: 1, zones: [cache, other]}"
	for i := range zones {
		nodes, lines := startServers(t, 2)
		p := startProxyFor(t, given{spec: spec, patient: patient}, lines, "")
		zones[i] = &zone{p, nodes, lines}
	}
	zones[0].used(t, zones[0].text(t), zones[0].lines+"zone here\n"+zones[1].zoneLine())
	zones[1].used(t, zones[1].text(t), zones[1].lines+zones[0].zoneLine()+"zone here\n")
	return zones
}

// zoneLine is the line of z in the lists of other zones.
func (z *zone) zoneLine() string { return fmt.Sprintf("zone 127.0.0.1 %s\n", z.zonePort) }

// held returns those of keys that the nodes of z have.
func (z *zone) held(t *testing.T, keys []string) (held []string) {
	t.Helper()
	for _, node := range z.nodes {
		held = append(held, node.of(t, keys)...)
	}
	return held
}

// kill ends the nodes of z.
func (z *zone) kill() {
	for _, node := range z.nodes {
		node.kill()
	}
}

func TestZones_AnswerAsOne(t *testing.T) {
	t.Parallel()
	zones := startZones(t, true)
	clients := []*text{zones[0].text(t), zones[1].text(t)}
	for first := range clients {
		for _, key := range []string{"a", "b", "c", "n", "m", "q", "x"} {
			clients[first].ask(t, "delete "+key)
		}
		for i, row := range shown {
			zone := (first + i) % 2
			if got := clients[zone].ask(t, row.request); got != row.answer {
				t.Errorf("zone %d: %s: %q, want %q", zone, row.request, got, row.answer)
			}
		}
	}
}

func TestZones_DecideOnce(t *testing.T) {
	t.Parallel()
	zones := startZones(t, true)
	clients := []*text{zones[0].text(t), zones[1].text(t)}
	clients[0].ask(t, "set count 0 0 1|0")
	var won [2][]string
	var group errgroup.Group
	for zone, client := range clients {
		group.Go(func() error {
			for i := range 200 {
				key := fmt.Sprint("lock-", i)
				if client.ask(t, "add "+key+" 0 0 1|v") == "STORED" {
					won[zone] = append(won[zone], key)
				}
				client.ask(t, "incr count 1")
			}
			return nil
		})
	}
	testenv.NoError(t, group.Wait())
	all := slices.Concat(won[0], won[1])
	slices.Sort(all)
	if n := len(all); n != 200 || len(slices.Compact(all)) != 200 {
		t.Errorf("200 locks were won %d and %d times", len(won[0]), len(won[1]))
	}
	for zone, client := range clients {
		if got := client.ask(t, "get count"); got != "VALUE count 0 3|400|END" {
			t.Errorf("zone %d counted %s", zone, got)
		}
	}
	clients[0].ask(t, "set unique 0 0 1|v")
	for i, request := range []string{"mg unique c", "ms unique 1 c|v"} {
		_, unique, _ := strings.Cut(clients[1].ask(t, request), " c")
		if got := clients[i].ask(t, "ms unique 1 C"+unique+"|w"); got != "HD" {
			t.Errorf("after %s, its unique is refused: %s", request, got)
		}
	}
	// A value of which one zone has a copy is not found there when another one was decided on.
	for i, request := range []string{"append k 0 0 1|w", "prepend k 0 0 1|w", "replace k 0 0 1|w", "ms k 1 MA|w", "delete k", "touch k 9", "ms k 1 T9|w"} {
		clients[0].ask(t, "set k 0 0 1|v")
		clients[1].ask(t, "get k")
		clients[i%2].ask(t, request)
		got, want := clients[0].ask(t, "get k"), clients[1].ask(t, "get k")
		if got != want {
			t.Errorf("after %s, the zones have %q and %q", request, got, want)
		}
	}
}

func TestZones_OneIsLost(t *testing.T) {
	t.Parallel()
	for lost := range 2 {
		t.Run(fmt.Sprint("zone ", lost), func(t *testing.T) {
			t.Parallel()
			zones := startZones(t, false)
			gone, left := zones[lost], zones[1-lost]
			c := left.text(t)
			keys := gone.text(t).fill(t, 200)
			testenv.Eventually(t, "both zones should hold all keys", func() bool {
				c.store(t, keys)
				return len(gone.held(t, keys)) == len(keys) && len(left.held(t, keys)) == len(keys)
			})

			gone.kill() // its proxies remain
			fromOther := gone.text(t)
			testenv.Eventually(t, "the proxies of the zone should find all keys in the other", func() bool { return len(fromOther.hits(t, keys)) == len(keys) })

			kill(t, &gone.pod)
			if n := len(c.hits(t, keys)); n != len(keys) {
				t.Errorf("of %d keys, %d are left", len(keys), n)
			}
			for _, row := range shown {
				if strings.HasPrefix(row.request, "get n") {
					continue // A noreply before it may have had to wait for the zone.
				}
				c.ask(t, row.request)
			}
			testenv.Eventually(t, "locks should be decided by the zone that is left", func() bool {
				c.ask(t, "delete lock")
				return c.ask(t, "add lock 0 0 1|v") == "STORED" && c.ask(t, "get lock") == "VALUE lock 0 1|v|END"
			})
		})
	}
}

func TestZones_AColdOneFills(t *testing.T) {
	t.Parallel()
	zones := startZones(t, true)
	c := zones[0].text(t)
	keys := c.fill(t, 100)
	for _, node := range zones[1].nodes {
		direct, err := dialText(t, node.host, node.port)
		testenv.NoError(t, err)
		direct.ask(t, "flush_all")
	}
	other := zones[1].text(t)
	if n := len(other.hits(t, keys)); n != len(keys) {
		t.Errorf("of %d keys, the cold zone found %d", len(keys), n)
	}
	if n := len(zones[1].held(t, keys)); n != len(keys) {
		t.Errorf("of %d keys, the cold zone copied %d", len(keys), n)
	}
	kill(t, &zones[0].pod)
	for _, key := range keys[:3] {
		if got := other.ask(t, "mg "+key+" f t v"); !sameItem(got, "VA 1 f0 t60|v") {
			t.Errorf("a copy is %q", got)
		}
	}
}
