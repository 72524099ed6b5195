// SPDX-License-Identifier: Apache-2.0

package features

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// suite is what all tests share: a control plane, and one operator for all namespaces.
var suite struct {
	testenv.Env
	operator *testenv.Manager
	// recorder has the operator's requests about single objects.
	recorder testenv.Recorder
}

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite.Env, testenv.Setup{Identity: true, Prepare: prepare}))
}

// prepare starts the operator, whose requests are recorded.
func prepare(ctx context.Context) (err error) {
	if err := suite.InstallPrometheusOperator(ctx); err != nil {
		return err
	}
	suite.recorder.Skip = func(req *http.Request) bool {
		_, object := objectOf(req.URL.Path)
		return object == ""
	}
	if suite.operator, err = suite.StartManager(ctx, testenv.ManagerOptions{Templates: testenv.Parameters("tier", "zone"), Wrap: suite.recorder.Wrap}); err != nil {
		return err
	}
	suite.Cleanup(suite.operator.Wait)
	return nil
}
