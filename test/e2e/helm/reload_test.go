// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package helm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// siteOf returns a component that sets the memory of every memcached, in MiB. field is "spec" or a misspelled one.
func siteOf(field string, memory int) map[string]string {
	return map[string]string{"kustomization.yaml": fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: memcached}, spec: {template: {%s: {containers: [{name: memcached, env: [{name: MEMCACHED_MEMORY_LIMIT, value: "%d"}]}]}}}}'
`, field, memory)}
}

// TestTemplates_AreReloadedFromAConfigMap edits a mounted ConfigMap, makes a mistake in it and corrects it. The replica that does
// not lead says so too: it will, once it leads.
func TestTemplates_AreReloadedFromAConfigMap(t *testing.T) {
	t.Parallel()
	define(t)
	namespace := suite.NewNamespace(t)
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "site"}, Data: siteOf("spec", 32)}
	suite.Create(t, site)
	r := newRelease("mounted", namespace)
	r.install(t, "--set", "crds.enabled=false", "--set", "watchNamespaces={"+namespace+"}", "--set", "siteConfigMap=site", "--set", "replicaCount=2")
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 1))
	wantMemory(t, namespace, 32)
	operators := names(r.Settled(t))

	edit := func(field string, memory int) {
		t.Helper()
		site.Data = siteOf(field, memory)
		testenv.NoError(t, suite.Client.Update(t.Context(), site))
	}
	edit("specs", 48)
	testenv.Eventually(t, "an event of each of the operator's pods tells the mistake", func(ctx context.Context) (bool, string, error) {
		events := &eventsv1.EventList{}
		err := suite.Client.List(ctx, events, client.InNamespace(namespace), client.MatchingFields{"reason": "TemplatesRejected"})
		var told []string
		for _, event := range events.Items {
			if event.Regarding.Kind == "Pod" && strings.Contains(event.Note, "spec.template.specs") {
				told = append(told, event.Regarding.Name)
			}
		}
		slices.Sort(told)
		return slices.Equal(told, operators), fmt.Sprint(events.Items), err
	})
	suite.Ready(t, mc)
	wantMemory(t, namespace, 32)

	edit("spec", 48)
	testenv.EventuallyObject(t, &suite.Env, suite.Deployment(t, namespace, "cache"), "edited", hasMemory("48"))
	suite.Ready(t, mc)
	wantMemory(t, namespace, 48)
	now := r.Settled(t)
	if !slices.Equal(names(now), operators) || slices.ContainsFunc(now, func(pod corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount != 0 }) {
		t.Errorf("the operator's pods are %v, want %v, not restarted", now, operators)
	}
}

// names returns the sorted names of pods.
func names(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// hasMemory tells whether a Memcached's Deployment gives memcached so many MiB.
func hasMemory(mebibytes string) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool {
		return slices.Contains(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "MEMCACHED_MEMORY_LIMIT", Value: mebibytes})
	}
}

// wantMemory waits until the memcached in each pod says that it may use so many MiB. The condition Ready may be that of before
// a change of the templates.
func wantMemory(t *testing.T, namespace string, want int) {
	t.Helper()
	testenv.Eventually(t, fmt.Sprintf("memcached should have %d MiB", want), func(context.Context) (bool, string, error) {
		pods := suite.Pods(t, namespace, "cache")
		for _, pod := range pods {
			client, err := suite.Dial(t, namespace, pod.Name, memcached.Access{})
			if err != nil {
				return false, "", err
			}
			stats, err := client.Stats()
			if got := stats["limit_maxbytes"]; err != nil || got != fmt.Sprint(want<<20) {
				return false, fmt.Sprintf("pod %s may use %s bytes", pod.Name, got), err
			}
		}
		return len(pods) > 0, "", nil
	})
}

// write writes values into a file and returns its name.
func write(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	testenv.NoError(t, os.WriteFile(file, []byte(values), 0o600))
	return file
}
