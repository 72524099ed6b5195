// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
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
	c.Create(t, namespace)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		deleted := client.IgnoreNotFound(c.Client.Delete(ctx, namespace))
		// Nothing waits for what the pods do in their grace periods, which may be minutes.
		if err := errors.Join(deleted, c.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace.Name), client.GracePeriodSeconds(0))); err != nil {
			t.Error(err)
		}
	})
	c.KeepOnFailure(t, namespace.Name)
	return namespace.Name
}

// KeepOnFailure keeps what is in a namespace in the artifacts, when the test fails.
func (c *Cluster) KeepOnFailure(t testing.TB, namespace string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			c.keep(context.WithoutCancel(t.Context()), t, namespace)
		}
	})
}

// NoTestNamespaces waits until the namespaces of earlier tests are gone, for tests in
// which pods of others would be in the way.
func (c *Cluster) NoTestNamespaces(t testing.TB) {
	t.Helper()
	testenv.Eventually(t, "the namespaces of earlier tests should be gone", c.noTestNamespaces)
}

func (c *Cluster) noTestNamespaces(ctx context.Context) (done bool, seen string, err error) {
	list := &corev1.NamespaceList{}
	if err := c.Client.List(ctx, list, client.HasLabels{testLabel}); err != nil {
		return false, "", err
	}
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.Name)
	}
	return len(names) == 0, strings.Join(names, " "), nil
}

// keep writes what there is in a namespace to the artifacts of a test that failed.
func (c *Cluster) keep(ctx context.Context, t testing.TB, namespace string) {
	directory := filepath.Join(c.Artifacts, strings.ReplaceAll(t.Name(), "/", "-"), namespace)
	write := func(file, content string, err error) {
		if err != nil {
			content += err.Error()
		}
		if err := errors.Join(os.MkdirAll(directory, 0o755), os.WriteFile(filepath.Join(directory, file), []byte(content), 0o644)); err != nil {
			t.Errorf("keeping artifacts: %v", err)
		}
	}
	kinds := "memcacheds,deployments,replicasets,pods,services,endpointslices,poddisruptionbudgets,networkpolicies,resourcequotas,configmaps"
	for file, arguments := range map[string][]string{
		"describe.txt": {"describe", kinds},
		"objects.yaml": {"get", kinds + ",leases", "--show-managed-fields", "-o", "yaml"},
		"events.txt":   {"get", "events.events.k8s.io", "--sort-by=.metadata.creationTimestamp"},
	} {
		// With hundreds of objects describe takes minutes.
		bounded, cancel := context.WithTimeout(ctx, 20*time.Second)
		output, _, err := c.TryKubectl(bounded, "", append([]string{"--namespace=" + namespace}, arguments...)...)
		cancel()
		write(file, output, err)
	}
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		write("logs.txt", "", err)
	}
	for _, pod := range pods.Items {
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for file, previous := range map[string]bool{pod.Name + "-" + container.Name + ".log": false, "previous-" + pod.Name + "-" + container.Name + ".log": true} {
				logs, err := c.Clients.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container.Name, Previous: previous}).DoRaw(ctx)
				if err == nil || !previous { // else it never restarted
					write(file, string(logs), err)
				}
			}
		}
	}
	t.Logf("what was in namespace %s is in %s", namespace, directory)
}
