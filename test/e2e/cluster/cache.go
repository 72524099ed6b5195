// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// Port is where memcached listens unless a Memcached says otherwise.
const Port = 11211

// Dial connects to the memcached in a pod as the kubectl plugin does, and has one answer of it. The connection ends with the
// test.
func (c *Cluster) Dial(t testing.TB, namespace, pod string, access memcached.Access) (*memcached.Client, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), memcached.DefaultTimeout)
	defer cancel()
	connection, err := c.dialer.Dial(ctx, namespace, pod, Port)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = connection.Close() })
	return memcached.Open(t.Context(), connection, access)
}

// Cache is a connection to the memcached in one pod, on which nothing may go wrong.
type Cache struct {
	t      testing.TB
	pod    string
	client *memcached.Client
}

// Cache connects to the memcached in a pod and waits until it answers: a pod without a readiness probe runs before it does.
// The connection ends with the test.
func (c *Cluster) Cache(t testing.TB, namespace, pod string, access memcached.Access) *Cache {
	t.Helper()
	cache := &Cache{t: t, pod: pod}
	testenv.Eventually(t, "memcached should answer in pod "+pod, func(context.Context) (done bool, seen string, err error) {
		cache.client, err = c.Dial(t, namespace, pod, access)
		return err == nil, "", err
	})
	return cache
}

// Set stores value under key.
func (c *Cache) Set(key, value string) {
	c.t.Helper()
	must(c, "", c.client.Set(key, value))
}

// Get returns what is stored under key, and "" when nothing is.
func (c *Cache) Get(key string) string {
	c.t.Helper()
	value, err := c.client.Get(key)
	return must(c, value, err)
}

// TryGet is Get for a pod that may be on its way out: it returns an error when no
// answer comes.
func (c *Cache) TryGet(key string) (string, error) { return c.client.Get(key) }

// Image is the image of the version that memcached says it is.
func (c *Cache) Image() string {
	c.t.Helper()
	version, err := c.client.Version()
	return "docker.io/library/memcached:" + must(c, version, err)
}

// Stats are memcached's own figures, by name.
func (c *Cache) Stats() map[string]string {
	c.t.Helper()
	stats, err := c.client.Stats()
	return must(c, stats, err)
}

func must[T any](c *Cache, value T, err error) T {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("pod %s: %v", c.pod, err)
	}
	return value
}
