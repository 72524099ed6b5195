// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
)

const (
	// repeatEvery is the interval at which a repeated message of quietLoggers is logged.
	repeatEvery = time.Minute
	// maxErrors is how many errors of reconciles are logged per repeatEvery. A reconcile that fails is retried within
	// milliseconds at first, and later once in minutes; the status of each Memcached has its error anyway.
	maxErrors = 10
	// reconcileError is the message with which controller-runtime logs the error of a reconcile.
	reconcileError = "Reconciler error"
)

// quietLoggers are the name prefixes of the loggers of informers, leader election and events. While the
// API server does not respond, they log the same message every second for each watched kind.
var quietLoggers = []string{"client-go", "controller-runtime.cache", "leaderelection", "events"}

// responseError is the message that client-go logs with the logger of the reconcile, beside the error that it
// returns, when a response ends early.
const responseError = "Unexpected error when reading response body"

// errLeadershipLost is the text of the error that controller-runtime logs when it stops a leader, which has released
// its lease then. A leader that loses its lease ends with this error, and does not log it.
const errLeadershipLost = "leader election lost"

// stopCore logs all messages except errors that only say that the operator stops: a canceled request, and the end of
// leadership.
type stopCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c stopCore) With(fields []zapcore.Field) zapcore.Core { return stopCore{c.Core.With(fields)} }

// Check implements zapcore.Core.
func (c stopCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

// Write implements zapcore.Core.
func (c stopCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	if entry.Level >= zapcore.ErrorLevel && slices.ContainsFunc(fields, isStop) {
		return nil
	}
	return c.Core.Write(entry, fields)
}

func isStop(field zapcore.Field) bool {
	err, ok := field.Interface.(error)
	return ok && (errors.Is(err, context.Canceled) || err.Error() == errLeadershipLost)
}

// quietCore logs a message of quietLoggers once per repeatEvery, maxErrors errors of reconciles per repeatEvery, and all other
// messages.
type quietCore struct {
	zapcore.Core
	// quiet is the core of quietLoggers, and errors that of the errors of reconciles.
	quiet, errors zapcore.Core
	// fields precede the fields of each message. They are encoded when a message is logged: each reconcile
	// creates loggers with fields of its own, and most of them log nothing.
	fields []zapcore.Field
}

// newQuietCore returns core with a rate limit for quietLoggers, and without errors of the stop.
func newQuietCore(core zapcore.Core) zapcore.Core {
	core = stopCore{core}
	return quietCore{
		Core:   core,
		quiet:  zapcore.NewSamplerWithOptions(core, repeatEvery, 1, 0),
		errors: zapcore.NewSamplerWithOptions(core, repeatEvery, maxErrors, 0),
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
	}
	return core.With(c.fields).Check(entry, checked)
}
