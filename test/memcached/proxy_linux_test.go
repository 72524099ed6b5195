// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/testenv"
)

// server is a memcached on an address of the loopback network, without a pod.
type server struct {
	command    *exec.Cmd
	host, port string
}

// startServer starts memcached on host and port.
func startServer(t *testing.T, host, port string) *server {
	t.Helper()
	root := unpacked(t)
	libraries := filepath.Join(root, "usr", "lib", "x86_64-linux-gnu")
	// By its own dynamic linker: the root file system may be of another release than the machine's.
	command := exec.Command(filepath.Join(libraries, "ld-linux-x86-64.so.2"), "--library-path", libraries,
		filepath.Join(root, "usr", "bin", "memcached"), "-l", host, "-p", port, "-U", "0", "-t", "1")
	if os.Getuid() == 0 {
		command.Args = append(command.Args, "-u", "root")
	}
	testenv.NoError(t, command.Start())
	s := &server{command, host, port}
	t.Cleanup(s.kill)
	testenv.Eventually(t, "memcached takes a connection", func() bool {
		connection, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), patience)
		return err == nil && connection.Close() == nil
	})
	return s
}

func (s *server) kill() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

// stop has the kernel take connections, and memcached say nothing, as a node does whose network is cut.
func (s *server) stop() {
	_ = s.command.Process.Signal(syscall.SIGSTOP)
	_, _ = syscall.Wait4(s.command.Process.Pid, nil, syscall.WUNTRACED, nil) // until it has stopped
}

// resume ends stop.
func (s *server) resume() { _ = s.command.Process.Signal(syscall.SIGCONT) }

// line returns the line of s in the file of nodes.
func (s *server) line() string { return fmt.Sprintf("- %s %s\n", s.host, s.port) }

// proxy is the proxy of a Memcached as it is rendered, running.
type proxy struct {
	pod
	nodes    string // the directory of the file of nodes
	zonePort string // for the proxies of other zones; empty without these
	ownPort  string // with TLS, the one without for the mover
}

// startProxy starts a proxy of the nodes in lines, with resolv.conf.
func startProxy(t *testing.T, lines, resolvConf string) *proxy {
	t.Helper()
	return startProxyFor(t, given{spec: "proxy: {size: 1}"}, lines, resolvConf)
}

// startProxyFor starts a proxy that is rendered for g.
func startProxyFor(t *testing.T, g given, lines, resolvConf string) *proxy {
	t.Helper()
	if g.patient {
		return startProxyWith(t, g, lines, resolvConf, patientRoutes(t))
	}
	return startProxyWith(t, g, lines, resolvConf, filepath.Join(repository, "manifests", "components", "proxy"))
}

// startPatientProxy starts a proxy of the nodes in lines that waits for their answers for long. On a busy machine, a node may count as
// down otherwise, and a stand-in be used.
func startPatientProxy(t *testing.T, lines string) *proxy {
	t.Helper()
	return startProxyFor(t, given{spec: "proxy: {size: 1}", patient: true}, lines, "")
}

// patientRoutes returns a directory with the proxy.lua of a patient proxy.
func patientRoutes(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "manifests", "components", "proxy", "proxy.lua"))
	testenv.NoError(t, err)
	const times = "local CONNECT, READ, RETRY = 0.5, 0.5, 1"
	if !strings.Contains(string(text), times) {
		t.Fatalf("proxy.lua has no %q", times)
	}
	routes := t.TempDir()
	testenv.NoError(t, os.Chmod(routes, 0o755))
	patient := strings.Replace(string(text), times, "local CONNECT, READ, RETRY = 60, 60, 1", 1)
	testenv.NoError(t, os.WriteFile(filepath.Join(routes, "proxy.lua"), []byte(patient), 0o644)) //nolint:gosec // the container's user reads it
	return routes
}

// startProxyWith starts a proxy with the proxy.lua in the directory routes.
func startProxyWith(t *testing.T, g given, lines, resolvConf, routes string) *proxy {
	t.Helper()
	p := &proxy{pod: pod{port: freePort(t), ended: make(chan struct{})}, nodes: t.TempDir()}
	testenv.NoError(t, os.Chmod(p.nodes, 0o755))
	p.list(t, lines)
	p.spec = rendered(t, g, "cache-proxy", p.port)
	for i, variable := range p.spec.Containers[0].Env {
		switch variable.Name {
		case "MEMCACHED_ZONE_PORT":
			p.zonePort = freePort(t)
			p.spec.Containers[0].Env[i].Value = p.zonePort
		case "MOVER_PORT": // of a proxy with TLS
			p.ownPort = freePort(t)
			variable.Value = p.ownPort
			for _, c := range p.spec.Containers {
				if at := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == variable.Name }); at >= 0 {
					c.Env[at] = variable
				}
			}
		}
	}
	routes, err := filepath.Abs(routes)
	testenv.NoError(t, err)
	p.volumes = volumesOf(t, p.spec, g.secrets)
	p.volumes["proxy"], p.volumes["nodes"] = &volume{dir: routes}, &volume{dir: p.nodes}
	box := sandbox{UID: uint32(*p.spec.SecurityContext.RunAsUser), GID: uint32(*p.spec.SecurityContext.RunAsGroup)}
	resolver := filepath.Join(t.TempDir(), "resolv.conf")
	testenv.NoError(t, os.WriteFile(resolver, []byte(resolvConf), 0o644)) //nolint:gosec // the container's user reads it
	testenv.NoError(t, os.Chmod(filepath.Dir(resolver), 0o755))
	for _, c := range append(p.spec.InitContainers, p.spec.Containers...) {
		made := containerOf(t, c, p.volumes)
		mountPoint, err := os.OpenFile(filepath.Join(made.Image, "etc/resolv.conf"), os.O_CREATE|os.O_RDONLY, 0o644)
		testenv.NoError(t, err)
		testenv.NoError(t, mountPoint.Close())
		made.Mounts["/etc/resolv.conf"] = mount{Dir: resolver}
		made.Cgroup = g.cgroup
		box.Containers = append(box.Containers, made)
	}
	p.run(t, box)
	return p
}

// list replaces the file of nodes, as the kubelet does, at once.
func (p *proxy) list(t *testing.T, lines string) {
	t.Helper()
	file := filepath.Join(p.nodes, "nodes")
	testenv.NoError(t, os.WriteFile(file+"_new", []byte(lines), 0o644)) //nolint:gosec // the container's user reads it
	testenv.NoError(t, os.Rename(file+"_new", file))
}

// text is a connection to a memcached that shows answers as they are.
type text struct {
	net.Conn
	reader *bufio.Reader
}

// text returns a connection to the proxy.
func (p *proxy) text(t *testing.T) *text {
	t.Helper()
	var c *text
	p.eventually(t, "the proxy takes a connection", func() (err error) {
		c, err = dialText(t, "127.0.0.1", cmp.Or(p.ownPort, p.port))
		return err
	})
	return c
}

func dialText(t *testing.T, host, port string) (*text, error) {
	t.Helper()
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), patience)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = connection.Close() })
	return newText(connection), nil
}

func newText(connection net.Conn) *text { return &text{connection, bufio.NewReader(connection)} }

// ask returns the answers to request, lines separated by "|", without that of a no-op which follows it. None may be an error of the
// server, and the connection must stay.
func (c *text) ask(t *testing.T, request string) string {
	t.Helper()
	testenv.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err := io.WriteString(c, strings.ReplaceAll(request, "|", "\r\n")+"\r\nmn\r\n")
	testenv.NoError(t, err)
	var answers []string
	for {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v after %q", request, err, answers)
		}
		line = strings.TrimSuffix(line, "\r\n")
		switch {
		case line == "MN":
			return strings.Join(answers, "|")
		case strings.HasPrefix(line, "SERVER_ERROR"), line == "ERROR":
			t.Fatalf("%s: %s", request, line)
		}
		answers = append(answers, line)
	}
}

// fill stores n keys, and returns them.
func (c *text) fill(t *testing.T, n int) []string {
	t.Helper()
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("key-%d", i))
	}
	c.eventuallyHas(t, keys)
	return keys
}

// eventuallyHas stores keys until all of them are found. On a busy machine a node may count as down for a second.
func (c *text) eventuallyHas(t *testing.T, keys []string) {
	t.Helper()
	testenv.Eventually(t, fmt.Sprintf("%d keys should be stored and found", len(keys)), func() bool {
		c.store(t, keys)
		return len(c.hits(t, keys)) == len(keys)
	})
}

func (c *text) store(t *testing.T, keys []string) {
	t.Helper()
	for _, key := range keys {
		c.ask(t, "set "+key+valueOf(key))
	}
}

// valueOf returns what is stored for key, with its flags and size. One key in ten has more than memcached reads at once.
func valueOf(key string) string {
	value := "v"
	if strings.HasSuffix(key, "7") {
		value = strings.Repeat(key+" ", 4000)
	}
	return fmt.Sprintf(" 0 0 %d|%s", len(value), value)
}

// hits returns those of keys that c has.
func (c *text) hits(t *testing.T, keys []string) []string {
	t.Helper()
	var found []string
	for _, key := range keys {
		switch got := c.ask(t, "get "+key); got {
		case "VALUE " + key + strings.TrimPrefix(valueOf(key), " 0") + "|END":
			found = append(found, key)
		case "END":
		default:
			t.Fatalf("get %s: %.100s", key, got)
		}
	}
	return found
}

// startServers starts n servers, and returns their lines in the file of nodes.
func startServers(t *testing.T, n int) (servers []*server, lines string) {
	t.Helper()
	for range n {
		s := startServer(t, "127.0.0.1", freePort(t))
		servers, lines = append(servers, s), lines+s.line()
	}
	return servers, lines
}

// shown are requests, each with what a proxy answers when a node answers it, and when none does.
var shown = []struct{ request, answer, unanswered string }{
	{"md c q", "NF", "NF"},
	{"set a 0 0 1|v", "STORED", "NOT_STORED"},
	{"get a", "VALUE a 0 1|v|END", "END"},
	{"get a b c", "VALUE a 0 1|v|END", "END"},
	{"gat 9 a", "VALUE a 0 1|v|END", "END"},
	{"append a 0 0 1|w", "STORED", "NOT_STORED"},
	{"prepend a 0 0 1|u", "STORED", "NOT_STORED"},
	{"replace a 0 9 1|v", "STORED", "NOT_STORED"},
	{"add a 0 0 1|v", "NOT_STORED", "NOT_STORED"},
	{"cas a 0 0 1 1|v", "EXISTS", "NOT_STORED"},
	{"touch a 9", "TOUCHED", "NOT_FOUND"},
	{"incr a 1", "CLIENT_ERROR cannot increment or decrement non-numeric value", "NOT_FOUND"},
	{"set n 0 0 1 noreply|1", "", ""},
	{"incr n 2", "3", "NOT_FOUND"},
	{"decr n 1", "2", "NOT_FOUND"},
	{"incr n 1 noreply", "", ""},
	{"get n", "VALUE n 0 1|3|END", "END"},
	{"delete a", "DELETED", "NOT_FOUND"},
	{"delete a noreply", "", ""},
	{"ms m 1 T9|v", "HD", "NS"},
	{"ms m 1|v", "HD", "NS"},
	{"mg m v", "VA 1|v", "EN"},
	{"mg m v T9", "VA 1|v", "EN"},
	{"mg x v q", "", ""},
	{"ms q 1 q|v", "", "NS"},
	{"mg q v q", "VA 1|v", ""},
	{"ma q N0 q", "CLIENT_ERROR cannot increment or decrement non-numeric value", "NF"},
	{"ma c N0 J5 v", "VA 1|5", "NF"},
	{"ma c q", "", "NF"},
	{"md q q", "", "NF"},
	{"md m", "HD", "NF"},
	{"md m", "NF", "NF"},
}

func TestProxy_AnswersWhileNodesAreDown(t *testing.T) {
	t.Parallel()
	for how, fail := range map[string]func(*server){"killed": (*server).kill, "stopped": (*server).stop} {
		for down := range 5 {
			t.Run(fmt.Sprintf("%d of 4 %s", down, how), func(t *testing.T) {
				t.Parallel()
				servers, lines := startServers(t, 4)
				p := startProxy(t, lines, "")
				c := p.text(t)
				for _, s := range servers[:down] {
					fail(s)
				}
				// wrong returns the first answer that is not as with an empty cache, or as with all nodes.
				wrong := func(answered bool) (text string) {
					for _, key := range []string{"a", "b", "c", "n", "m", "q", "x"} {
						c.ask(t, "delete "+key)
					}
					for _, row := range shown {
						want := map[bool]string{true: row.answer, false: row.unanswered}[answered]
						if got := c.ask(t, row.request); got != want && text == "" {
							text = fmt.Sprintf("%s: %q, want %q", row.request, got, want)
						}
					}
					return text
				}
				switch {
				case down < 3: // Every key has a node or a stand-in that answers.
					testenv.Eventually(t, "the answers should be those of all nodes", func(context.Context) (bool, string, error) {
						text := wrong(true)
						return text == "", text, nil
					})
					c.fill(t, 100)
				case down == 3: // Some have none. No answer is an error.
					_ = wrong(true)
				default:
					if text := wrong(false); text != "" {
						t.Error(text)
					}
				}
			})
		}
	}
}

// What is stored on a stand-in is gone before it could come back as an old value.
func TestProxy_StandInsForgetSoon(t *testing.T) {
	t.Parallel()
	servers, lines := startServers(t, 3)
	c := startProxy(t, lines, "").text(t)
	lost := servers[0].of(t, c.fill(t, 60))
	servers[0].kill()
	forms := []string{
		"set %s 0 0 1|v", "set %s 0 0 1 noreply|v", "set %s 0 2000000000 1|v", "add %s 0 3600 1|v", "ms %s 1|v", "ms %s 1 T3600|v", "ms %s 1 q|v",
		"ms %s 1 q T0|v", "ma %s N3600 T3600", "mg %s N3600", "set %s 0 9 1|v|touch %[1]s 3600", "set %s 0 9 1|v|gat 3600 %[1]s", "set %s 0 9 1|v|mg %[1]s T3600",
	}
	if len(lost) < len(forms) {
		t.Fatalf("%d keys of 60 were on one of three nodes", len(lost))
	}
	for i, form := range append(forms, "set %s 0 7 1|v") {
		testenv.Eventually(t, form+" should be answered by a stand-in", func(context.Context) (bool, string, error) {
			c.ask(t, fmt.Sprintf(form, lost[i%len(forms)]))
			got := c.ask(t, "mg "+lost[i%len(forms)]+" t")
			ttl, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(got, "HD t"), " Z")) // Z: mg with N had made it
			if most := map[bool]int{true: 7, false: 60}[i == len(forms)]; err == nil && (ttl < 1 || ttl > most) {
				t.Errorf("after %q on a stand-in: %q, want a time to live of %d s at most", form, got, most)
			}
			return err == nil, got, nil
		})
	}
	stats := c.ask(t, "stats proxy")
	if strings.Contains(stats, "user_stand_in 0|") {
		t.Errorf("statistics: %s", stats)
	}
}

// What is changed while a node does not answer is not found there as it was before, once it answers again: by the client that changed it
// never, and by others no longer than that client takes for as many requests.
func TestProxy_DeletesWhatANodeMissed(t *testing.T) {
	t.Parallel()
	for kind, handOver := range map[string]string{"without a hand-over": "", "the old node of a hand-over": "old 1 %s %s %d %d\n"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			servers, lines := startServers(t, 3)
			p := startProxy(t, lines, "")
			c := p.text(t)
			silent := servers[0]
			keys := silent.of(t, c.fill(t, 60))
			if handOver != "" {
				successor, now := startServer(t, "127.0.0.1", freePort(t)), time.Now()
				lines = strings.Replace(lines, silent.line(), successor.line(), 1)
				lines += fmt.Sprintf(handOver, silent.host, silent.port, now.Add(-time.Hour).Unix(), now.Add(time.Hour).Unix())
				p.used(t, c, lines)
			}
			silent.stop()
			requests := []string{"delete %s", "set %s 0 0 1|w", "set %s 0 0 1 noreply|w", "ms %s 1|w", "md %s q", "touch %s 0", "gat 0 %s", "incr %s 1"}
			var changed, kept []string
			for i, key := range keys {
				c.ask(t, fmt.Sprintf(requests[i%len(requests)], key))
				if i%len(requests) < 5 {
					changed = append(changed, key)
				} else {
					kept = append(kept, key)
				}
			}
			p.listed(t, c, lines) // What a node missed outlives a reload.
			silent.resume()
			direct, err := dialText(t, silent.host, silent.port)
			testenv.NoError(t, err)
			testenv.Eventually(t, "the changes should be deleted", func() bool {
				for _, key := range changed {
					if got := c.ask(t, "get "+key); strings.Contains(got, "|v") {
						t.Errorf("get %s: %s", key, got)
					}
				}
				return len(direct.hits(t, changed)) == 0
			})
			if left := direct.hits(t, kept); len(left) != len(kept) {
				t.Errorf("of %v, which did not change, %v are left", kept, left)
			}
		})
	}
}

func TestProxy_MovesFewKeys(t *testing.T) {
	t.Parallel()
	servers, lines := startServers(t, 4)
	p := startProxy(t, lines, "")
	c := p.text(t)
	keys := c.fill(t, 1000)
	before := make([][]string, len(servers))
	for i, s := range servers {
		before[i] = s.of(t, keys)
	}

	servers[1].kill()
	servers[1] = startServer(t, servers[1].host, servers[1].port)
	testenv.Eventually(t, "the replacement of a node should have its keys", func() bool {
		c.store(t, before[1])
		return len(servers[1].of(t, before[1])) == len(before[1])
	})
	testenv.Eventually(t, "all keys should be found", func() bool { return len(c.hits(t, keys)) == 1000 })

	fifth := startServer(t, "127.0.0.1", freePort(t))
	p.list(t, lines+fifth.line())
	moved := 0
	testenv.Eventually(t, "keys should move, all to the fifth node", func(context.Context) (bool, string, error) {
		for _, s := range append(servers, fifth) {
			c, err := dialText(t, s.host, s.port)
			testenv.NoError(t, err)
			c.ask(t, "flush_all")
		}
		c.store(t, keys)
		last, elsewhere := moved, 0
		moved = len(fifth.of(t, keys))
		for i, s := range servers {
			for _, key := range s.of(t, keys) {
				if !slices.Contains(before[i], key) {
					elsewhere++
				}
			}
		}
		return moved > 0 && moved == last && elsewhere == 0, fmt.Sprintf("%d moved to it, and %d elsewhere", moved, elsewhere), nil
	})
	if moved > 238 { // a fifth, and three standard deviations
		t.Errorf("%d of 1000 keys moved", moved)
	}
}

func TestProxy_KeepsTheLastGoodList(t *testing.T) {
	t.Parallel()
	servers, lines := startServers(t, 2)
	p := startProxy(t, lines, "")
	c := p.text(t)
	keys := c.fill(t, 100)
	for _, bad := range []string{"", "\n", "nonsense\n", "- 127.0.0.1\n", lines + "- 127.0.0.1 port\n", "- a.b.svc 11211\n"} {
		reported := strings.Count(p.output.String(), "cannot be used")
		p.list(t, bad)
		testenv.Eventually(t, "it should be said that the file cannot be used", func() bool { return strings.Count(p.output.String(), "cannot be used") > reported })
		testenv.Eventually(t, "all keys should be found", func() bool { return len(c.hits(t, keys)) == 100 })
	}
	testenv.NoError(t, os.Remove(filepath.Join(p.nodes, "nodes")))
	p.list(t, servers[0].line())
	testenv.Eventually(t, "the keys of the other node should be misses", func() bool {
		return slices.Equal(c.hits(t, keys), servers[0].of(t, keys))
	})
}

func TestProxy_DoesNotStartWithoutNodes(t *testing.T) {
	t.Parallel()
	p := startProxy(t, "nonsense\n", "")
	testenv.Eventually(t, "it should end", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if want := "'nonsense' is not '- <host> <port>'"; !strings.Contains(p.output.String(), want) {
		t.Errorf("it says %s, want %s", p.output.String(), want)
	}
}

// resolver is a DNS server for names of the cluster.
type resolver struct {
	mu        sync.Mutex
	addresses map[string]string // by name; nil for no answers at all
}

// startResolver starts a resolver on host, and returns the resolv.conf of a pod with the dnsConfig of the proxy.
func startResolver(t *testing.T, host string) (r *resolver, resolvConf string) {
	t.Helper()
	connection, err := net.ListenPacket("udp", net.JoinHostPort(host, "53"))
	if err != nil {
		t.Skipf("a DNS server needs port 53: run it as root (%v)", err)
	}
	r = &resolver{addresses: map[string]string{}}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = connection.Close()
		<-done
	})
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := connection.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := r.answer(buffer[:n]); answer != nil {
				_, _ = connection.WriteTo(answer, from)
			}
		}
	}()
	return r, fmt.Sprintf("search shop.svc.cluster.test svc.cluster.test cluster.test\nnameserver %s\noptions timeout:1 attempts:1 ndots:1\n", host)
}

func (r *resolver) set(addresses map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addresses = addresses
}

func (r *resolver) answer(query []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var message dnsmessage.Message
	if r.addresses == nil || message.Unpack(query) != nil || len(message.Questions) != 1 {
		return nil
	}
	question := message.Questions[0]
	message.Header.Response, message.Additionals = true, nil
	address, known := r.addresses[question.Name.String()]
	if !known {
		message.RCode = dnsmessage.RCodeNameError
	}
	if known && question.Type == dnsmessage.TypeA {
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class, TTL: 5},
			Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(address).To4())},
		}}
	}
	answer, _ := message.Pack()
	return answer
}

// namedProxy starts two servers that a proxy knows by name, and stores keys through it.
func namedProxy(t *testing.T, network string) (r *resolver, servers [2]*server, c *text, keys []string) {
	t.Helper()
	r, resolvConf := startResolver(t, network+".1")
	port := freePort(t)
	servers = [2]*server{startServer(t, network+".2", port), startServer(t, network+".3", port)}
	r.set(addresses(servers[0].host, servers[1].host))
	c = startProxy(t, fmt.Sprintf("- cache-0.cache-nodes.shop.svc %s\n- cache-1.cache-nodes.shop.svc %[1]s\n", port), resolvConf).text(t)
	return r, servers, c, c.fill(t, 100)
}

// addresses are those of two names.
func addresses(first, second string) map[string]string {
	return map[string]string{"cache-0.cache-nodes.shop.svc.cluster.test.": first, "cache-1.cache-nodes.shop.svc.cluster.test.": second}
}

// of returns those of keys that s has.
func (s *server) of(t *testing.T, keys []string) []string {
	t.Helper()
	c, err := dialText(t, s.host, s.port)
	testenv.NoError(t, err)
	return c.hits(t, keys)
}

func TestProxy_FollowsNames(t *testing.T) {
	t.Parallel()
	r, servers, c, keys := namedProxy(t, "127.53.1")
	first, second := servers[0].of(t, keys), servers[1].of(t, keys)
	after := startServer(t, "127.53.1.4", servers[0].port)
	r.set(addresses(after.host, servers[1].host))
	servers[0].kill()
	testenv.Eventually(t, "the replacement should have the keys of its predecessor", func() bool {
		c.store(t, keys)
		return len(after.of(t, first)) == len(first)
	})
	if got := len(servers[1].of(t, second)); got < len(second) {
		t.Errorf("the other node has %d of %d keys", got, len(second))
	}
}

// With a DNS that does not answer, the defaults of resolv.conf would hold up clients for 20 s.
func TestProxy_AnswersWhileDNSIsSilent(t *testing.T) {
	t.Parallel()
	r, servers, c, keys := namedProxy(t, "127.53.2")
	survivors := servers[1].of(t, keys)
	r.set(nil)
	servers[0].kill()
	testenv.Eventually(t, "the keys of the node that is left should be found", func() bool { return slices.Equal(c.hits(t, keys), survivors) })
	c.eventuallyHas(t, keys)
}
