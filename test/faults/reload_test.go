// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// reloadLimit is how long changed templates may take to be used while a reconcile hangs, whose requests end after 30 s.
const reloadLimit = 10 * time.Second

// TestReload_WaitsForNoReconcile reloads templates while the reconcile of another namespace hangs.
func TestReload_WaitsForNoReconcile(t *testing.T) {
	figure := measure(t, "templates reloaded while a reconcile hangs: used for others within 10 s")
	overlap(t)
	namespaces, templates := newNamespaces(t, 2), t.TempDir()
	write := func(edit string) {
		testenv.WriteFile(t, filepath.Join(templates, "components", "site", "kustomization.yaml"),
			"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {templates: "+edit+"}\n")
	}
	write("first")
	o := startIn(t, namespaces, "--manifests-dir="+templates)
	slow := newMemcached(t, namespaces[0], specOf(1))
	settled(t, slow)
	o.Fail(func(r *proxy.Request) proxy.Fault {
		if r.IsWrite() && !r.DryRun && r.Namespace == slow.Namespace {
			return proxy.Hang
		}
		return proxy.None
	})
	editTo(t, slow, 2)
	eventually(t, "a write should hang", func(context.Context) (bool, error) {
		return len(o.Requests(func(r *proxy.Request) bool { return r.Fault == proxy.Hang })) > 0, nil
	})
	write("second")
	start := time.Now()
	eventually(t, "the templates should be reloaded", func(context.Context) (bool, error) {
		return strings.Contains(o.process.Log.String(), "Templates reloaded"), nil
	})
	took := time.Since(start)
	figure.set("%.1f s", took.Seconds())
	withinGoal(t, "the new templates were used", took, reloadLimit)
	other := newMemcached(t, namespaces[1], specOf(1))
	eventually(t, "another Memcached should have the new templates", func(ctx context.Context) (bool, error) {
		service := &corev1.Service{}
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(other), service)
		return service.Annotations["templates"] == "second", client.IgnoreNotFound(err)
	})
	o.Fail(nil)
	equalsFresh(t, o, slow)
}
