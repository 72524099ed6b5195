// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// Timeout is how long Eventually waits: far longer than it takes, also where many tests
	// share a core.
	Timeout = 2 * time.Minute
	// PollInterval is how often a condition is evaluated.
	PollInterval = 20 * time.Millisecond
)

// Condition reports whether what a test waits for is so. An error ends the wait and the test.
type Condition interface {
	func() bool | func(context.Context) (bool, error)
}

// NoError ends the test when err is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually polls condition until it is true, for Timeout at most; want says what the test
// expects.
func Eventually[C Condition](t testing.TB, want string, condition C) {
	t.Helper()
	Within(t, Timeout, want, condition)
}

// Within is Eventually with a timeout. It returns how long the condition took.
func Within[C Condition](t testing.TB, timeout time.Duration, want string, condition C) time.Duration {
	t.Helper()
	start := time.Now()
	if err := Poll(t.Context(), timeout, condition); err != nil {
		t.Fatalf("%s, within %s: %v", want, timeout, err)
	}
	return time.Since(start)
}

// Poll is Within where there is no test, as in Setup.Prepare.
func Poll[C Condition](ctx context.Context, timeout time.Duration, condition C) error {
	poll := func(ctx context.Context) (bool, error) {
		switch condition := any(condition).(type) {
		case func() bool:
			return condition(), nil
		case func(context.Context) (bool, error):
			return condition(ctx)
		}
		return false, nil // Condition has no other types
	}
	return wait.PollUntilContextTimeout(ctx, PollInterval, timeout, true, poll)
}
