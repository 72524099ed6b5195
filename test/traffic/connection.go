// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// connection is a connection of a worker to the cache.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

// get returns the value in the cache; "" on a miss.
func (w *worker) get(ctx context.Context, i int) (value string, err error) {
	err = w.ask(ctx, "get "+w.keys[i], func(line string, more func(int) (string, error)) error {
		if line == "END" {
			return nil
		}
		var length int
		if _, err := fmt.Sscanf(line, "VALUE "+w.keys[i]+" 0 %d", &length); err != nil {
			return fmt.Errorf("the answer to get is %q", line)
		}
		value, err = more(length + len("\r\nEND\r\n"))
		value = strings.TrimSuffix(value, "\r\nEND\r\n")
		return err
	})
	return value, err
}

// set stores the row in the cache.
func (w *worker) set(ctx context.Context, i int) error {
	value := w.value(i)
	return w.ask(ctx, fmt.Sprintf("set %s 0 0 %d\r\n%s", w.keys[i], len(value), value), expecting("STORED"))
}

// delete deletes the row from the cache.
func (w *worker) delete(ctx context.Context, i int) error {
	return w.ask(ctx, "delete "+w.keys[i], expecting("DELETED", "NOT_FOUND"))
}

func expecting(answers ...string) func(string, func(int) (string, error)) error {
	return func(line string, _ func(int) (string, error)) error {
		if slices.Contains(answers, line) {
			return nil
		}
		return fmt.Errorf("the answer is %q", line)
	}
}

// ask sends a request and has its answer taken: the first line, and as many bytes more as are asked for. An error ends the connection.
func (w *worker) ask(ctx context.Context, request string, take func(line string, more func(int) (string, error)) error) error {
	if w.cache == nil {
		dialing, cancel := context.WithTimeout(ctx, w.options.Timeout)
		defer cancel()
		conn, err := w.options.Dial(dialing)
		if err != nil {
			return err
		}
		w.cache = &connection{conn, bufio.NewReader(conn)}
	}
	err := w.cache.SetDeadline(time.Now().Add(w.options.Timeout))
	if err == nil {
		_, err = io.WriteString(w.cache, request+"\r\n")
	}
	line := ""
	if err == nil {
		line, err = w.cache.reader.ReadString('\n')
	}
	if err == nil {
		err = take(strings.TrimSuffix(line, "\r\n"), w.cache.more)
	}
	if err != nil {
		w.disconnect()
	}
	return err
}

// more reads the rest of an answer.
func (c *connection) more(length int) (string, error) {
	text := make([]byte, length)
	_, err := io.ReadFull(c.reader, text)
	return string(text), err
}

func (w *worker) disconnect() {
	if w.cache != nil {
		_ = w.cache.Close()
		w.cache = nil
	}
}
