// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

func TestReconcile_LogsNoErrorWhenTheOperatorStops(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]struct{ method, path string }{
		"before the UID is verified":      {http.MethodGet, "/memcacheds/cache"},
		"while the Service is applied":    {http.MethodPatch, "/services/cache"},
		"while the status is written":     {http.MethodPatch, "/memcacheds/cache/status"},
		"while the Deployment is applied": {http.MethodPatch, "/deployments/cache"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace, log := suite.NewNamespace(t), &testenv.Log{}
			o := startWith(t, &suite, namespace, testenv.ManagerOptions{Logger: log.Logger()})
			reached := make(chan struct{})
			o.onFirst(request.method, request.path, func(ctx context.Context) {
				close(reached)
				<-ctx.Done()
			})
			suite.NewMemcached(t, namespace, "cache", 0)
			<-reached
			o.stop()
			for line := range strings.Lines(log.String()) {
				// What client-go logs of a canceled request is not in the log of the program: TestQuietCore_LogsNoErrorsOfTheStop.
				if strings.Contains(line, `"error"=`) && !strings.Contains(line, "Unable to write event") && !strings.Contains(line, "reading response body") {
					t.Errorf("it logs %s", line)
				}
			}
			for _, event := range warnings(t, namespace, "") {
				t.Errorf("it emits %s: %s", event.Reason, event.Note)
			}
		})
	}
}
