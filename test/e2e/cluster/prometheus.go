// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// PrometheusImage is Prometheus; the nodes have it.
const PrometheusImage = "prom/prometheus:v2.42.0"

const prometheusPort = 9090

// Prometheus is a Prometheus in the cluster.
type Prometheus struct {
	t   testing.TB
	url string
}

// Prometheus starts a Prometheus in namespace that does as the Prometheus operator would have it for the
// ServiceMonitors and PrometheusRules of the Memcacheds of these names, but for how often it asks. There
// it finds the pods through the API server; here through the DNS, by the headless Services.
func (c *Cluster) Prometheus(t testing.TB, namespace string, names ...string) *Prometheus {
	t.Helper()
	files := map[string]string{}
	var jobs []any
	for _, name := range names {
		rules := Until(t, c, monitoringObject("PrometheusRule", namespace, name), "there", func(*unstructured.Unstructured) bool { return true })
		files["rules-"+name+".yaml"] = toYAML(t, rules.Object["spec"])
		Until(t, c, monitoringObject("ServiceMonitor", namespace, name), "there", func(*unstructured.Unstructured) bool { return true })
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
		})
	}
	files["prometheus.yml"] = toYAML(t, map[string]any{
		// The exporter gives a memcached that does not answer a second.
		"global":         map[string]any{"scrape_interval": "4s", "scrape_timeout": "4s", "evaluation_interval": "1s"},
		"rule_files":     []string{"rules-*.yaml"},
		"scrape_configs": jobs,
	})
	pod := c.startPrometheus(t, namespace, files)
	return &Prometheus{t: t, url: "http://" + c.Forward(t, namespace, pod, prometheusPort)}
}

// metricsPort is the port that a ServiceMonitor means: that of its name in the Service.
func (c *Cluster) metricsPort(t testing.TB, namespace, name string) int32 {
	t.Helper()
	service := &corev1.Service{}
	Must(t, c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, service))
	for _, port := range service.Spec.Ports {
		if port.Name == "metrics" {
			return port.Port
		}
	}
	t.Fatalf("Service %s has no port called metrics: %v", name, service.Spec.Ports)
	return 0
}

func (c *Cluster) startPrometheus(t testing.TB, namespace string, files map[string]string) (pod string) {
	t.Helper()
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"}
	Must(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metadata, Data: files}))
	object := &corev1.Pod{
		ObjectMeta: metadata,
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			AutomountServiceAccountToken:  new(false),
			SecurityContext:               RestrictedPod(),
			Containers: []corev1.Container{{
				Name: "prometheus", Image: PrometheusImage, SecurityContext: RestrictedContainer(),
				Args: []string{"--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"},
				ReadinessProbe: &corev1.Probe{
					PeriodSeconds: 1,
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/-/ready", Port: intstr.FromInt32(prometheusPort)}},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/prometheus"}, {Name: "data", MountPath: "/prometheus"}},
			}},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: metadata.Name}}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
	Must(t, c.Create(t.Context(), object))
	Until(t, c, object, "ready", IsReady)
	return object.Name
}

func toYAML(t testing.TB, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	Must(t, err)
	return string(text)
}

// Value asks for the one value of an expression; an error when there is none yet, or more than one.
func (p *Prometheus) Value(ctx context.Context, expression string) (float64, error) {
	var data struct {
		Result []struct{ Value [2]any }
	}
	if err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &data); err != nil {
		return 0, err
	}
	if len(data.Result) != 1 {
		return 0, fmt.Errorf("%s has %d values, want one", expression, len(data.Result))
	}
	return strconv.ParseFloat(fmt.Sprint(data.Result[0].Value[1]), 64)
}

// Becomes waits until an expression has one value, and that is want.
func (p *Prometheus) Becomes(expression string, want float64) {
	p.t.Helper()
	Eventually(p.t, fmt.Sprintf("%s is %v", expression, want), func(ctx context.Context) (bool, string, error) {
		got, err := p.Value(ctx, expression)
		return got == want, fmt.Sprint(got), err
	})
}

// HasValues waits until an expression has values.
func (p *Prometheus) HasValues(expression string) {
	p.t.Helper()
	Eventually(p.t, expression+" has values", func(ctx context.Context) (bool, string, error) {
		var data struct{ Result []any }
		err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &data)
		return len(data.Result) > 0, "none", err
	})
}

// Alerts waits until every alert has been evaluated, which may not fail, and returns their names, sorted.
func (p *Prometheus) Alerts() []string {
	p.t.Helper()
	var names []string
	Eventually(p.t, "every alert is evaluated", func(ctx context.Context) (bool, string, error) {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := p.get(ctx, "/api/v1/rules?type=alert", &data); err != nil {
			return false, "", err
		}
		found := map[string]bool{}
		for _, group := range data.Groups {
			for _, rule := range group.Rules {
				if rule.Health == "err" {
					p.t.Fatalf("alert %s: %s", rule.Name, rule.LastError)
				}
				if rule.Health != "ok" {
					return false, rule.Name + ": " + rule.Health, nil
				}
				found[rule.Name] = true
			}
		}
		names = slices.Sorted(maps.Keys(found))
		return len(names) > 0, "", nil
	})
	return names
}

// get asks the API of Prometheus and reads the data of its answer.
func (p *Prometheus) get(ctx context.Context, path string, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Error string
		Data  any
	}{Data: data}
	if err := json.Unmarshal(content, &answer); err != nil {
		return fmt.Errorf("GET %s: %d %w: %s", path, response.StatusCode, err, content)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", path, response.StatusCode, answer.Error)
	}
	return nil
}
