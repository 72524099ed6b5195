// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testLabel marks the namespaces of tests.
const testLabel = "memcached-operator-e2e"

// NewNamespace makes a namespace for a test, at the Pod Security level "restricted"
// unless labels say another. It goes with the test; when that failed, what was in it is
// kept in the artifacts.
func (c *Cluster) NewNamespace(t testing.TB, labels ...string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{
		testLabel:                            "true",
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	for i := 0; i+1 < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	Must(t, c.Create(t.Context(), namespace))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			c.keep(ctx, t, namespace.Name)
		}
		if err := c.Delete(ctx, namespace); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return namespace.Name
}

// NoTestNamespaces waits until the namespaces of earlier tests are gone, for tests in
// which pods of others would be in the way.
func (c *Cluster) NoTestNamespaces(t testing.TB) {
	t.Helper()
	Eventually(t, "the namespaces of earlier tests are gone", c.noTestNamespaces)
}

func (c *Cluster) noTestNamespaces(ctx context.Context) (done bool, seen string, err error) {
	list := &corev1.NamespaceList{}
	if err := c.List(ctx, list, client.HasLabels{testLabel}); err != nil {
		return false, "", err
	}
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.Name)
	}
	return len(names) == 0, strings.Join(names, " "), nil
}

// keep writes what there is in namespaces to the artifacts of a test that failed.
func (c *Cluster) keep(ctx context.Context, t testing.TB, namespaces ...string) {
	for _, namespace := range namespaces {
		directory := filepath.Join(c.Artifacts, strings.ReplaceAll(t.Name(), "/", "-"), namespace)
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Errorf("keeping artifacts: %v", err)
			return
		}
		c.keepNamespace(ctx, namespace, func(file, content string) {
			if err := os.WriteFile(filepath.Join(directory, file), []byte(content), 0o644); err != nil {
				t.Errorf("keeping artifacts: %v", err)
			}
		})
		t.Logf("what was in namespace %s is in %s", namespace, directory)
	}
}

func (c *Cluster) keepNamespace(ctx context.Context, namespace string, write func(file, content string)) {
	kinds := "memcacheds,deployments,replicasets,pods,services,endpointslices,poddisruptionbudgets,networkpolicies,resourcequotas,configmaps"
	for file, arguments := range map[string][]string{
		"describe.txt": {"describe", kinds},
		"objects.yaml": {"get", kinds + ",leases", "--show-managed-fields", "-o", "yaml"},
		"events.txt":   {"get", "events.events.k8s.io", "--sort-by=.metadata.creationTimestamp"},
	} {
		// With hundreds of objects describe takes minutes.
		bounded, cancel := context.WithTimeout(ctx, 20*time.Second)
		output, err := c.kubectl(bounded, "", append([]string{"--namespace=" + namespace}, arguments...)...)
		cancel()
		write(file, output+errorText(err))
	}
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		write("logs.txt", err.Error())
	}
	for _, pod := range pods.Items {
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, previous := range []bool{false, true} {
				logs, err := c.Clients.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container.Name, Previous: previous}).DoRaw(ctx)
				if err != nil && previous {
					continue // it never restarted
				}
				name := fmt.Sprintf("%s-%s.log", pod.Name, container.Name)
				if previous {
					name = "previous-" + name
				}
				write(name, string(logs)+errorText(err))
			}
		}
	}
}
