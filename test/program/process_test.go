// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// start starts the operator with args. It ends with the test, at the latest.
func start(t *testing.T, args ...string) *testenv.Process {
	t.Helper()
	return testenv.StartBinary(t, suite.Binary, args...)
}

// refuse runs the operator with args, which has to exit with status 1, one plain line
// and no logged error, and returns that line.
func refuse(t *testing.T, args ...string) string {
	t.Helper()
	text := refuseInLines(t, args...)
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("the message has more than one line:\n%s", text)
	}
	return text
}

// refuseInLines is refuse for what does not fit into one line.
func refuseInLines(t *testing.T, args ...string) string {
	t.Helper()
	p := start(t, append([]string{"--health-probe-bind-address=0", "--metrics-bind-address=0"}, args...)...)
	if status := p.End(t); status != 1 {
		t.Fatalf("the operator exits with %d, want 1", status)
	}
	text := p.Log.Plain()
	if !strings.HasPrefix(text, "memcached-operator: ") {
		t.Errorf("the message does not begin with the program's name:\n%s", text)
	}
	if errors := p.Log.Errors(); len(errors) > 0 {
		t.Errorf("errors are logged too: %q", errors)
	}
	if out := p.Stdout.String(); out != "" {
		t.Errorf("standard output holds %q", out)
	}
	return text
}

// startReady starts the operator for namespace, with its own identity, and waits until
// it is ready.
func startReady(t *testing.T, namespace string, args ...string) (p *testenv.Process, probes string) {
	t.Helper()
	p = start(t, append([]string{
		"--kubeconfig=" + testenv.Kubeconfig(t, suite.Operator, ""), "--watch-namespaces=" + namespace,
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0",
	}, args...)...)
	return p, p.Ready(t)
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the output lacks %q:\n%s", want, text)
		}
	}
}
