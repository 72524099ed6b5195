// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/testenv"
)

const prometheusPort = 9090

// Prometheus is a Prometheus in the cluster.
type Prometheus struct {
	t      testing.TB
	client *http.Client
}

// Prometheus starts a Prometheus in namespace that does as the Prometheus operator would have it for the
// ServiceMonitors and PrometheusRules of these names, but for how often it asks. There
// it finds the pods through the API server; here through the DNS, by the Services, so that it asks one of several proxies.
func (c *Cluster) Prometheus(t testing.TB, namespace string, names ...string) *Prometheus {
	t.Helper()
	files := map[string]string{}
	var jobs []any
	for _, name := range names {
		rules := c.exists(t, monitoringObject("PrometheusRule", namespace, name))
		files["rules-"+name+".yaml"] = toYAML(t, rules.Object["spec"])
		monitor := c.exists(t, monitoringObject("ServiceMonitor", namespace, name))
		jobs = append(jobs, map[string]any{
			"job_name": name,
			"dns_sd_configs": []any{map[string]any{
				"names": []string{fmt.Sprintf("%s.%s.svc.cluster.local.", name, namespace)}, "type": "A", "port": c.metricsPort(t, namespace, name), "refresh_interval": "1s",
			}},
			"relabel_configs": []any{
				map[string]any{"target_label": "namespace", "replacement": namespace},
				map[string]any{"target_label": "service", "replacement": name},
				map[string]any{"source_labels": []string{"__address__"}, "target_label": "pod"},
			},
			"metric_relabel_configs": metricRelabelings(t, monitor),
		})
	}
	files["prometheus.yml"] = toYAML(t, map[string]any{
		// The exporter gives a memcached that does not answer a second.
		"global":         map[string]any{"scrape_interval": "4s", "scrape_timeout": "4s", "evaluation_interval": "1s"},
		"rule_files":     []string{"rules-*.yaml"},
		"scrape_configs": jobs,
	})
	c.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"}, Data: files})
	c.StartPod(t, namespace, "prometheus", fmt.Sprintf("image: %q, args: [--config.file=/etc/prometheus/prometheus.yml, --storage.tsdb.path=/prometheus], "+
		"readinessProbe: {periodSeconds: 1, httpGet: {path: /-/ready, port: %d}}, volumeMounts: [{name: config, mountPath: /etc/prometheus}, {name: data, mountPath: /prometheus}]",
		PrometheusImage, prometheusPort), "volumes: [{name: config, configMap: {name: prometheus}}, {name: data, emptyDir: {}}]")
	return &Prometheus{t, &http.Client{Transport: &http.Transport{DialContext: c.dial(namespace, "prometheus", prometheusPort), DisableKeepAlives: true}}}
}

// exists waits until an object exists, and returns it.
func (c *Cluster) exists(t testing.TB, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return testenv.EventuallyObject(t, &c.Env, object, "it should exist", func(*unstructured.Unstructured) bool { return true })
}

// metricRelabelings are those of a ServiceMonitor as Prometheus has them.
func metricRelabelings(t testing.TB, monitor *unstructured.Unstructured) []any {
	t.Helper()
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	testenv.NoError(t, err)
	relabelings, _, err := unstructured.NestedSlice(endpoints[0].(map[string]any), "metricRelabelings")
	testenv.NoError(t, err)
	for _, relabeling := range relabelings {
		fields := relabeling.(map[string]any)
		fields["source_labels"] = fields["sourceLabels"]
		delete(fields, "sourceLabels")
	}
	return relabelings
}

// metricsPort is the port that a ServiceMonitor means: that of its name in the Service.
func (c *Cluster) metricsPort(t testing.TB, namespace, name string) int32 {
	t.Helper()
	service := &corev1.Service{}
	service.Namespace, service.Name = namespace, name
	c.Get(t, service)
	for _, port := range service.Spec.Ports {
		if port.Name == "metrics" {
			return port.Port
		}
	}
	t.Fatalf("Service %s has no port called metrics: %v", name, service.Spec.Ports)
	return 0
}

func toYAML(t testing.TB, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	testenv.NoError(t, err)
	return string(text)
}

// values asks for the values of an expression.
func (p *Prometheus) values(ctx context.Context, expression string) ([]string, error) {
	var data struct {
		Result []struct{ Value [2]any }
	}
	err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &data)
	var values []string
	for _, result := range data.Result {
		values = append(values, fmt.Sprint(result.Value[1]))
	}
	return values, err
}

// Becomes waits until an expression has one value, and that is want.
func (p *Prometheus) Becomes(expression string, want float64) {
	p.t.Helper()
	testenv.Eventually(p.t, fmt.Sprintf("%s should be %v", expression, want), func(ctx context.Context) (bool, string, error) {
		got, err := p.values(ctx, expression)
		return len(got) == 1 && got[0] == fmt.Sprint(want), fmt.Sprint(got), err
	})
}

// HasValues waits until an expression has values.
func (p *Prometheus) HasValues(expression string) {
	p.t.Helper()
	testenv.Eventually(p.t, expression+" should have values", func(ctx context.Context) (bool, string, error) {
		got, err := p.values(ctx, expression)
		return len(got) > 0, "none", err
	})
}

// Alerts waits until every alert has been evaluated, which may not fail, and returns their names, sorted.
func (p *Prometheus) Alerts() []string {
	p.t.Helper()
	found := map[string]bool{}
	testenv.Eventually(p.t, "every alert should be evaluated", func(ctx context.Context) (bool, string, error) {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := p.get(ctx, "/api/v1/rules?type=alert", &data); err != nil {
			return false, "", err
		}
		for _, group := range data.Groups {
			for _, rule := range group.Rules {
				if rule.Health == "err" {
					p.t.Fatalf("alert %s: %s", rule.Name, rule.LastError)
				}
				if found[rule.Name] = true; rule.Health != "ok" {
					return false, rule.Name + ": " + rule.Health, nil
				}
			}
		}
		return len(found) > 0, "", nil
	})
	return slices.Sorted(maps.Keys(found))
}

// get asks the API of Prometheus and reads the data of its answer.
func (p *Prometheus) get(ctx context.Context, path string, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://prometheus"+path, nil)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Error string
		Data  any
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("GET %s: %d: %w", path, response.StatusCode, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", path, response.StatusCode, answer.Error)
	}
	return nil
}
