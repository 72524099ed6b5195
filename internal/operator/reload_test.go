// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
)

func TestReloader_ChecksRejectedTemplatesAtGrowingIntervals(t *testing.T) {
	if testing.Short() {
		t.Skip("all templates are read a dozen times, which takes a minute with the race detector; nothing here is concurrent")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		edit time.Duration // the time of a second edit
		want []int         // the seconds of checks
	}{
		"doubles the interval":                  {errors.New("permission is missing"), 0, []int{1, 31, 91}},
		"checks an edit at once":                {errors.New("permission is missing"), 49500 * time.Millisecond, []int{1, 31, 51, 81}},
		"keeps the interval of a passing error": {apierrors.NewServiceUnavailable("busy"), 0, []int{1, 31, 61, 91}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := &templates.Options{Dir: t.TempDir()}
			active, err := options.Load()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				start := time.Now()
				var checks []int
				r := &reloader{options: options, active: active, events: &podEvents{}, check: func(context.Context, *render.Renderer) (*preflight.Result, error) {
					checks = append(checks, int(time.Since(start).Seconds()))
					return nil, test.err
				}}
				writeSite(t, options.Dir, "first")
				if test.edit > 0 {
					time.AfterFunc(test.edit, func() { writeSite(t, options.Dir, "second") })
				}
				if err := r.Start(ctx); err != nil {
					t.Error(err)
				}
				if !slices.Equal(checks, test.want) {
					t.Errorf("checked at %d s, want %d", checks, test.want)
				}
			})
		})
	}
}

// writeSite writes a component of a site with an annotation into dir.
func writeSite(t *testing.T, dir, annotation string) {
	t.Helper()
	dir = filepath.Join(dir, "components", "site")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Error(err)
	}
	content := "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {edit: " + annotation + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		t.Error(err)
	}
}
