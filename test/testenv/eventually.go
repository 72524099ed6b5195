// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// PollInterval is how often a condition is evaluated.
var PollInterval = 20 * time.Millisecond

// Timeout is how long Eventually waits: 20 seconds, times TEST_TIMEOUT_FACTOR if that is set, as `make test` sets it for
// machines on which many tests share a core.
var Timeout = Patience(20 * time.Second)

// Patience returns duration times the number in TEST_TIMEOUT_FACTOR.
func Patience(duration time.Duration) time.Duration {
	text := os.Getenv("TEST_TIMEOUT_FACTOR")
	if text == "" {
		return duration
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor <= 0 {
		panic("TEST_TIMEOUT_FACTOR is not a number above 0: " + text)
	}
	return time.Duration(factor * float64(duration))
}

// Condition reports whether what a test waits for is so. An error ends the wait and the test, but for a condition that says
// what it has seen too: there an error is what was seen, and the condition is tried again.
type Condition interface {
	func() bool | func(context.Context) (bool, error) | func(context.Context) (bool, string, error)
}

// NoError ends the test when err is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually polls condition until it is true, for Timeout at most; want says what the test
// expects. A cleanup of the test may call it too.
func Eventually[C Condition](t testing.TB, want string, condition C) {
	t.Helper()
	Within(t, Timeout, want, condition)
}

// Within is Eventually with a timeout. It returns how long the condition took.
func Within[C Condition](t testing.TB, timeout time.Duration, want string, condition C) time.Duration {
	t.Helper()
	start := time.Now()
	if err := Poll(context.WithoutCancel(t.Context()), timeout, condition); err != nil {
		t.Fatalf("%s, within %s: %v", want, timeout, err)
	}
	return time.Since(start)
}

// Poll is Within where there is no test, as in Setup.Prepare.
func Poll[C Condition](ctx context.Context, timeout time.Duration, condition C) error {
	last := ""
	err := wait.PollUntilContextTimeout(ctx, PollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		switch condition := any(condition).(type) {
		case func() bool:
			return condition(), nil
		case func(context.Context) (bool, error):
			return condition(ctx)
		case func(context.Context) (bool, string, error):
			done, seen, err := condition(ctx)
			if err != nil {
				seen = err.Error()
			}
			if ctx.Err() == nil { // else the time is up, and what was seen before says more
				last = seen
			}
			return done && err == nil, nil
		}
		return false, nil // Condition has no other types
	})
	if err != nil && last != "" {
		err = fmt.Errorf("%w; last seen: %s", err, last)
	}
	return err
}
