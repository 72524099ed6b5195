// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

func TestSpec_OptionsReachTheServer(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	suite.Ready(t, suite.NewMemcached(t, namespace, "tuned", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Memory, spec.MaxItemSize = new(resource.MustParse("32Mi")), new(resource.MustParse("100Ki"))
		spec.MaxConnections, spec.Threads, spec.Verbosity = new(int32(200)), new(int32(2)), new(int32(1))
		spec.IdleTimeoutSeconds = new(int32(90))
		spec.ExtraArgs = []cachev1alpha1.ExtraArg{"--disable-flush-all", "--extended=hash_algorithm=xxh3"}
	}))
	settings := suite.Cache(t, namespace, suite.Pods(t, namespace, "tuned")[0].Name, cluster.Port).Stats("settings")
	for name, want := range map[string]string{
		"maxbytes": "33554432", "item_size_max": "102400", "maxconns": "200", "num_threads": "2", "verbosity": "1",
		"idle_timeout": "90", "flush_enabled": "no", "hash_algorithm": "xxh3", "udpport": "0",
	} {
		if got := settings[name]; got != want {
			t.Errorf("memcached's %s is %q, want %q", name, got, want)
		}
	}
}
