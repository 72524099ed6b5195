// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestPlugin_Pictures writes what status and top print of a Memcached with TLS and users, while a client uses it, to
// the directory E2E_PICTURES, for hack/plugin-pictures.sh.
func TestPlugin_Pictures(t *testing.T) {
	pictures := os.Getenv("E2E_PICTURES")
	if pictures == "" {
		t.Skip("E2E_PICTURES is not set")
	}
	const name = "cache"
	namespace := suite.NewNamespace(t)
	secret, pair := newCertificate(t, namespace)
	users := newUsers(t, namespace, "right one")
	mc := suite.NewMemcached(t, namespace, name, 3, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.TLS = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(secret.Name)}
		spec.Auth = &cachev1alpha1.Auth{SecretName: cachev1alpha1.ObjectName(users.Name)}
	})
	suite.Ready(t, mc)
	value := strings.Repeat("x", 100_000)
	done := make(chan struct{})
	var clients sync.WaitGroup
	for i, pod := range suite.Pods(t, namespace, name) {
		cache := suite.CacheBy(t, namespace, pod.Name, cluster.Access{TLS: trusting(pair), User: user, Password: "right one"})
		for n := range 120 * (i + 1) {
			cache.Set(fmt.Sprintf("key:%d", n), value)
		}
		clients.Go(func() { // uses the cache until the test has its pictures
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
					cache.Get(fmt.Sprintf("key:%d", n%(136*(i+1))))
				}
			}
		})
	}
	defer clients.Wait()
	defer close(done)
	for command, args := range map[string][]string{
		"status": {"status", name, "-n", namespace},
		"top":    {"top", name, "-n", namespace, "--count=1"},
	} {
		out, _ := kubectlMemcached(t, 0, args...)
		text := "$ kubectl memcached " + strings.Join(args, " ") + "\n" + out
		cluster.Must(t, os.WriteFile(filepath.Join(pictures, command+".txt"), []byte(text), 0o600))
	}
}
