// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// metricsReader is the ClusterRole of those who may read the operator's metrics.
const metricsReader = "memcached-operator-metrics-reader"

func TestMetrics_RequireAuthorization(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	stranger, reader := suite.Token(t, namespace, "stranger"), suite.Reader(t, namespace, metricsReader)
	pod := suite.operator.Settled(t)[0].Name
	for who, test := range map[string]struct {
		token string
		want  int
	}{
		"anonymous":    {"", http.StatusUnauthorized},
		"unauthorized": {stranger, http.StatusForbidden},
		"one who may":  {reader, http.StatusOK},
	} {
		status, body := suite.operator.AskForMetrics(t, pod, test.token, nil)
		if status != test.want {
			t.Errorf("%s: the answer is %d, want %d: %s", who, status, test.want, body)
		}
		if got := strings.Contains(body, "memcached_operator_"); got != (test.want == http.StatusOK) {
			t.Errorf("%s: the answer holds metrics: %t", who, got)
		}
	}
}
