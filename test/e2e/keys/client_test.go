// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// keyCount is the number of keys of each client.
const keyCount = 10000

// reader is a client of a cache, with one connection to each server.
type reader struct {
	name    string
	node    *node
	timeout time.Duration
	// serverOf returns the server of a key, a host and a port.
	serverOf func(ctx context.Context, key string) (string, error)

	connections map[string]*memcached.Client
	// round is part of the keys, so that no server has older values of them.
	round int
	tally
}

// tally counts requests.
type tally struct {
	hits, misses, errors int
	// dials counts connections, slowest is the longest request.
	dials   int
	slowest time.Duration
	last    error
}

func (c *reader) key(i int) string { return fmt.Sprintf("%s-%d-%d", c.name, c.round, i) }

// request sends a request about key, and counts it.
func (c *reader) request(ctx context.Context, key string, send func(*memcached.Client) (string, error)) bool {
	started := time.Now()
	server, err := c.serverOf(ctx, key)
	value := ""
	if err == nil {
		value, err = c.on(ctx, server, send)
	}
	c.slowest = max(c.slowest, time.Since(started))
	switch {
	case err != nil:
		c.errors++
		c.last = err
	case value == "":
		c.misses++
	default:
		c.hits++
	}
	return value != ""
}

func (c *reader) on(ctx context.Context, server string, send func(*memcached.Client) (string, error)) (string, error) {
	connection := c.connections[server]
	if connection == nil {
		c.dials++
		var err error
		if connection, err = c.connect(ctx, server); err != nil {
			return "", err
		}
		c.connections[server] = connection
	}
	value, err := send(connection)
	if err != nil {
		_ = connection.Close()
		delete(c.connections, server)
	}
	return value, err
}

func (c *reader) connect(ctx context.Context, server string) (*memcached.Client, error) {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return nil, err
	}
	addresses := []string{host}
	if net.ParseIP(host) == nil {
		if addresses, err = c.node.lookUp(ctx, host); err != nil || len(addresses) == 0 {
			return nil, errors.Join(fmt.Errorf("%s has no address", host), err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	connection, err := c.node.dial(ctx, "tcp", net.JoinHostPort(addresses[0], port))
	if err != nil {
		return nil, err
	}
	return memcached.Open(ctx, connection, memcached.Access{Timeout: c.timeout})
}

// set stores new keys, each at the second attempt if need be.
func (c *reader) set(t *testing.T) {
	t.Helper()
	c.round++
	for i := range keyCount {
		key, stored := c.key(i), false
		for attempt := 0; attempt < 2 && !stored; attempt++ {
			stored = c.request(t.Context(), key, func(m *memcached.Client) (string, error) { return "stored", m.Set(key, "v") })
		}
		if !stored {
			t.Fatalf("%s cannot store %s: %v", c.name, key, c.last)
		}
	}
}

func (c *reader) get(ctx context.Context, i int) {
	key := c.key(i)
	c.request(ctx, key, func(m *memcached.Client) (string, error) { return m.Get(key) })
}

// found returns how many of the keys c gets.
func (c *reader) found(t *testing.T) int {
	t.Helper()
	before := c.hits
	for i := range keyCount {
		c.get(t.Context(), i)
	}
	return c.hits - before
}

// held returns how many of the keys of c, a client of the proxies, the pod at address has.
func (c *reader) held(t *testing.T, address string) int {
	t.Helper()
	pod := byProxy(c.node, net.JoinHostPort(address, "11211"))
	pod.round = c.round
	defer func() {
		for _, connection := range pod.connections {
			_ = connection.Close()
		}
	}()
	return pod.found(t)
}

// during gets keys by each of clients, 500 in a second, until change is done, and 10 seconds more, for which a removed pod serves.
// It returns what each has seen.
func during(t *testing.T, clients []*reader, change func()) []tally {
	t.Helper()
	stop := make(chan struct{})
	var group sync.WaitGroup
	for _, c := range clients {
		c.tally = tally{}
		group.Go(func() {
			ticker := time.NewTicker(2 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-stop:
					return
				case <-ticker.C:
					c.get(t.Context(), rand.IntN(keyCount))
				}
			}
		})
	}
	change()
	settled := time.Now().Add(10 * time.Second)
	testenv.Eventually(t, "10 seconds should pass", func() bool { return time.Now().After(settled) })
	close(stop)
	group.Wait()
	var seen []tally
	for _, c := range clients {
		seen = append(seen, c.tally)
	}
	return seen
}

// ring returns the server of each key by the consistent hashing of libmemcached, as docs/clients do.
func ring(servers []string) func(key string) string {
	type point struct {
		hash   uint32
		server string
	}
	var points []point
	for _, server := range servers {
		for i := range 40 {
			sum := md5.Sum(fmt.Appendf(nil, "%s-%d", server, i))
			for j := 0; j < len(sum); j += 4 {
				points = append(points, point{binary.LittleEndian.Uint32(sum[j:]), server})
			}
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return func(key string) string {
		sum := md5.Sum([]byte(key))
		i, _ := slices.BinarySearchFunc(points, binary.LittleEndian.Uint32(sum[:]), func(p point, hash uint32) int { return cmp.Compare(p.hash, hash) })
		return points[i%len(points)].server
	}
}

// byAddress returns a client that hashes over the addresses of a headless Service, which it looks up every 5 seconds.
func byAddress(n *node, service string) *reader {
	var next time.Time
	var known []string
	var serverOf func(key string) string
	return &reader{name: "addresses", node: n, timeout: time.Second, connections: map[string]*memcached.Client{}, serverOf: func(ctx context.Context, key string) (string, error) {
		if time.Now().After(next) {
			addresses, err := n.lookUp(ctx, service)
			if err == nil {
				next = time.Now().Add(5 * time.Second)
			}
			slices.Sort(addresses)
			if len(addresses) > 0 && !slices.Equal(addresses, known) {
				known, serverOf = addresses, ring(withPort(addresses))
			}
		}
		if serverOf == nil {
			return "", fmt.Errorf("%s has no address", service)
		}
		return serverOf(key), nil
	}}
}

func withPort(addresses []string) (servers []string) {
	for _, address := range addresses {
		servers = append(servers, net.JoinHostPort(address, "11211"))
	}
	return servers
}

// byName returns a client that hashes over the servers that a function returns.
func byName(n *node, servers func() []string) *reader {
	var known []string
	var serverOf func(key string) string
	return &reader{name: "names", node: n, timeout: time.Second, connections: map[string]*memcached.Client{}, serverOf: func(_ context.Context, key string) (string, error) {
		if now := servers(); !slices.Equal(now, known) {
			known, serverOf = now, ring(now)
		}
		return serverOf(key), nil
	}}
}

// byProxy returns a client of the proxies at an endpoint.
func byProxy(n *node, endpoint string) *reader {
	return &reader{name: "proxy", node: n, timeout: 2 * time.Second, connections: map[string]*memcached.Client{}, serverOf: func(context.Context, string) (string, error) {
		return endpoint, nil
	}}
}
