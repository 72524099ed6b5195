// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/controlplane"
)

// Env is a control plane and what tests run on it.
type Env struct {
	*controlplane.ControlPlane
	// Operator is the operator's identity, with the roles that `make deploy` grants; nil unless
	// Setup.Identity.
	Operator *rest.Config
	// Binary is the path of the operator's binary; empty unless Setup.Binary.
	Binary string

	cleanups []func() error
}

// WithoutControllers is an argument of controlplane.Start: etcd and the API server only.
const WithoutControllers = "--without-controllers"

// Setup says what an Env starts with.
type Setup struct {
	// NoControlPlane starts none.
	NoControlPlane bool
	// Arguments are those of controlplane.Start.
	Arguments []string
	// Identity creates the operator's namespace, service account and roles.
	Identity bool
	// Binary builds the operator to Env.Binary; nil builds none. It is Build but where a package
	// needs other flags.
	Binary func(ctx context.Context, path string) error
	// Prepare runs before the first test; ctx ends after the last one.
	Prepare func(ctx context.Context) error
}

// Main runs the tests of a package on an Env that they share, and returns the exit status for
// os.Exit. It fills env before the first test.
func Main(m *testing.M, env *Env, setup Setup) int {
	code, err := run(m, env, setup)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M, env *Env, setup Setup) (code int, err error) {
	log.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	defer func() { err = errors.Join(err, env.stop()) }()
	defer cancel() // before the cleanups, which wait for what runs in ctx
	if err := env.start(ctx, setup); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// New starts an Env of the test's own. It stops with the test.
func New(t testing.TB, setup Setup) *Env {
	t.Helper()
	env := &Env{}
	t.Cleanup(func() {
		if err := env.stop(); err != nil {
			t.Error(err)
		}
	})
	NoError(t, env.start(t.Context(), setup))
	return env
}

// Cleanup calls f when the Env stops, the last one first.
func (e *Env) Cleanup(f func() error) { e.cleanups = append(e.cleanups, f) }

func (e *Env) stop() error {
	var errs []error
	for _, cleanup := range slices.Backward(e.cleanups) {
		errs = append(errs, cleanup())
	}
	return errors.Join(errs...)
}

// start builds the binary while the control plane starts.
func (e *Env) start(ctx context.Context, setup Setup) error {
	built := make(chan error, 1)
	if setup.Binary != nil {
		dir, err := os.MkdirTemp("", "memcached-operator-")
		if err != nil {
			return err
		}
		e.Cleanup(func() error { return os.RemoveAll(dir) })
		e.Binary = filepath.Join(dir, "memcached-operator")
		go func() { built <- setup.Binary(ctx, e.Binary) }()
	} else {
		built <- nil
	}
	started := e.startControlPlane(ctx, setup)
	if err := errors.Join(<-built, started); err != nil || setup.Prepare == nil {
		return err
	}
	return setup.Prepare(ctx)
}

func (e *Env) startControlPlane(ctx context.Context, setup Setup) (err error) {
	if setup.NoControlPlane {
		return nil
	}
	if e.ControlPlane, err = controlplane.Start(setup.Arguments...); err != nil {
		return err
	}
	e.Cleanup(e.Stop)
	if setup.Identity {
		e.Operator, err = e.OperatorConfig(ctx)
	}
	return err
}
