// SPDX-License-Identifier: Apache-2.0

// Package commands compares the subcommands of the program with the operator and with a real API server.
package commands

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/test/testenv"
)

// suite is what the tests share: an API server with the kinds of the Prometheus operator.
var suite testenv.Env

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &suite, testenv.Setup{
		Arguments: []string{testenv.WithoutControllers}, Identity: true,
		Prepare: func(ctx context.Context) error { return suite.InstallMonitoring(ctx) },
	}))
}

// render runs the command render with privileged fields on content.
func render(t *testing.T, content []byte, args ...string) (code int, out, stderr string) {
	t.Helper()
	var stdout, errors bytes.Buffer
	code = command.Run(t.Context(), append([]string{"render", "-f", "-", "--allow-privileged-fields"}, args...), command.Streams{
		In: bytes.NewReader(content), Out: &stdout, Err: &errors, Getenv: func(string) string { return "" },
	})
	return code, stdout.String(), errors.String()
}
