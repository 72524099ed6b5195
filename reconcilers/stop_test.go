// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
			namespace, logged := newNamespace(t), &lines{}
			o := setUp{logger: logged.logger()}.start(t, suite.operator, namespace)
			reached := make(chan struct{})
			o.onFirst(request.method, request.path, func(ctx context.Context) {
				close(reached)
				<-ctx.Done()
			})
			newMemcached(t, namespace, "cache", 0)
			<-reached
			o.stop()
			logged.mu.Lock()
			defer logged.mu.Unlock()
			for _, line := range logged.all {
				// The log of the program leaves out what client-go says of events.
				if strings.Contains(line, `"error"=`) && !strings.Contains(line, "Unable to write event") {
					t.Errorf("it logs %s", line)
				}
			}
			events := &eventsv1.EventList{}
			fatal(t, suite.Client.List(t.Context(), events, client.InNamespace(namespace)))
			for _, event := range events.Items {
				if event.Type == "Warning" {
					t.Errorf("it emits %s: %s", event.Reason, event.Note)
				}
			}
		})
	}
}
