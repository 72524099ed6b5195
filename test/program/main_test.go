// SPDX-License-Identifier: Apache-2.0

// Package program_test runs the operator's program against a real API server: what it refuses with which message, what it
// serves, how it exits; its webhook, which the API server calls; and what its commands render, check and diff say beside
// what the operator does.
package program_test

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/program"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what the tests share: the API server, the operator's identity and its binary.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{
		Arguments: []string{testenv.WithoutControllers}, Identity: true, Program: program.Main,
	}))
}

// settled waits until mc is Ready and returns its Deployment.
func settled(t *testing.T, env *testenv.Env, mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	t.Helper()
	env.EventuallyReady(t, mc)
	return env.Deployment(t, mc.Namespace, mc.Name)
}
