// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// panels returns the expressions of the dashboard's panels, for the Memcacheds of these names.
func panels(t *testing.T, namespace string, names []string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "config", "grafana", "memcached.json"))
	testenv.NoError(t, err)
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	testenv.NoError(t, json.Unmarshal(content, &dashboard))
	variables := strings.NewReplacer("$namespace", namespace, "$memcached", strings.Join(names, "|"), "$__rate_interval", "1m")
	var expressions []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, variables.Replace(target.Expr))
		}
	}
	return expressions
}

// TestPrometheus_ScrapesTheCaches has Prometheus itself read the metrics of a cache in plain text, with flash, of one that wants
// certificates and users, and of one whose proxies want certificates, all of which are rotated, and evaluate the panels of the dashboard
// and the alerts.
func TestPrometheus_ScrapesTheCaches(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	secret, pair := newCertificate(t, namespace)
	users := newUsers(t, namespace, "first")
	names := []string{"plain", "secured", "proxied"}
	suite.NewMemcached(t, namespace, "plain", 1, cluster.WithEveryObject, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Flash = &cachev1alpha1.Flash{Size: resource.MustParse("1Gi")}
		// Without a request for room on the disk, of which local nodes tell nothing (hack/node/config/kubelet.yaml).
		spec.Resources = &cachev1alpha1.Resources{Requests: &cachev1alpha1.ResourceAmounts{Memory: new(resource.MustParse("128Mi"))}}
	})
	mc := suite.NewMemcached(t, namespace, "secured", 1, cluster.WithEveryObject, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.TLS = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(secret.Name), ClientAuth: new(cachev1alpha1.ClientAuthRequire)}
		spec.Auth = &cachev1alpha1.Auth{SecretName: cachev1alpha1.ObjectName(users.Name)}
		spec.Metrics.Port = new(int32(9151))
		spec.Proxy = nil // users exclude it
	})
	suite.NewMemcached(t, namespace, "proxied", 1, cluster.WithEveryObject, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.TLS = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(secret.Name), ClientAuth: new(cachev1alpha1.ClientAuthRequire), PlaintextPort: new(int32(11212))}
	})
	prometheus := suite.Prometheus(t, namespace, append(names, "plain-proxy", "proxied-proxy")...)
	for _, name := range names {
		prometheus.Becomes(fmt.Sprintf("memcached_up{service=%q}", name), 1)
		prometheus.Becomes(fmt.Sprintf("memcached_max_connections{service=%q}", name), 1024)
	}
	for _, proxy := range []string{"plain-proxy", "proxied-proxy"} {
		prometheus.Becomes(fmt.Sprintf("memcached_proxy_backend_total{service=%q}", proxy), 4) // one pod, by each thread
		prometheus.Becomes(fmt.Sprintf("count(memcached_limit_bytes{service=%q}) or vector(0)", proxy), 0)
	}
	suite.Ready(t, mc)
	pod := suite.Pods(t, namespace, mc.Name)[0]
	suite.Cache(t, namespace, pod.Name, memcached.Access{TLS: trusting(pair, pair.TLS(t)), User: user, Password: "first"}).Set("key", "value")
	prometheus.Becomes(`memcached_current_items{service="secured"}`, 1)
	proxies, err := suite.Clients.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=memcached-proxy,memcached_cr=proxied"})
	testenv.NoError(t, err)
	proxy := suite.Cache(t, namespace, proxies.Items[0].Name, memcached.Access{TLS: trusting(pair, pair.TLS(t))})
	proxy.Set("key", "value")
	prometheus.Becomes(`memcached_current_items{service="proxied"}`, 1)

	second := certificate.New(t, cacheHost)
	secret.Data, users.Data = certificateData(second), usersData("second")
	testenv.NoError(t, suite.Client.Update(t.Context(), secret))
	testenv.NoError(t, suite.Client.Update(t.Context(), users))
	shown, err := x509.ParseCertificate(second.TLS(t).Certificate[0])
	testenv.NoError(t, err)
	for _, service := range []string{"secured", "proxied", "proxied-proxy"} {
		prometheus.Becomes(fmt.Sprintf(`memcached_certificate_expiry_timestamp_seconds{service=%q} - %d`, service, shown.NotAfter.Unix()), 0)
	}
	if got := proxy.Get("key"); got != "value" {
		t.Errorf("after the rotation, a connection to the proxy finds %q", got)
	}
	prometheus.Becomes(`memcached_up{service="secured"}`, 1)
	prometheus.Becomes(`memcached_current_items{service="secured"}`, 1)

	for _, expression := range panels(t, namespace, names) {
		prometheus.HasValues(expression)
	}

	want := []string{"MemcachedCertificateExpiring", "MemcachedConnectionsNearLimit", "MemcachedDown", "MemcachedEvicting", "MemcachedFlashEvicting", "MemcachedMemoryFull", "MemcachedPodDown", "MemcachedProxyDown", "MemcachedProxyLosesPods", "MemcachedRestarted"}
	if got := prometheus.Alerts(); !slices.Equal(got, want) {
		t.Errorf("the alerts are %q, want %q", got, want)
	}
	firesWhileDown(t, prometheus, mc, &pod)
}

// firesWhileDown stops the memcached of pod, the only one of mc, and then deletes it.
func firesWhileDown(t *testing.T, prometheus *cluster.Prometheus, mc *cachev1alpha1.Memcached, pod *corev1.Pod) {
	t.Helper()
	// Beside the reloader memcached is not process 1, which nothing in its pod could stop.
	signal := func(name string) {
		suite.Exec(t, pod.Namespace, pod.Name, "memcached", "sh", "-c",
			`for process in /proc/[0-9]*; do [ "$(cat $process/comm)" != memcached ] || kill -`+name+` ${process#/proc/}; done`)
	}
	signal("STOP")
	prometheus.Becomes(`memcached_up{service="secured"}`, 0)
	prometheus.Becomes(`ALERTS{alertname="MemcachedDown",alertstate="pending",service="secured"}`, 1)
	signal("CONT")
	prometheus.Becomes(`memcached_up{service="secured"}`, 1)
	prometheus.Becomes(`count(ALERTS{alertname="MemcachedDown"}) or vector(0)`, 0)

	// The pod and its exporter are gone, which leaves nothing to be 0.
	suite.Patch(t, mc, `{"spec":{"paused":true}}`)
	suite.Kubectl(t, "--namespace="+mc.Namespace, "scale", "deployment/secured", "--replicas=0")
	prometheus.Becomes(`ALERTS{alertname="MemcachedDown",alertstate="pending",service="secured"}`, 1)
}
