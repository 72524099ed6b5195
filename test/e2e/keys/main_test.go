// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package keys measures, on local nodes, what changes cost the clients of a cache: keys, errors and time. It takes ten minutes
// with the images, and times mean something on an idle machine only, so it is run by hand: `make keys`.
package keys

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

var suite struct{ *cluster.Cluster }

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	var err error
	if suite.Cluster, err = cluster.Connect(); err == nil {
		err = suite.Installed().Install(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	nothing := func(context.Context) error { return nil }
	return suite.Installed().Finish(ctx, m.Run(), nothing, nothing)
}
