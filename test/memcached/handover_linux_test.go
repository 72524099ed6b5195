// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

// handOver is a change of the nodes of a proxy: what the file of nodes has before and after it, and which lines meanwhile in addition to
// those after it.
type handOver struct {
	before, after string
	meanwhile     func(move, leave time.Time) string
}

// handOvers starts nodes for each kind of hand-over.
func handOvers(t *testing.T) map[string]handOver {
	t.Helper()
	lines := func(n int) (nodes []*server, lines []string) {
		nodes, _ = startServers(t, n)
		for _, node := range nodes {
			lines = append(lines, node.line())
		}
		return nodes, lines
	}
	old := func(place int, node *server, move, leave time.Time) string {
		return fmt.Sprintf("old %d %s %s %d %d\n", place, node.host, node.port, move.Unix(), leave.Unix())
	}
	was := func(number int, move, leave time.Time) string {
		return fmt.Sprintf("was %d %d %d\n", number, move.Unix(), leave.Unix())
	}
	grown, g := lines(4)
	shrunk, s := lines(3)
	return map[string]handOver{
		"one of two is replaced and a third added": {g[0] + g[1], g[2] + g[1] + g[3], func(move, leave time.Time) string {
			return old(1, grown[0], move, leave) + was(2, move, leave) + "since 2\n"
		}},
		"three become two": {s[0] + s[1] + s[2], s[0] + s[1], func(move, leave time.Time) string {
			return was(3, move, leave) + old(3, shrunk[2], move, leave)
		}},
	}
}

// listed gives p another file of nodes, and waits until it has begun to read that. It uses a file when it begins to read the next one.
func (p *proxy) listed(t *testing.T, c *text, lines string) {
	t.Helper()
	reloads := func() string {
		_, after, _ := strings.Cut(c.ask(t, "stats"), "STAT proxy_config_reloads ")
		count, _, _ := strings.Cut(after, "|")
		return count
	}
	before := reloads()
	testenv.Eventually(t, "the proxy should read the file", func() bool {
		lines += "\n" // Another text, since a reload that was counted before may read the file only now.
		p.list(t, lines)
		return reloads() != before
	})
}

// used gives p a list and waits until all its threads use it: a second reload begins after the first one has ended.
func (p *proxy) used(t *testing.T, c *text, lines string) {
	t.Helper()
	p.listed(t, c, lines)
	p.listed(t, c, lines)
}

func TestHandOver_AnswersAsWithoutOne(t *testing.T) {
	t.Parallel()
	for kind, change := range handOvers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := startPatientProxy(t, change.before)
			c := p.text(t)
			for step, times := range map[string][2]time.Duration{
				"prepare": {time.Hour, 2 * time.Hour}, "move": {-time.Hour, time.Hour}, "leave": {-2 * time.Hour, -1 * time.Second}, "over": {-2 * time.Hour, -time.Hour},
			} {
				now := time.Now()
				p.used(t, c, change.after+change.meanwhile(now.Add(times[0]), now.Add(times[1])))
				for _, key := range []string{"a", "b", "c", "n", "m", "q", "x"} {
					c.ask(t, "delete "+key)
				}
				for _, row := range shown {
					if got := c.ask(t, row.request); got != row.answer {
						t.Errorf("%s: %s: %q, want %q", step, row.request, got, row.answer)
					}
				}
			}
		})
	}
}

// TestHandOver_KeepsItems reads, changes and deletes items during a hand-over, and compares what is left when only the new nodes are.
func TestHandOver_KeepsItems(t *testing.T) {
	t.Parallel()
	for kind, change := range handOvers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := startPatientProxy(t, change.before)
			c := p.text(t)
			const n = 300
			want := map[string]string{}
			for i := range n {
				key := fmt.Sprintf("key-%d", i)
				c.ask(t, fmt.Sprintf("set %s 7 %d 2|42", key, i%2*3600))
				want[key] = fmt.Sprintf("VA 2 f7 t%d|42", i%2*3601-1)
			}
			now := time.Now()
			lines := change.after + change.meanwhile(now.Add(-time.Hour), now.Add(time.Hour))
			p.used(t, c, lines)
			for i := range n {
				key := fmt.Sprintf("key-%d", i)
				switch i % 10 {
				case 0:
					c.ask(t, "delete "+key)
					want[key] = "EN"
				case 1:
					c.ask(t, "set "+key+" 1 0 3|new")
					want[key] = "VA 3 f1 t-1|new"
				case 2:
					c.ask(t, "incr "+key+" 1")
					want[key] = "VA 2 f7 t-1|43"
				case 3:
					c.ask(t, "touch "+key+" 900")
					want[key] = "VA 2 f7 t900|42"
				default:
					if got := c.ask(t, "get "+key); got != "VALUE "+key+" 7 2|42|END" {
						t.Errorf("during the hand-over: get %s: %s", key, got)
					}
				}
			}
			p.used(t, c, change.after)
			for key, item := range want {
				got := c.ask(t, "mg "+key+" f t v")
				if !sameItem(got, item) {
					t.Errorf("after the hand-over: %s: %q, want %q", key, got, item)
				}
			}
			if stats := c.ask(t, "stats proxy"); strings.Contains(stats, "user_copied 0|") {
				t.Errorf("nothing was copied: %s", stats)
			}
		})
	}
}

// sameItem reports whether got, the answer to "mg f t v", is the one wanted, whose time to live has run for a while.
func sameItem(got, want string) bool {
	ttl := func(answer string) (rest string, seconds int) {
		before, after, _ := strings.Cut(answer, " t")
		digits, value, _ := strings.Cut(after, "|")
		seconds, _ = strconv.Atoi(digits)
		return before + value, seconds
	}
	gotRest, gotTTL := ttl(got)
	wantRest, wantTTL := ttl(want)
	return gotRest == wantRest && gotTTL <= wantTTL && gotTTL > wantTTL-300 && (gotTTL < 0) == (wantTTL < 0)
}

// What is changed while there are more nodes is not found again when there are fewer: neither where the key belonged before they
// came, nor where it belonged in between.
func TestHandOver_LeavesNothingOld(t *testing.T) {
	t.Parallel()
	servers, _ := startServers(t, 4)
	p := startPatientProxy(t, servers[0].line()+servers[1].line())
	c := p.text(t)
	keys := c.fill(t, 200)
	lines := servers[0].line() + servers[1].line()
	times := fmt.Sprintf("%d %d\n", time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix())
	for i, step := range []string{"was 2 " + times + "since 2\n", "since 2\n", "was 3 " + times + "since 2\n", "since 2\n"} {
		if i%2 == 0 {
			lines += servers[2+i/2].line()
		}
		p.used(t, c, lines+step)
		if found := len(c.hits(t, keys)); found < len(keys) {
			t.Errorf("with the list\n%s\n%d of %d keys are found", lines+step, found, len(keys))
		}
	}
	for i, key := range keys {
		c.ask(t, []string{"delete " + key, "set " + key + " 0 0 3|new"}[i%2])
	}
	for _, n := range []int{3, 2} {
		lines := ""
		for _, s := range servers[:n] {
			lines += s.line()
		}
		p.used(t, c, lines)
		for _, key := range keys {
			if got := c.ask(t, "get "+key); got != "END" && !strings.HasSuffix(got, "|new|END") {
				t.Errorf("with %d nodes: get %s: %.100s, which had been changed", n, key, got)
			}
		}
	}
}

// During a hand-over whose old node is lost, requests are answered as if there were none.
func TestHandOver_OutlivesTheOldNode(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for step, move := range map[string]time.Time{"prepare": now.Add(time.Hour), "move": now.Add(-time.Hour)} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			servers, _ := startServers(t, 3)
			p := startProxy(t, servers[0].line()+servers[1].line(), "")
			c := p.text(t)
			keys := c.fill(t, 100)
			p.listed(t, c, servers[2].line()+servers[1].line()+fmt.Sprintf("old 1 %s %s %d %d\n", servers[0].host, servers[0].port, move.Unix(), now.Add(2*time.Hour).Unix()))
			servers[0].stop()
			c.eventuallyHas(t, keys)
		})
	}
}

// moving is a hand-over from nodes of three servers, of which the first two are those of before.
type moving struct {
	nodes []int  // of three servers; the first two are those of before
	line  string // that of the hand-over, without its times
	asked int    // the nodes that are asked for their items
	late  bool   // a new node that does not answer at first
	ends  bool   // the proxy whose container asks, before that
	given
}

// endsWhileMoving gives p a list with a hand-over, and then to other too. It ends p once its mover, of which c sees what it copied, has begun.
// o is a client of other.
func (p *proxy) endsWhileMoving(t *testing.T, c *text, lines string, other *proxy, o *text) {
	t.Helper()
	p.list(t, lines)
	testenv.Eventually(t, "its mover should have begun", func() bool { return !strings.Contains(c.ask(t, "stats proxy"), "user_not_copied 0|") })
	other.listed(t, o, lines)
	_, err := io.WriteString(p.stdin, lastOnly)
	testenv.NoError(t, err)
	<-p.ended
}

// What no client asks for is handed over too, by the container beside the proxy, when a node is replaced and when there is one more, and
// again if a node does not answer. With another one beside it, one of them does it, and the other one if that ends.
func TestHandOver_MovesWhatIsNotRead(t *testing.T) {
	t.Parallel()
	plain := given{spec: "proxy: {size: 1, handoverSeconds: 60}"}
	withTLS := given{
		spec:    "{proxy: {size: 1, handoverSeconds: 60}, tls: {secretName: pair, plaintextPort: 11212}}",
		secrets: map[string]secret{"pair": tlsSecret(certificate.New(t, "cache"), certificate.New(t))},
	}
	for what, test := range map[string]moving{
		"replaced":                        {[]int{2, 1}, "old 1 HOST PORT", 1, false, false, plain},
		"replaced, late":                  {[]int{2, 1}, "old 1 HOST PORT", 1, true, false, plain},
		"replaced, while the proxies are": {[]int{2, 1}, "old 1 HOST PORT", 1, true, true, plain},
		"one more":                        {[]int{0, 1, 2}, "was 2", 3, false, false, plain},
		"replaced, with TLS":              {[]int{2, 1}, "old 1 HOST PORT", 1, false, false, withTLS},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			servers, _ := startServers(t, 3)
			test.patient = true
			before := servers[0].line() + servers[1].line()
			p, other := startProxyFor(t, test.given, before, ""), startProxyFor(t, test.given, before, "")
			c, o := p.text(t), other.text(t)
			keys := c.fill(t, 2000)
			binary := func(i int) string { return base64.StdEncoding.EncodeToString([]byte{0, 10, byte(i)}) }
			for i := range 20 {
				c.ask(t, "ms "+binary(i)+" 1 b|v")
			}
			first, after := p, ""
			for _, i := range test.nodes {
				after += servers[i].line()
			}
			line := strings.NewReplacer("HOST", servers[0].host, "PORT", servers[0].port).Replace(test.line)
			lines := after + fmt.Sprintf("%s %d %d\n", line, time.Now().Unix(), time.Now().Add(time.Hour).Unix())
			if test.late {
				servers[2].kill()
			}
			if test.ends {
				first.endsWhileMoving(t, c, lines, other, o)
				p, c = other, o
			}
			other.list(t, lines)
			p.list(t, lines)
			if test.late {
				testenv.Eventually(t, "some items should not be copied", func() bool {
					return strings.Count(c.ask(t, "stats proxy")+o.ask(t, "stats proxy"), "user_not_copied 0|") < 2
				})
				startServer(t, servers[2].host, servers[2].port)
			}
			testenv.Eventually(t, "one of the movers should have asked for all items", func() bool {
				return strings.Count(first.output.String()+other.output.String(), "asked for the items of ") == test.asked
			})
			p.used(t, c, after)
			if found := len(c.hits(t, keys)); found < len(keys) {
				t.Errorf("%d of %d items are found afterwards", found, len(keys))
			}
			for i := range 20 {
				if got := c.ask(t, "mg "+binary(i)+" b v"); got != "VA 1|v" {
					t.Errorf("the key %q: %s", binary(i), got)
				}
			}
		})
	}
}

// The proxy whose container asks for large items stays within its memory.
func TestHandOver_StaysWithinMemory(t *testing.T) {
	t.Parallel()
	servers, _ := startServers(t, 2)
	g := newGroup(t)
	p := startProxyFor(t, given{spec: "proxy: {size: 1, handoverSeconds: 60}", patient: true, cgroup: g.path}, servers[0].line(), "")
	limit := p.spec.Containers[0].Resources.Limits.Memory().Value()
	g.write(t, g.limit, strconv.FormatInt(limit, 10))
	c := p.text(t)
	value := strings.Repeat("v", 1_000_000)
	for i := range 50 {
		c.ask(t, fmt.Sprintf("set key-%d 0 0 %d|%s", i, len(value), value))
	}
	times := fmt.Sprintf("%d %d\n", time.Now().Add(5*time.Second).Unix(), time.Now().Add(time.Hour).Unix())
	p.list(t, servers[1].line()+"old 1 "+servers[0].host+" "+servers[0].port+" "+times)
	testenv.Eventually(t, "the mover should have asked for all items", func() bool { return strings.Contains(p.output.String(), "asked for the items of ") })
	if stats := c.ask(t, "stats proxy"); strings.Contains(stats, "user_copied 0|") || !strings.Contains(stats, "user_not_copied 0|") || g.kills(t) > 0 {
		t.Errorf("%d kills, and %s", g.kills(t), stats)
	}
	t.Logf("peak %d MiB of %d", g.read(t, g.peak)>>20, limit>>20)
}

// operation is a read or a change of a key by a client, which began and ended then. A read found that value; "" is a miss. A change
// stored it, or deleted the key.
type operation struct {
	key, value string
	isRead     bool
	begin, end time.Time
}

// client makes operations at random, some hundred a second, through a proxy, until ctx ends. Each value it stores is another one.
func client(ctx context.Context, t *testing.T, name, port string) (made []operation) {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), patience)
	testenv.NoError(t, err)
	defer func() { _ = connection.Close() }()
	c := newText(connection)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		<-ticker.C
		o := operation{key: fmt.Sprintf("key-%d", rand.IntN(6)), begin: time.Now()}
		switch n := rand.IntN(10); {
		case n < 7:
			o.isRead = true
			if fields := strings.Split(c.ask(t, "get "+o.key), "|"); len(fields) == 3 {
				if o.value = fields[1]; o.value == "" {
					t.Errorf("get %s: an empty item, which no client stored", o.key)
				}
			}
		case n < 9:
			o.value = fmt.Sprintf("%s-%d%s", name, i, strings.Repeat("-", i%5/4*20_000)) // one in five is more than memcached reads at once
			c.ask(t, fmt.Sprintf("set %s 0 0 %d|%s", o.key, len(o.value), o.value))
		default:
			c.ask(t, "delete "+o.key)
		}
		o.end = time.Now()
		made = append(made, o)
	}
	return made
}

// stale returns the reads of what another change had ended before they began, and that one.
func stale(made []operation) (found [][2]operation) {
	changes, stored := map[string][]operation{}, map[string]operation{}
	for _, o := range made {
		if !o.isRead {
			changes[o.key] = append(changes[o.key], o)
			stored[o.value] = o
		}
	}
	for _, read := range made {
		if !read.isRead || read.value == "" {
			continue
		}
		for _, change := range changes[read.key] {
			if change.end.Before(read.begin) && stored[read.value].end.Before(change.begin) {
				found = append(found, [2]operation{read, change})
				break
			}
		}
	}
	return found
}

// judge fails unless most reads among made hit.
func judge(t *testing.T, made []operation) {
	t.Helper()
	reads, hits := 0, 0
	for _, o := range made {
		if o.isRead {
			reads++
			if o.value != "" {
				hits++
			}
		}
	}
	t.Logf("%d operations, %d reads, %d hits", len(made), reads, hits)
	if hits < reads/2 {
		t.Errorf("of %d reads %d hit", reads, hits)
	}
}

// TestHandOver_NeverReadsOldValues has clients of two proxies, which get each list some seconds apart and whose clocks differ by three,
// read and change few keys through a whole hand-over, and checks that no read finds what had been changed before it began.
func TestHandOver_NeverReadsOldValues(t *testing.T) {
	t.Parallel()
	for kind, change := range handOvers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			var mu sync.Mutex
			var made []operation
			var clients sync.WaitGroup
			var proxies []*proxy
			for i := range 2 {
				p := startPatientProxy(t, change.before)
				p.text(t)
				proxies = append(proxies, p)
				for j := range 3 {
					clients.Go(func() {
						operations := client(ctx, t, fmt.Sprintf("%d.%d", i, j), p.port)
						mu.Lock()
						defer mu.Unlock()
						made = append(made, operations...)
					})
				}
			}
			wait := func(until time.Time) {
				testenv.Eventually(t, "time should pass", func() bool { return time.Now().After(until) })
			}
			give := func(lines func(skew time.Duration) string) {
				for i, p := range proxies {
					p.list(t, lines(time.Duration(i)*3*time.Second))
					wait(time.Now().Add(2500 * time.Millisecond)) // the proxies look for another list every two seconds
				}
			}
			now := time.Now()
			move, leave := now.Add(10*time.Second), now.Add(14*time.Second)
			give(func(skew time.Duration) string {
				return change.after + change.meanwhile(move.Add(skew), leave.Add(skew))
			})
			wait(leave.Add(6 * time.Second))
			give(func(time.Duration) string { return change.after })
			wait(time.Now().Add(2500 * time.Millisecond))
			stop()
			clients.Wait()
			judge(t, made)
			for i, pair := range stale(made) {
				read, after := pair[0], pair[1]
				t.Errorf("read %s = %s at %s, which was changed until %s to %q", read.key, read.value, read.begin.Sub(now), after.end.Sub(now), after.value)
				if i == 10 {
					break
				}
			}
		})
	}
}
