// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// answerTime is how long a memcached may take to answer.
const answerTime = 10 * time.Second

// Cache is a connection to the memcached in one pod, through a port-forward.
type Cache struct {
	t          testing.TB
	pod        string
	connection net.Conn
	reader     *bufio.Reader
}

// Cache connects to port of a memcached pod and waits until it answers: a pod without
// a readiness probe runs before it does. The connection ends with the test.
func (c *Cluster) Cache(t testing.TB, namespace, pod string, port int) *Cache {
	t.Helper()
	cache := &Cache{t: t, pod: pod}
	Eventually(t, "memcached answers in pod "+pod, func(context.Context) (bool, string, error) {
		connection, err := net.DialTimeout("tcp", c.Forward(t, namespace, pod, port), answerTime)
		if err != nil {
			return false, "", err
		}
		cache.connection, cache.reader = connection, bufio.NewReader(connection)
		if _, err := cache.try("stats", "END"); err != nil {
			return false, "", errors.Join(err, connection.Close())
		}
		return true, "", nil
	})
	t.Cleanup(func() { _ = cache.connection.Close() })
	return cache
}

// Set stores value under key.
func (c *Cache) Set(key, value string) {
	c.t.Helper()
	if got := c.ask(fmt.Sprintf("set %s 0 0 %d\r\n%s", key, len(value), value)); got != "STORED" {
		c.t.Fatalf("pod %s answers set %s with %q", c.pod, key, got)
	}
}

// Get returns what is stored under key, and "" when nothing is.
func (c *Cache) Get(key string) string {
	c.t.Helper()
	value, err := c.TryGet(key)
	Must(c.t, err)
	return value
}

// TryGet is Get for a pod that may be on its way out: it returns an error when no
// answer comes.
func (c *Cache) TryGet(key string) (string, error) {
	lines, err := c.try("get "+key, "END")
	if err != nil || len(lines) == 0 {
		return "", err
	}
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "VALUE "+key+" ") {
		return "", fmt.Errorf("pod %s answers get %s with %q", c.pod, key, lines)
	}
	return lines[1], nil
}

// Version is the version that memcached says it is.
func (c *Cache) Version() string {
	c.t.Helper()
	return strings.TrimPrefix(c.ask("version"), "VERSION ")
}

// Flush empties the cache.
func (c *Cache) Flush() {
	c.t.Helper()
	if got := c.ask("flush_all"); got != "OK" {
		c.t.Fatalf("pod %s answers flush_all with %q", c.pod, got)
	}
}

// Stats are memcached's own figures, by name.
func (c *Cache) Stats() map[string]string {
	c.t.Helper()
	lines, err := c.try("stats", "END")
	Must(c.t, err)
	stats := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "STAT "), " ")
		stats[name] = value
	}
	return stats
}

// ask sends a request that has an answer of one line.
func (c *Cache) ask(request string) string {
	c.t.Helper()
	Must(c.t, c.send(request))
	line, err := c.line()
	Must(c.t, err)
	return line
}

// try sends a request whose answer ends with a line of its own, which is left out.
func (c *Cache) try(request, end string) ([]string, error) {
	if err := c.send(request); err != nil {
		return nil, err
	}
	var lines []string
	for {
		line, err := c.line()
		if err != nil || line == end {
			return lines, err
		}
		lines = append(lines, line)
	}
}

func (c *Cache) send(request string) error {
	if err := c.connection.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := io.WriteString(c.connection, request+"\r\n"); err != nil {
		return fmt.Errorf("asking pod %s for %q: %w", c.pod, request, err)
	}
	return nil
}

func (c *Cache) line() (string, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("pod %s does not answer: %w", c.pod, err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "ERROR" {
		return "", fmt.Errorf("pod %s answers ERROR", c.pod)
	}
	return line, nil
}
