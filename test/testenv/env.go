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
	// Binary is the path of the operator's program; empty unless Setup.Program.
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
	// Program is the main function of the operator, internal/program.Main. The test binary runs it in place of the tests
	// where it is called by the path Env.Binary, so that the test cache, the race detector and coverage see the operator.
	Program func(args []string, version string) int
	// DependsOn are files and directories that programs read which the tests run: see controlplane.DependOn.
	DependsOn []string
	// Build builds the operator to Env.Binary, for suites that measure it as it is released.
	Build func(ctx context.Context, path string) error
	// Prepare runs before the first test; ctx ends after the last one.
	Prepare func(ctx context.Context) error
}

// Main runs the tests of a package on an Env that they share, and returns the exit status for
// os.Exit. It fills env before the first test.
func Main(m *testing.M, env *Env, setup Setup) int {
	if setup.Program != nil && filepath.Base(os.Args[0]) == programName {
		return setup.Program(os.Args[1:], programVersion)
	}
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

// The name by which the test binary is called to run the operator, and the version that it then has.
const (
	programName    = "memcached-operator"
	programVersion = "1.2.3"
)

func (e *Env) start(ctx context.Context, setup Setup) error {
	if err := errors.Join(controlplane.DependOn(setup.DependsOn...), e.makeProgram(ctx, setup), e.startControlPlane(ctx, setup)); err != nil || setup.Prepare == nil {
		return err
	}
	return setup.Prepare(ctx)
}

func (e *Env) makeProgram(ctx context.Context, setup Setup) error {
	if setup.Program == nil && setup.Build == nil {
		return nil
	}
	dir, err := os.MkdirTemp("", "memcached-operator-")
	if err != nil {
		return err
	}
	e.Cleanup(func() error { return os.RemoveAll(dir) })
	e.Binary = filepath.Join(dir, programName)
	if setup.Build != nil {
		return setup.Build(ctx, e.Binary)
	}
	test, err := os.Executable()
	if err != nil {
		return err
	}
	return os.Symlink(test, e.Binary)
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
