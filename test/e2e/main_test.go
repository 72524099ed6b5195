// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// suite is what the tests share: the cluster, and the operator in it.
var suite struct {
	*cluster.Cluster
	operator *cluster.Operator
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	ctx := context.Background() //nolint:forbidigo // there is no test whose context it could be
	var err error
	if suite.Cluster, err = cluster.Connect(); err == nil {
		suite.operator = suite.Installed()
		err = suite.operator.Install(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return suite.operator.Finish(ctx, m.Run(), judgePermissions)
}
