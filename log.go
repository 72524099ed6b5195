// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
)

// repeatEvery is how often a message of one of quietLoggers is logged.
const repeatEvery = time.Minute

// quietLoggers are the names, or their beginnings, of the loggers of informers, of the leader
// election and of events. While the API server does not answer, they would log the same message
// every second, for each kind that is watched.
var quietLoggers = []string{"client-go", "controller-runtime.cache", "leaderelection", "events"}

// quietCore logs a message of quietLoggers once in repeatEvery, and everything else.
type quietCore struct {
	zapcore.Core
	// quiet is the core of quietLoggers.
	quiet zapcore.Core
}

// newQuietCore returns core with quietLoggers limited.
func newQuietCore(core zapcore.Core) zapcore.Core {
	return quietCore{core, zapcore.NewSamplerWithOptions(core, repeatEvery, 1, 0)}
}

// With implements zapcore.Core.
func (c quietCore) With(fields []zapcore.Field) zapcore.Core {
	return quietCore{c.Core.With(fields), c.quiet.With(fields)}
}

// Check implements zapcore.Core.
func (c quietCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	isPrefix := func(prefix string) bool { return strings.HasPrefix(entry.LoggerName, prefix) }
	if slices.ContainsFunc(quietLoggers, isPrefix) {
		return c.quiet.Check(entry, checked)
	}
	return c.Core.Check(entry, checked)
}
