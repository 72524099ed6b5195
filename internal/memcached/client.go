// SPDX-License-Identifier: Apache-2.0

// Package memcached is a small client of memcached's text protocol, over a connection that the caller makes. The
// exporter, the kubectl plugin and the tests use it.
package memcached

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	// DefaultTimeout is how long a memcached may take to answer where no other time is given.
	DefaultTimeout = 10 * time.Second
	// maxAnswer is the number of bytes in an answer at most, above the largest item: what is not memcached may
	// send without end.
	maxAnswer = 8 << 20
)

// Client is a connection to a memcached. It is not for several goroutines.
type Client struct {
	connection net.Conn
	timeout    time.Duration
	limited    *io.LimitedReader
	reader     *bufio.Reader
}

// NewClient returns a client of the memcached at the other end of connection.
func NewClient(connection net.Conn) *Client {
	limited := &io.LimitedReader{R: connection}
	return &Client{connection: connection, timeout: DefaultTimeout, limited: limited, reader: bufio.NewReader(limited)}
}

// Close closes the connection.
func (c *Client) Close() error { return c.connection.Close() }

// Login authenticates with a user's name and password, which memcached takes as the value of a set.
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

// Item returns what memcached knows about the item under key, such as its size, by name; nil when there is none.
// It does not count as a use of the item.
func (c *Client) Item(key string) (map[string]string, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	line, err := c.ask("me " + key)
	if err != nil || line == "EN" {
		return nil, err
	}
	fields := strings.Fields(line)
	if len(fields) < 2 || fields[0] != "ME" {
		return nil, fmt.Errorf("memcached answers me %s with %q", key, line)
	}
	item := map[string]string{}
	for _, field := range fields[2:] {
		name, value, _ := strings.Cut(field, "=")
		item[name] = value
	}
	return item, nil
}

// maxKey is the number of bytes in a key at most.
const maxKey = 250

// CheckKey returns an error unless key can be a key of memcached. One with white space would be another command.
func CheckKey(key string) error {
	switch {
	case key == "" || len(key) > maxKey:
		return fmt.Errorf("the key has %d bytes: memcached's keys have 1 to %d", len(key), maxKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("the key %q has white space or control characters, which memcached's keys cannot have", key)
	default:
		return nil
	}
}

// Flush empties the cache.
func (c *Client) Flush() error { return c.expect("flush_all", "OK") }

// Version returns the version of memcached.
func (c *Client) Version() (string, error) {
	line, err := c.ask("version")
	if err != nil {
		return "", err
	}
	version, found := strings.CutPrefix(line, "VERSION ")
	if !found {
		return "", fmt.Errorf("this is not memcached: it answers version with %q", line)
	}
	return version, nil
}

// Stats returns memcached's statistics by name: the general ones, or those of a kind, such as settings.
func (c *Client) Stats(kind ...string) (map[string]string, error) {
	lines, err := c.lines(strings.Join(append([]string{"stats"}, kind...), " "))
	if err != nil {
		return nil, err
	}
	stats := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "STAT "), " ")
		stats[name] = value
	}
	return stats, nil
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
	c.limited.N = maxAnswer
	if err := c.connection.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(c.connection, request+"\r\n"); err != nil {
		return fmt.Errorf("memcached does not answer: %w", err)
	}
	return nil
}

func (c *Client) line() (string, error) {
	line, err := c.reader.ReadString('\n')
	if errors.Is(err, io.EOF) && c.limited.N <= 0 {
		return "", fmt.Errorf("this is not memcached: its answer has more than %d bytes", maxAnswer)
	}
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
