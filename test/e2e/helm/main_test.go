// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what the tests share.
var suite struct {
	*cluster.Cluster
	// define makes the CustomResourceDefinition, once.
	define sync.Once
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // connections that are refused, as they are to be, end forwarded ports
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	if suite.Cluster, err = cluster.Connect(); err != nil {
		return 1, err
	}
	if suite.Image == "" {
		return 1, errors.New("E2E_IMAGE is not set: it names the image of the operator that the chart is to install")
	}
	if _, err := os.Stat(helm4); err != nil {
		return 1, fmt.Errorf("the tests need bin/helm4: run them by `make e2e`: %w", err)
	}
	if left, err := suite.Left(ctx); err != nil || len(left) > 0 {
		return 1, errors.Join(err, fmt.Errorf("the tests want a cluster without an operator; this one has %s", strings.Join(left, ", ")))
	}
	undefine, err := suite.DefineMonitoring(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	gone := client.IgnoreNotFound(suite.Client.Delete(ctx, testenv.Definition()))
	return code, errors.Join(gone, suite.EventuallyNothingLeft(ctx), undefine(ctx))
}

// define makes the CustomResourceDefinition, as a cluster's administrator does for
// releases that may not.
func define(t *testing.T) {
	t.Helper()
	suite.define.Do(func() {
		suite.Kubectl(t, "apply", "--server-side", "-f", filepath.Join("config", "crd", "bases"))
		suite.Kubectl(t, "wait", "--for=condition=Established", "--timeout=60s", "customresourcedefinition/"+testenv.DefinitionName)
	})
}
