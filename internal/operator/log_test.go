// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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
	for range 3 {
		for _, name := range []string{"a", "b"} {
			of := logger.With(zap.String("namespace", "shop"), zap.String("name", name), zap.Int("reconcileID", logs.Len()))
			of.Error("Reconciler error", zap.Error(errors.New("refused")))
			of.Error("Reconciler error", zap.Error(fmt.Errorf("read tcp 127.0.0.1:%d: timed out", logs.Len())))
			of.Error("Unexpected error when reading response body")
			of.Error("other")
		}
	}
	for message, want := range map[string]int{"Reconciler error": 4, "Unexpected error when reading response body": 1, "other": 6} {
		entries := logs.FilterMessage(message).All()
		if len(entries) != want {
			t.Errorf("%q was logged %d times, want %d", message, len(entries), want)
		}
		if _, ok := entries[0].ContextMap()["name"]; !ok {
			t.Errorf("%q has no name: %v", message, entries[0].ContextMap())
		}
	}
}

func TestQuietCore_LogsOtherErrorsOfTheStop(t *testing.T) {
	t.Parallel()
	observed, logs := observer.New(zapcore.InfoLevel)
	logger := zap.New(newQuietCore(observed)).With(zap.String("name", "manager"))
	for _, text := range []string{"leader election lost", "the webhook server failed"} {
		logger.Error("error received after stop sequence was engaged", zap.Error(errors.New(text)))
	}
	if entries := logs.All(); len(entries) != 1 || entries[0].ContextMap()["error"] != "the webhook server failed" {
		t.Errorf("the log is %v", entries)
	}
}

func TestLoggedErrors_ForgetAfterAMinute(t *testing.T) {
	t.Parallel()
	l := &loggedErrors{last: map[string]time.Time{}}
	start := time.Unix(0, 0)
	for i, test := range []struct {
		key   string
		after time.Duration
		want  bool
	}{{"a", 0, true}, {"a", repeatEvery - 1, false}, {"b", repeatEvery - 1, true}, {"a", repeatEvery, true}, {"a", repeatEvery + 1, false}} {
		if got := l.isNew(test.key, start.Add(test.after)); got != test.want {
			t.Errorf("step %d: isNew is %v", i, got)
		}
	}
	for i := range 2 * maxLoggedErrors {
		l.isNew(fmt.Sprint("key ", i), start)
	}
	if len(l.last) > maxLoggedErrors {
		t.Errorf("%d errors are kept", len(l.last))
	}
	if !l.isNew("late", start.Add(3*repeatEvery)) || len(l.last) != 1 {
		t.Errorf("%d errors are kept after a minute", len(l.last))
	}
}
