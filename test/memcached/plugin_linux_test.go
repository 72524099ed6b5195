// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/plugin/caches"
	"github.com/example/memcached-operator/internal/plugin/stats"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

// TestPlugin_IsServedByMemcached asks memcached as the kubectl plugin does, but for the port-forward, with what it takes
// from the Secrets that the pod has mounted.
func TestPlugin_IsServedByMemcached(t *testing.T) {
	t.Parallel()
	pair, other := certificate.New(t, "cache.shop.svc"), certificate.New(t, "cache.shop.svc")
	secrets := map[string]secret{"users": users("alice:one: two\nbob:three\n"), "pair": tlsSecret(pair, pair)}
	for sentence, test := range map[string]struct {
		spec string
		// rotated are Secrets that the pod does not have yet, and the error.
		rotated map[string]secret
		failure string
	}{
		"in plain text": {spec: "{}"},
		"with a password": {
			spec: "auth: {secretName: users, key: auth}", rotated: map[string]secret{"users": users("alice:two\n")},
			failure: "authenticating as alice: memcached answers CLIENT_ERROR authentication failure",
		},
		"over TLS": {
			spec: "tls: {secretName: pair, clientAuth: None}", rotated: map[string]secret{"pair": tlsSecret(other)},
			failure: "TLS handshake: its certificate is not the one in the Secret, nor signed by ca.crt: after a change of the Secret, pods need up to two minutes",
		},
		"over TLS with a certificate and a password": {spec: secured, rotated: map[string]secret{"pair": tlsSecret(other, pair), "users": secrets["users"]}, failure: "authenticating as alice: memcached does not answer: "},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := start(t, given{spec: test.spec, secrets: secrets})
			pool := stats.NewPool(func(ctx context.Context, _, _ string, _ int32) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", p.port))
			}, patience)
			defer pool.Close()
			targets := []stats.Target{pluginTarget(t, test.spec, secrets)}
			p.eventually(t, "memcached answers", func() error {
				_, errs := pool.Samples(t.Context(), targets)
				return errs[0]
			})
			errs := pool.Each(t.Context(), targets, func(_ int, client *memcached.Client) error { return client.Set("key", "value") })
			testenv.NoError(t, errs[0])
			samples, errs := pool.Samples(t.Context(), targets)
			testenv.NoError(t, errs[0])
			if s := samples[0]; s.Sets == 0 || s.Bytes == 0 || s.Limit != 64<<20 || s.MaxConnections != 1024 || s.Connections == 0 || !strings.HasPrefix(s.Version, "1.") {
				t.Errorf("the sample is %+v", s)
			}
			if test.rotated == nil {
				wantExpiry(t, p.port, pool, targets)
				return
			}
			pool.Close()
			_, errs = pool.Samples(t.Context(), []stats.Target{pluginTarget(t, test.spec, test.rotated)})
			if errs[0] == nil || !strings.HasPrefix(errs[0].Error(), test.failure) {
				t.Errorf("the error is %v, want %s", errs[0], test.failure)
			}
		})
	}
}

// wantExpiry fails unless the plugin is told in how many seconds an item expires, and how often a key was asked for: gat
// counts as touch alone, so that gets are hits and misses.
func wantExpiry(t *testing.T, port string, pool *stats.Pool, targets []stats.Target) {
	t.Helper()
	before, errs := pool.Samples(t.Context(), targets)
	testenv.NoError(t, errs[0])
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	testenv.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, "set brief 0 7200 1\r\nx\r\ngat 7200 brief\r\ngat 7200 absent\r\nget brief\r\nget absent\r\nquit\r\n")
	testenv.NoError(t, err)
	_, err = io.ReadAll(connection)
	testenv.NoError(t, err)
	errs = pool.Each(t.Context(), targets, func(_ int, client *memcached.Client) error {
		item, err := client.Item("brief")
		if seconds, _ := strconv.Atoi(item["exp"]); err == nil && (seconds < 7000 || seconds > 7200) {
			t.Errorf("the item expires in %q", item["exp"])
		}
		return err
	})
	testenv.NoError(t, errs[0])
	after, errs := pool.Samples(t.Context(), targets)
	testenv.NoError(t, errs[0])
	if gets, hits := after[0].Gets-before[0].Gets, after[0].Hits-before[0].Hits; gets != 2 || hits != 1 {
		t.Errorf("%d gets and %d hits are counted, want 2 and 1", gets, hits)
	}
}

// pluginTarget returns a pod of a Memcached with spec, as the plugin finds it, and what secrets say about its access.
func pluginTarget(t *testing.T, spec string, secrets map[string]secret) stats.Target {
	t.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "shop"}}
	testenv.NoError(t, yaml.UnmarshalStrict([]byte(spec), &mc.Spec))
	access, err := caches.NewAccess(mc, &corev1.Secret{Data: secrets["pair"]}, &corev1.Secret{Data: secrets["users"]})
	testenv.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cache-0", Namespace: "shop", UID: types.UID("0")}}
	pod.Status.Phase = corev1.PodRunning
	return stats.Target{Memcached: "cache", Pod: pod, Access: access}
}
