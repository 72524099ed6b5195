// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
)

// Access is how a client gets at a memcached.
type Access struct {
	// Port is the container's; 0 is Port.
	Port int
	// TLS is whom the client trusts and what it shows. Nil is plain text.
	TLS *tls.Config
	// User logs in with Password, unless it is empty.
	User, Password string
}

// Dial connects to the memcached in a pod, through a port-forward, and has one answer of it. The connection
// ends with the test.
func (c *Cluster) Dial(t testing.TB, namespace, pod string, access Access) (*memcached.Client, error) {
	t.Helper()
	if access.Port == 0 {
		access.Port = Port
	}
	connection, err := net.DialTimeout("tcp", c.Forward(t, namespace, pod, access.Port), memcached.DefaultTimeout)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = connection.Close() })
	return memcached.Open(t.Context(), connection, memcached.Access{TLS: access.TLS, User: access.User, Password: access.Password})
}

// Cache is a connection to the memcached in one pod, on which nothing may go wrong.
type Cache struct {
	t      testing.TB
	pod    string
	client *memcached.Client
}

// Cache connects to port of a memcached pod, in plain text, and waits until it answers: a pod
// without a readiness probe runs before it does. The connection ends with the test.
func (c *Cluster) Cache(t testing.TB, namespace, pod string, port int) *Cache {
	t.Helper()
	return c.CacheBy(t, namespace, pod, Access{Port: port})
}

// CacheBy is Cache for a server that asks for more.
func (c *Cluster) CacheBy(t testing.TB, namespace, pod string, access Access) *Cache {
	t.Helper()
	cache := &Cache{t: t, pod: pod}
	Eventually(t, "memcached answers in pod "+pod, func(context.Context) (done bool, seen string, err error) {
		cache.client, err = c.Dial(t, namespace, pod, access)
		return err == nil, "", err
	})
	return cache
}

// Set stores value under key.
func (c *Cache) Set(key, value string) {
	c.t.Helper()
	c.must(c.client.Set(key, value))
}

// Get returns what is stored under key, and "" when nothing is.
func (c *Cache) Get(key string) string {
	c.t.Helper()
	value, err := c.client.Get(key)
	c.must(err)
	return value
}

// TryGet is Get for a pod that may be on its way out: it returns an error when no
// answer comes.
func (c *Cache) TryGet(key string) (string, error) { return c.client.Get(key) }

// Version is the version that memcached says it is.
func (c *Cache) Version() string {
	c.t.Helper()
	version, err := c.client.Version()
	c.must(err)
	return version
}

// Stats are memcached's own figures, by name: the general ones, or those of a kind, such as settings.
func (c *Cache) Stats(kind ...string) map[string]string {
	c.t.Helper()
	stats, err := c.client.Stats(kind...)
	c.must(err)
	return stats
}

func (c *Cache) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("pod %s: %v", c.pod, err)
	}
}
