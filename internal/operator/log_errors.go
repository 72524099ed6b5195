// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap/zapcore"
)

// reconcileError is the message with which controller-runtime logs the error of a reconcile.
const reconcileError = "Reconciler error"

// maxLoggedErrors bounds the memory of loggedErrors. Beyond it, errors are logged again.
const maxLoggedErrors = 1000

// errorCore logs a message unless the same one, with the same error of the same object, was logged within
// repeatEvery. A reconcile that fails is retried within milliseconds at first.
type errorCore struct {
	zapcore.Core
	logged *loggedErrors
	fields []zapcore.Field
}

// With implements zapcore.Core.
func (c errorCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = slices.Concat(c.fields, fields)
	return c
}

// Check implements zapcore.Core.
func (c errorCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return checked.AddCore(entry, c)
}

// Write implements zapcore.Core.
func (c errorCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	all := slices.Concat(c.fields, fields)
	if !c.logged.isNew(keyOf(all), entry.Time) {
		return nil
	}
	return c.Core.Write(entry, all)
}

// number matches what differs between two errors of the same cause, such as the port of a connection.
var number = regexp.MustCompile(`[0-9]+`)

// keyOf returns the object and the error of fields, the error without numbers.
func keyOf(fields []zapcore.Field) string {
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range fields {
		field.AddTo(encoder)
	}
	var key strings.Builder
	for _, name := range []string{"controller", "namespace", "name"} {
		text, _ := encoder.Fields[name].(string)
		key.WriteString(text + "\n")
	}
	text, _ := encoder.Fields["error"].(string)
	return key.String() + number.ReplaceAllLiteralString(text, "0")
}

// loggedErrors holds when errors were logged, by their keys. It is safe for concurrent use.
type loggedErrors struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// isNew reports whether key was not logged within repeatEvery before now, and if so records it.
func (l *loggedErrors) isNew(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[key]; ok && now.Sub(last) < repeatEvery {
		return false
	}
	if len(l.last) >= maxLoggedErrors {
		maps.DeleteFunc(l.last, func(_ string, last time.Time) bool { return now.Sub(last) >= repeatEvery })
	}
	if len(l.last) < maxLoggedErrors {
		l.last[key] = now
	}
	return true
}
