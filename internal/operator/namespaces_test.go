// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestNamespaces_AreReportedOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	n := &namespaces{
		logger: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{}), events: &podEvents{},
	}
	for _, step := range []struct {
		denied []string
		log    string
	}{
		{[]string{"a"}, "Namespace skipped.*a"},
		{[]string{"a", "b"}, "Namespace skipped.*b"},
		{[]string{"a", "b"}, ""},
		{[]string{"a"}, "its permissions in the namespace again.*b"},
		{nil, "its permissions in the namespace again.*a"},
	} {
		log.Reset()
		denied := map[string]string{}
		for _, namespace := range step.denied {
			denied[namespace] = "add rules"
		}
		n.report(denied)
		what, namespace, _ := strings.Cut(step.log, ".*")
		if got := log.String(); strings.Count(got, "\n") != min(1, len(step.log)) || !strings.Contains(got, what) || !strings.Contains(got, `"namespace"="`+namespace) && namespace != "" {
			t.Errorf("denied %v: it logs %q, want %q", step.denied, got, step.log)
		}
	}
}
