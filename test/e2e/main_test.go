// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// suite is what the tests share: the cluster, and the operator in it.
var suite struct {
	*cluster.Cluster
	operator *cluster.Operator
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // connections that are refused, as they are to be, end forwarded ports
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	ctx := context.Background()
	undefine, err := setUp(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return suite.operator.Finish(ctx, m.Run(), undefine, judgePermissions)
}

// setUp connects, makes the kinds that not every cluster has, and installs the operator.
func setUp(ctx context.Context) (undefine func(context.Context) error, err error) {
	if suite.Cluster, err = cluster.Connect(); err != nil {
		return nil, err
	}
	suite.operator = suite.Installed()
	if undefine, err = suite.DefineMonitoring(ctx); err != nil {
		return nil, err
	}
	return undefine, suite.operator.Install(ctx)
}

// withImage sets spec.image.
func withImage(image string) func(*cachev1alpha1.MemcachedSpec) {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Image = new(cachev1alpha1.Image(image)) }
}

// slots bounds how many tests run beside each other. On a machine that is too busy, the nodes of a cache count as down.
var slots = make(chan struct{}, 3)

// parallel has t run beside others. The two longest tests take no slot, so that they begin at once.
func parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	slots <- struct{}{}
	t.Cleanup(func() { <-slots })
}
