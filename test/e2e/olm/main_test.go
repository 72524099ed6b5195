// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// The versions of the operator in the catalogs, by the names of their ClusterServiceVersions.
const (
	oldVersion = "memcached-operator.v0.0.1"
	newVersion = "memcached-operator.v0.0.2"
)

// global is where a CatalogSource serves all namespaces.
const global = "olm"

// suite is what the tests share.
var suite struct {
	*cluster.Cluster
	// catalogs are the images of the two catalogs.
	oldCatalog, newCatalog string
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
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
	suite.oldCatalog, suite.newCatalog = os.Getenv("E2E_OLM_CATALOG_OLD"), os.Getenv("E2E_OLM_CATALOG_NEW")
	if suite.oldCatalog == "" || suite.newCatalog == "" {
		// As part of `make e2e`, whose cluster has no OLM.
		fmt.Println("E2E_OLM_CATALOG_OLD and E2E_OLM_CATALOG_NEW are not set: OLM is not tested; `make e2e-olm` does")
		return 0, nil
	}
	if left, err := suite.Left(ctx); err != nil || len(left) > 0 {
		return 1, errors.Join(err, fmt.Errorf("the tests want a cluster without an operator; this one has %s", strings.Join(left, ", ")))
	}
	code = m.Run()
	return code, client.IgnoreNotFound(suite.Client.Delete(ctx, testenv.Definition()))
}
