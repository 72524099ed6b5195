// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestQuietCore_LimitsRepeatedMessages(t *testing.T) {
	t.Parallel()
	observed, logs := observer.New(zapcore.InfoLevel)
	logger := zap.New(newQuietCore(observed))
	for range 3 {
		for _, name := range []string{"client-go", "controller-runtime.cache.UnhandledError", "leaderelection", "events", "optional", ""} {
			// A message counts as the same with other fields, and another one does not.
			named := logger.Named(name).With(zap.String("kind", name))
			named.Error("failed", zap.Int("n", logs.Len()))
			named.Error("failed otherwise")
		}
	}
	for name, want := range map[string]int{
		"client-go": 1, "controller-runtime.cache.UnhandledError": 0, "leaderelection": 0, "events": 0, "optional": 3, "": 3,
	} {
		for _, message := range []string{"failed", "failed otherwise"} {
			entries := slices.DeleteFunc(logs.FilterMessage(message).All(), func(e observer.LoggedEntry) bool { return e.LoggerName != name })
			if len(entries) != want {
				t.Errorf("logger %q logged %q %d times, want %d", name, message, len(entries), want)
			}
		}
	}
}

func TestQuietCore_LimitsErrorsOfReconciles(t *testing.T) {
	t.Parallel()
	observed, logs := observer.New(zapcore.InfoLevel)
	logger := zap.New(newQuietCore(observed))
	for range maxErrors {
		for _, name := range []string{"a", "b"} {
			of := logger.With(zap.String("namespace", "shop"), zap.String("name", name), zap.Int("reconcileID", logs.Len()))
			of.Error("Reconciler error", zap.Error(errors.New("refused")))
			of.Error("Unexpected error when reading response body")
			of.Error("other")
		}
	}
	for message, want := range map[string]int{"Reconciler error": maxErrors, "Unexpected error when reading response body": 1, "other": 2 * maxErrors} {
		entries := logs.FilterMessage(message).All()
		if len(entries) != want {
			t.Errorf("%q was logged %d times, want %d", message, len(entries), want)
		}
		if _, ok := entries[0].ContextMap()["name"]; !ok {
			t.Errorf("%q has no name: %v", message, entries[0].ContextMap())
		}
	}
}

func TestQuietCore_LogsNoErrorsOfTheStop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		logged bool
	}{
		"a canceled request":       {&url.Error{Op: "Post", URL: "https://server/", Err: context.Canceled}, false},
		"the end of leadership":    {errors.New("leader election lost"), false},
		"a request that timed out": {&url.Error{Op: "Post", URL: "https://server/", Err: context.DeadlineExceeded}, true},
		"another error":            {errors.New("the webhook server failed"), true},
		"no error":                 {nil, true},
	} {
		for _, logger := range []string{"", "events", "leaderelection"} {
			for _, message := range []string{"stopping", reconcileError, responseError} {
				observed, logs := observer.New(zapcore.InfoLevel)
				zap.New(newQuietCore(observed)).Named(logger).With(zap.String("name", "cache")).Error(message, zap.Error(test.err))
				if got := logs.Len() == 1; got != test.logged {
					t.Errorf("%s: %q of the logger %q: %v", name, message, logger, logs.All())
				}
			}
		}
	}
}
