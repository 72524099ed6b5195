// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// MonitoringKind returns a kind of the Prometheus operator.
func MonitoringKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind}
}

// InstallMonitoring installs ServiceMonitor and PrometheusRule, without the schemas of their
// specs, and waits until they are served.
func (e *Env) InstallMonitoring(ctx context.Context) error {
	for plural, kind := range map[string]string{"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+plural+`.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: `+kind+`, plural: `+plural+`}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
`), &object.Object); err != nil {
			return err
		}
		if err := e.Apply(ctx, object); err != nil {
			return err
		}
		err := Poll(ctx, Timeout, func(ctx context.Context) (bool, error) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(MonitoringKind(kind + "List"))
			return e.Client.List(ctx, list) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for kind %s: %w", kind, err)
		}
	}
	return nil
}
