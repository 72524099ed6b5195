// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
)

// repeatEvery is the interval at which a repeated message of quietLoggers is logged.
const repeatEvery = time.Minute

// quietLoggers are the name prefixes of the loggers of informers, leader election and events. While the
// API server does not respond, they log the same message every second for each watched kind.
var quietLoggers = []string{"client-go", "controller-runtime.cache", "leaderelection", "events"}

// responseError is the message that client-go logs with the logger of the reconcile, beside the error that it
// returns, when a response ends early.
const responseError = "Unexpected error when reading response body"

const (
	// stopError is the message with which controller-runtime logs errors that arrive while it stops.
	stopError = "error received after stop sequence was engaged"
	// leadershipLost is such an error of a leader that has released its lease, at each stop.
	leadershipLost = "leader election lost"
)

// stopCore logs errors that arrive during the stop, except leadershipLost. Without a stop, the operator ends
// with leadershipLost as its error.
type stopCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c stopCore) With(fields []zapcore.Field) zapcore.Core { return stopCore{c.Core.With(fields)} }

// Check implements zapcore.Core.
func (c stopCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return checked.AddCore(entry, c)
}

// Write implements zapcore.Core.
func (c stopCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	if slices.ContainsFunc(fields, func(field zapcore.Field) bool {
		err, ok := field.Interface.(error)
		return ok && err.Error() == leadershipLost
	}) {
		return nil
	}
	return c.Core.Write(entry, fields)
}

// quietCore logs a message of quietLoggers once per repeatEvery, the error of a reconcile once per repeatEvery as
// long as it is the same one of the same object, and all other messages.
type quietCore struct {
	zapcore.Core
	// quiet is the core of quietLoggers, and errors that of the errors of reconciles.
	quiet, errors zapcore.Core
	// fields precede the fields of each message. They are encoded when a message is logged: each reconcile
	// creates loggers with fields of its own, and most of them log nothing.
	fields []zapcore.Field
}

// newQuietCore returns core with a rate limit for quietLoggers.
func newQuietCore(core zapcore.Core) zapcore.Core {
	return quietCore{
		Core:   core,
		quiet:  zapcore.NewSamplerWithOptions(core, repeatEvery, 1, 0),
		errors: errorCore{Core: core, logged: &loggedErrors{last: map[string]time.Time{}}},
	}
}

// With implements zapcore.Core.
func (c quietCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = slices.Concat(c.fields, fields)
	return c
}

// Check implements zapcore.Core.
func (c quietCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	core := c.Core
	isPrefix := func(prefix string) bool { return strings.HasPrefix(entry.LoggerName, prefix) }
	switch {
	case slices.ContainsFunc(quietLoggers, isPrefix), entry.Message == responseError:
		core = c.quiet
	case entry.Message == reconcileError:
		core = c.errors
	case entry.Message == stopError:
		core = stopCore{c.Core}
	}
	return core.With(c.fields).Check(entry, checked)
}
