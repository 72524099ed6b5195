// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/program"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what the tests share: the control plane, the operator's identity and its binary.
var suite struct {
	testenv.Env
	table table
}

func TestMain(m *testing.M) {
	code := testenv.Main(m, &suite.Env, testenv.Setup{Identity: true, Program: program.Main})
	if violations := suite.table.print(os.Stdout); violations > 0 {
		code = 1
	}
	os.Exit(code)
}

// settleTimeout is how long the operator may take to settle, unless a goal says otherwise.
const settleTimeout = 90 * time.Second

// eventually waits until condition is true, settleTimeout at most.
func eventually(t *testing.T, want string, condition func(context.Context) (bool, error)) {
	t.Helper()
	testenv.Within(t, settleTimeout, want, condition)
}

// last lets a perturbation last.
func last(t *testing.T, duration time.Duration) {
	t.Helper()
	select {
	case <-time.After(duration):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// overlap lets t run beside the others that call it, in the short form: they wait more than
// they work. Their operators must watch namespaces of their own.
func overlap(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Parallel()
	}
}

// withinGoal fails the long form of the suite if took exceeds limit, the goal of docs/testing.md. The short form prints the
// figure only: it shares the cores with other tests.
func withinGoal(t *testing.T, what string, took, limit time.Duration) {
	t.Helper()
	if took <= limit {
		return
	}
	report := t.Errorf
	if testing.Short() {
		report = t.Logf
	}
	report("%s after %s, the goal is %s", what, took, limit)
}

// form returns the value for the long form of the suite, or that for the short one.
func form[T any](long, short T) T {
	if testing.Short() {
		return short
	}
	return long
}
