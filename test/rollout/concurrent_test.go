// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/testenv"
)

// TestReload_BesideReconciles replaces the templates many times while Memcacheds are edited; one of the two versions has an
// object more. In the end everything is as the last version and the last edit say.
func TestReload_BesideReconciles(t *testing.T) {
	t.Parallel()
	const memcacheds, reloads = 5, 20
	namespace := suite.NewNamespace(t)
	ctx, cancel := context.WithCancel(t.Context())
	manager, err := suite.StartManager(ctx, testenv.ManagerOptions{Namespaces: []string{namespace}})
	testenv.NoError(t, err)
	t.Cleanup(func() {
		cancel()
		if err := manager.Wait(); err != nil {
			t.Error(err)
		}
	})
	var renderers []*render.Renderer
	var found []*preflight.Result
	for _, files := range []map[string]string{{site: annotated("plain")}, withObject(networkPolicy)} {
		renderer, err := testenv.Renderer(files)
		testenv.NoError(t, err)
		result, err := preflight.Check(t.Context(), suite.Operator, suite.Client.Scheme(), renderer, []string{namespace})
		testenv.NoError(t, err)
		renderers, found = append(renderers, renderer), append(found, result)
	}
	for i := range memcacheds {
		suite.NewMemcached(t, namespace, name(i), 0)
	}

	edited := make(chan error, 1)
	go func() {
		for i := range reloads * memcacheds {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"minReadySeconds": %d}}`, i))
			if err := suite.Client.Patch(ctx, testenv.Memcached(namespace, name(i%memcacheds), 0), patch); err != nil {
				edited <- err
				return
			}
		}
		edited <- nil
	}()
	for i := range reloads {
		testenv.NoError(t, manager.Reconciler.Reload(t.Context(), renderers[i%2], found[i%2]))
	}
	testenv.NoError(t, <-edited)
	for i := range memcacheds {
		testenv.Eventually(t, name(i)+" should be as the last version and edit say", func() bool {
			d := suite.Deployment(t, namespace, name(i))
			return d != nil && d.Spec.MinReadySeconds == int32((reloads-1)*memcacheds+i) && d.Spec.Template.Annotations["example.com/edit"] == ""
		})
	}
	policies := &networkingv1.NetworkPolicyList{}
	testenv.Eventually(t, "each should have the object of the last version", func(ctx context.Context) (bool, error) {
		err := suite.Client.List(ctx, policies, client.InNamespace(namespace))
		return len(policies.Items) == memcacheds, err
	})
	testenv.NoError(t, manager.Reconciler.Reload(t.Context(), renderers[0], found[0]))
	testenv.Eventually(t, "the object should be pruned", func(ctx context.Context) (bool, error) {
		err := suite.Client.List(ctx, policies, client.InNamespace(namespace))
		return len(policies.Items) == 0, err
	})
}
