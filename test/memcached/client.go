// SPDX-License-Identifier: Apache-2.0

// Package memcached is a small client of memcached's text protocol. Its tests run the
// real memcached with what the templates render for it: the arguments, the environment,
// the mounted Secrets and the sidecars of a pod, without a cluster.
package memcached

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// answerTime is how long a memcached may take to answer.
const answerTime = 10 * time.Second

// Client is a connection to a memcached. It is not for several goroutines.
type Client struct {
	connection net.Conn
	reader     *bufio.Reader
}

// NewClient speaks with the memcached at the other end of connection.
func NewClient(connection net.Conn) *Client {
	return &Client{connection: connection, reader: bufio.NewReader(connection)}
}

// Close ends the connection.
func (c *Client) Close() error { return c.connection.Close() }

// Login gives a user's name and password, which memcached wants as the value of a set.
func (c *Client) Login(user, password string) error {
	return c.Set("login", user+" "+password)
}

// Set stores value under key.
func (c *Client) Set(key, value string) error {
	return c.expect(fmt.Sprintf("set %s 0 0 %d\r\n%s", key, len(value), value), "STORED")
}

// Get returns what is stored under key, and "" when nothing is.
func (c *Client) Get(key string) (string, error) {
	lines, err := c.lines("get " + key)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "VALUE "+key+" ") {
		return "", fmt.Errorf("memcached answers get %s with %q", key, lines)
	}
	return lines[1], nil
}

// Flush empties the cache.
func (c *Client) Flush() error { return c.expect("flush_all", "OK") }

// Version is the version that memcached says it is.
func (c *Client) Version() (string, error) {
	line, err := c.ask("version")
	return strings.TrimPrefix(line, "VERSION "), err
}

// Stats are memcached's figures, by name: the general ones, or those of a kind, such as
// settings.
func (c *Client) Stats(kind ...string) (map[string]string, error) {
	lines, err := c.lines(strings.Join(append([]string{"stats"}, kind...), " "))
	stats := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "STAT "), " ")
		stats[name] = value
	}
	return stats, err
}

// expect sends a request that has one good answer.
func (c *Client) expect(request, want string) error {
	got, err := c.ask(request)
	if err == nil && got != want {
		command, _, _ := strings.Cut(request, "\r\n")
		err = fmt.Errorf("memcached answers %s with %q", command, got)
	}
	return err
}

// ask sends a request that has an answer of one line.
func (c *Client) ask(request string) (string, error) {
	if err := c.send(request); err != nil {
		return "", err
	}
	return c.line()
}

// lines sends a request whose answer ends with the line END, which is left out.
func (c *Client) lines(request string) ([]string, error) {
	if err := c.send(request); err != nil {
		return nil, err
	}
	var lines []string
	for {
		line, err := c.line()
		if err != nil || line == "END" {
			return lines, err
		}
		lines = append(lines, line)
	}
}

func (c *Client) send(request string) error {
	if err := c.connection.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := io.WriteString(c.connection, request+"\r\n"); err != nil {
		return fmt.Errorf("asking memcached: %w", err)
	}
	return nil
}

func (c *Client) line() (string, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("memcached does not answer: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	for _, failure := range []string{"ERROR", "CLIENT_ERROR ", "SERVER_ERROR "} {
		if strings.HasPrefix(line, failure) {
			return "", fmt.Errorf("memcached answers %s", line)
		}
	}
	return line, nil
}
