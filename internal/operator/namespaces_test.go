// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
)

func TestNamespaces_AreReportedOnceAndRestartAtMostEveryTenMinutes(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	restarts := 0
	n := &namespaces{
		logger: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{}), events: &podEvents{},
		skipped: []string{"a"}, started: time.Now(), restart: func() { restarts++ },
	}
	for _, step := range []struct {
		denied   []string
		after    time.Duration
		log      string
		restarts int
	}{
		{[]string{"a"}, 0, "Namespace skipped.*a", 0},
		{[]string{"a", "b"}, 0, "Namespace skipped.*b", 0},
		{[]string{"a", "b"}, 0, "", 0},
		{[]string{"a"}, 0, "its permissions in the namespace again.*b", 0},
		{nil, 0, "", 0},
		{nil, restartAfter, "Ending.*a", 1},
	} {
		log.Reset()
		n.started = n.started.Add(-step.after)
		denied := map[string]string{}
		for _, namespace := range step.denied {
			denied[namespace] = "add rules"
		}
		n.report(denied)
		what, namespace, _ := strings.Cut(step.log, ".*")
		if got := log.String(); strings.Count(got, "\n") != min(1, len(step.log)) || !strings.Contains(got, what) || !strings.Contains(got, `"namespace"="`+namespace) && namespace != "" {
			t.Errorf("denied %v: it logs %q, want %q", step.denied, got, step.log)
		}
		if restarts != step.restarts {
			t.Errorf("denied %v: it restarts %d times, want %d", step.denied, restarts, step.restarts)
		}
	}
}
