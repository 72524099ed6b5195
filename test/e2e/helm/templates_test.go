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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// edited are values that give every memcached less memory. %s is the field "spec" or a misspelled one.
const edited = `
manifests:
  components/site/kustomization.yaml: |
    apiVersion: kustomize.config.k8s.io/v1alpha1
    kind: Component
    patches:
    - patch: |-
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: memcached}
        spec: {template: {%s: {containers: [{name: memcached, env: [{name: MEMCACHED_MEMORY_LIMIT, value: "32"}]}]}}}
`

// withObject adds an object of a new kind, and the right to it.
const withObject = `    resources: [configmap.yaml]
  components/site/configmap.yaml: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: memcached}
    data: {from: values}
rbac:
  extraRules:
  - {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
`

// TestTemplates_ComeFromValues edits what a Memcached becomes by helm upgrade, makes a mistake in it, and corrects it.
func TestTemplates_ComeFromValues(t *testing.T) {
	besideOthers(t, func(t *testing.T, h helm) {
		namespace := suite.NewNamespace(t)
		r, values := forSome(t, h, "edited", []string{namespace})
		good, bad := write(t, fmt.Sprintf(edited, "spec")), write(t, fmt.Sprintf(edited, "specs"))
		corrected := write(t, fmt.Sprintf(edited, "spec")+withObject)
		with := func(file string) []string { return append(slices.Clone(values), "--values", file) }

		mc := suite.Ready(t, suite.NewMemcached(t, namespace, "cache", 1))
		wantMemory(t, namespace, 64)
		r.upgrade(t, with(good)...)
		cluster.Until(t, suite.Cluster, suite.Deployment(t, namespace, "cache"), "edited", isEdited)
		suite.Ready(t, mc)
		wantMemory(t, namespace, 32)

		old := r.Settled(t)[0]
		r.refuses(t, nil, "upgrade", of(chart, suite.Image, append(with(bad), "--timeout=10s")...)...)
		r.wantInLog(t, old.Name, "components/site/kustomization.yaml", "Deployment memcached", "spec.template.specs")
		worksOn(t, r, &old, mc)

		f := suite.FillExisting(t, mc)
		r.upgrade(t, with(corrected)...)
		cluster.Until(t, suite.Cluster, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"}}, "of the templates",
			func(object *corev1.ConfigMap) bool { return object.Data["from"] == "values" })
		f.WantKept(t, "the corrected upgrade")

		revision := r.revision(t)
		r.refuses(t, nil, "upgrade", of(chart, suite.Image, append(with(bad), "--timeout=5s")...)...)
		r.rollback(t, revision)
		resize(t, mc, 2)
		// Files that no pod reads any more go with the next upgrade.
		r.upgrade(t, with(corrected)...)
		if left := r.templateFiles(t); len(left) != 1 {
			t.Errorf("the template files are in %q, want one ConfigMap", left)
		}
	})
}

// worksOn looks at the old operator while a new one refuses its start: it serves, after a restart of its
// container too, and so does a pod that takes its place.
func worksOn(t *testing.T, r release, old *corev1.Pod, mc *cachev1alpha1.Memcached) {
	t.Helper()
	resize(t, mc, 2)
	end(t, old)
	cluster.Until(t, suite.Cluster, old, "started again and ready", func(pod *corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount == 1 && cluster.IsReady(pod)
	})
	resize(t, mc, 3)
	cluster.Must(t, suite.Delete(t.Context(), old))
	suite.Gone(t, old)
	cluster.Eventually(t, "another pod of the old operator is ready", func(ctx context.Context) (bool, string, error) {
		pods, err := r.pods(ctx)
		ready := slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return cluster.IsReady(&pod) && pod.Labels["pod-template-hash"] == old.Labels["pod-template-hash"]
		})
		return ready, cluster.Lives(pods), err
	})
	resize(t, mc, 1)
	// On a node that has not seen these files it can only start because they are still there.
	name := old.Spec.Volumes[0].ConfigMap.Name
	if files := r.templateFiles(t); !slices.Contains(files, name) {
		t.Errorf("the template files of the old operator, %s, are not among %q", name, files)
	}
}

// resize asks for size pods and waits until the operator does, by the edited template.
func resize(t *testing.T, mc *cachev1alpha1.Memcached, size int32) {
	t.Helper()
	suite.MergePatch(t, mc, fmt.Sprintf(`{"spec":{"size":%d}}`, size))
	cluster.Eventually(t, fmt.Sprintf("%s has %d pods", mc.Name, size), func(context.Context) (bool, string, error) {
		d := suite.Deployment(t, mc.Namespace, mc.Name)
		return *d.Spec.Replicas == size && isEdited(d), fmt.Sprint(*d.Spec.Replicas), nil
	})
}

// end ends the one process of an operator's container, which the kubelet then starts again.
func end(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	changed := pod.DeepCopy()
	changed.Spec.EphemeralContainers = append(changed.Spec.EphemeralContainers, corev1.EphemeralContainer{
		TargetContainerName: pod.Spec.Containers[0].Name,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "end", Image: cluster.BusyboxImage, Command: []string{"kill", "1"},
			SecurityContext: operatorsOwn(),
		},
	})
	_, err := suite.Clients.CoreV1().Pods(pod.Namespace).UpdateEphemeralContainers(t.Context(), pod.Name, changed, metav1.UpdateOptions{})
	cluster.Must(t, err)
}

// operatorsOwn lets a container signal the operator: it is the same user.
func operatorsOwn() *corev1.SecurityContext {
	context := cluster.RestrictedContainer()
	context.RunAsUser = new(int64(65532))
	return context
}

// isEdited tells whether a Memcached's Deployment is as edited says.
func isEdited(d *appsv1.Deployment) bool { return hasMemory("32")(d) }

// hasMemory tells whether a Memcached's Deployment gives memcached so many MiB.
func hasMemory(mebibytes string) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool {
		return slices.Contains(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "MEMCACHED_MEMORY_LIMIT", Value: mebibytes})
	}
}

// wantMemory asks the memcached in each pod how many MiB it may use.
func wantMemory(t *testing.T, namespace string, want int) {
	t.Helper()
	for _, pod := range suite.Pods(t, namespace, "cache") {
		if got := suite.Cache(t, namespace, pod.Name, cluster.Port).Stats()["limit_maxbytes"]; got != fmt.Sprint(want<<20) {
			t.Errorf("pod %s may use %s bytes, want %d MiB", pod.Name, got, want)
		}
	}
}

// wantInLog waits until the pod of the operator that is not the one called old has all of want in its log.
func (r release) wantInLog(t *testing.T, old string, want ...string) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("the new operator logs %q", want), func(ctx context.Context) (bool, string, error) {
		pods, err := r.pods(ctx)
		if err != nil {
			return false, "", err
		}
		pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Name == old })
		if len(pods) == 0 {
			return false, "no new pod", nil
		}
		log, err := suite.Clients.CoreV1().Pods(r.Namespace).GetLogs(pods[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		missing := slices.ContainsFunc(want, func(words string) bool { return !strings.Contains(string(log), words) })
		return !missing, string(log), err
	})
}

// pods are the operator's, of all revisions.
func (r release) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := suite.List(ctx, list, client.InNamespace(r.Namespace), client.MatchingLabels{"control-plane": "controller-manager", "app.kubernetes.io/instance": r.name})
	return list.Items, err
}

// templateFiles are the ConfigMaps of the release.
func (r release) templateFiles(t *testing.T) []string {
	t.Helper()
	list := &corev1.ConfigMapList{}
	cluster.Must(t, suite.List(t.Context(), list, client.InNamespace(r.Namespace), client.MatchingLabels{"app.kubernetes.io/instance": r.name, "app.kubernetes.io/managed-by": "Helm"}))
	names := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// write writes values into a file and returns its name.
func write(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	cluster.Must(t, os.WriteFile(file, []byte(values), 0o600))
	return file
}
