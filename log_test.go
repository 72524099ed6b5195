// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestQuietCore(t *testing.T) {
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
