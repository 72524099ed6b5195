// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
)

// An update is of the Memcached of version 1, which the cache showed before.
func TestOwnWriteFilter_PassesUpdates(t *testing.T) {
	t.Parallel()
	version := func(version string, change func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
		mc := &cachev1alpha1.Memcached{}
		mc.Namespace, mc.Name, mc.UID, mc.Generation, mc.ResourceVersion = "shop", "cache", "1", 1, version
		if change != nil {
			change(mc)
		}
		return mc
	}
	replicas := func(mc *cachev1alpha1.Memcached) { mc.Status.Replicas = new(int32(1)) }
	for name, test := range map[string]struct {
		// written is the answer to the last write, if there was one.
		written *cachev1alpha1.Memcached
		shown   *cachev1alpha1.Memcached
		want    bool
	}{
		"drops what the operator wrote":               {version("2", replicas), version("2", replicas), false},
		"passes what came after it":                   {version("2", replicas), version("3", replicas), true},
		"passes what took it back":                    {version("2", replicas), version("3", nil), true},
		"drops a change that the cache does not keep": {nil, version("2", nil), false},
		"passes a resync":                             {nil, version("1", nil), true},
		"passes another generation":                   {nil, version("2", func(mc *cachev1alpha1.Memcached) { mc.Generation = 2 }), true},
		"passes another status":                       {nil, version("2", replicas), true},
		"passes another one of its name":              {nil, version("2", func(mc *cachev1alpha1.Memcached) { mc.UID = "2" }), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := cachev1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			recent := apply.NewPendingWrites(scheme)
			if test.written != nil {
				_, _ = recent.Write(test.written, func() (client.Object, error) { return test.written, nil })
			}
			if got := ownWriteFilter(recent).Update(event.UpdateEvent{ObjectOld: version("1", nil), ObjectNew: test.shown}); got != test.want {
				t.Errorf("passed: %v, want %v", got, test.want)
			}
		})
	}
}
