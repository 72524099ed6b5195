// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what the tests share.
var suite struct {
	*controlplane.ControlPlane
	// program is the operator's binary.
	program string
	// operator is its identity in the control plane, with the generated roles.
	operator *rest.Config
	table    table
}

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	ctx := context.Background() //nolint:forbidigo // there is no test yet whose context it could be
	dir, err := os.MkdirTemp("", "memcached-operator-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	suite.program = filepath.Join(dir, "memcached-operator")
	if err := testenv.Build(ctx, suite.program); err != nil {
		return 1, err
	}
	if suite.ControlPlane, err = controlplane.Start(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Stop()) }()
	if suite.operator, err = suite.OperatorConfig(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	if violations := suite.table.print(os.Stdout); violations > 0 {
		code = 1
	}
	return code, nil
}

// settleTimeout is how long the operator may take to settle, unless a goal says otherwise.
const settleTimeout = 90 * time.Second

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until condition holds, settleTimeout at most.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	within(t, settleTimeout, what, condition)
}

// within waits until condition holds, limit at most, and returns how long that took.
func within(t *testing.T, limit time.Duration, what string, condition func(context.Context) (bool, error)) time.Duration {
	t.Helper()
	start := time.Now()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, limit, true, condition); err != nil {
		t.Fatalf("%s within %s: %v", what, limit, err)
	}
	return time.Since(start)
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

// form returns the value for the long form of the suite, or that for the short one.
func form[T any](long, short T) T {
	if testing.Short() {
		return short
	}
	return long
}
