// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// Log holds what a process prints to standard error. It can be read while the process runs.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Logger returns a logger that writes to l, for an operator in the test's process.
func (l *Log) Logger() logr.Logger {
	return funcr.New(func(_, line string) { _, _ = fmt.Fprintln(l, line) }, funcr.Options{})
}

// String returns the text so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Entry is one line of the log: structured, or plain when it is no JSON.
type Entry struct {
	Level string `json:"level"`
	Name  string `json:"name"`
	Msg   string `json:"msg"`
	Addr  string `json:"addr"`
	Error string `json:"error"`
	// Plain is the whole line when it is not structured.
	Plain string `json:"-"`
}

// Entries returns the lines so far.
func (l *Log) Entries() []Entry {
	var entries []Entry
	for line := range strings.Lines(l.String()) {
		var e Entry
		if json.Unmarshal([]byte(line), &e) != nil {
			e = Entry{Plain: line}
		}
		entries = append(entries, e)
	}
	return entries
}

// Plain returns the lines that are not structured: what the operator prints when it ends.
func (l *Log) Plain() string {
	var b strings.Builder
	for _, e := range l.Entries() {
		b.WriteString(e.Plain)
	}
	return b.String()
}

// Errors returns the messages of the structured lines of level error, but of requests that a busy machine did not answer in time.
func (l *Log) Errors() []string {
	var errors []string
	for _, e := range l.Entries() {
		if e.Level == "error" && !strings.Contains(e.Error, "context deadline exceeded") {
			errors = append(errors, e.Msg)
		}
	}
	return errors
}
