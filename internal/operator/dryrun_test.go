// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/test/testenv"
)

func TestCheckTemplates_DoesNotSendTheEmbeddedOnes(t *testing.T) {
	t.Parallel()
	renderer, err := (&templates.Options{}).Renderer()
	testenv.NoError(t, err)
	logger := funcr.New(func(_, args string) { t.Errorf("it logs %s", args) }, funcr.Options{})
	testenv.NoError(t, checkTemplates(t.Context(), logger, nil, renderer, nil, "")) // It would panic without a configuration.
}

// The error is transient: the start uses the templates nevertheless, and a reload checks them again.
func TestCheckTemplates_ReportsThatTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "components", "site", "kustomization.yaml"), "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nconfigMapGenerator: [{name: more, literals: [a=b]}]\n")
	renderer, err := (&templates.Options{Dir: dir}).Renderer()
	testenv.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // in place of dryRunTimeout
	defer cancel()
	err = checkTemplates(ctx, logr.Discard(), &rest.Config{Host: "https://" + testenv.FreeAddress(t)}, renderer, []string{""}, "")
	if !isTransient(err) || !strings.HasPrefix(err.Error(), "templates not checked by dry-run: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestDryRunNamespace_IsOneThatExists(t *testing.T) {
	t.Parallel()
	none := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	pod := func(string) ([]byte, error) { return []byte("operators\n"), nil }
	for sentence, test := range map[string]struct {
		watched, election string
		readFile          func(string) ([]byte, error)
		want              string
	}{
		"the first that is watched":         {"a", "ops", pod, "a"},
		"that of the lease":                 {"", "ops", pod, "ops"},
		"that of the pod":                   {"", "", pod, "operators"},
		"the default one outside a cluster": {"", "", none, "default"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := dryRunNamespace([]string{test.watched, "b"}, test.election, test.readFile); got != test.want {
				t.Errorf("the namespace is %s, want %s", got, test.want)
			}
		})
	}
}
