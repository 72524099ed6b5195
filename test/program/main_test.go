// SPDX-License-Identifier: Apache-2.0

// Package program runs the operator's program from the outside, against a real API
// server: what it refuses and with which words, what it serves, how it ends.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// world is a control plane to run the operator against.
type world struct {
	*controlplane.ControlPlane
}

// suite is what the tests of the program share.
var suite struct {
	world
	// program is the operator, built for the tests.
	program string
	// operator is its identity in the control plane, with the generated roles.
	operator *rest.Config
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
	built := make(chan error, 1)
	go func() { built <- testenv.Build(ctx, suite.program) }()
	suite.ControlPlane, err = controlplane.Start("--without-controllers")
	if err != nil {
		return 1, errors.Join(err, <-built)
	}
	defer func() { err = errors.Join(err, suite.Stop()) }()
	if err := <-built; err != nil {
		return 1, err
	}
	if suite.operator, err = suite.OperatorConfig(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until condition holds, and says what was waited for when it does not.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (w world) newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	fatal(t, w.Client.Create(t.Context(), namespace))
	return namespace.Name
}

// newMemcached makes a Memcached of size 0: without controllers there are no pods.
func (w world) newMemcached(t *testing.T, namespace, name string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0))},
	}
	fatal(t, w.Client.Create(t.Context(), mc))
	return mc
}

// settled waits until mc is Ready and returns its Deployment.
func (w world) settled(t *testing.T, mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	t.Helper()
	eventually(t, "the Memcached should be ready", func() bool {
		fatal(t, w.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc))
		return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	})
	return w.deployment(t, mc.Namespace, mc.Name)
}

// deployment reads a Deployment; it is nil when there is none.
func (w world) deployment(t *testing.T, namespace, name string) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{}
	err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, deployment)
	if apierrors.IsNotFound(err) {
		return nil
	}
	fatal(t, err)
	return deployment
}

func write(t *testing.T, name, content string) {
	t.Helper()
	fatal(t, os.MkdirAll(filepath.Dir(name), 0o700))
	fatal(t, os.WriteFile(name, []byte(content), 0o600))
}
