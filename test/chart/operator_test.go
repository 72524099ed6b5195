// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/testenv"
)

// startOperator runs the operator in place of a pod of the release: with the same flags, files and
// environment, and the permissions of the same service account.
func (r release) startOperator(t *testing.T) *testenv.Process {
	t.Helper()
	pod := r.deployment(t).Spec.Template.Spec
	cfg, err := r.cluster.ServiceAccountConfig(t.Context(), r.namespace, pod.ServiceAccountName)
	testenv.NoError(t, err)
	files := r.mounts(t, pod)
	container := pod.Containers[0]
	arguments := make([]string, 0, len(container.Args)+4)
	for _, arg := range container.Args {
		for path, dir := range files {
			arg = strings.Replace(arg, path, dir, 1)
		}
		arguments = append(arguments, arg)
	}
	// Outside of a pod the operator has to be told where it is, and its ports may be in use.
	arguments = append(arguments, "--kubeconfig="+testenv.Kubeconfig(t, cfg, ""), "--leader-elect-namespace="+r.namespace,
		"--health-probe-bind-address=0", "--metrics-bind-address=0")
	var environment []string
	for _, variable := range container.Env {
		environment = append(environment, variable.Name+"="+variable.Value)
	}
	return testenv.StartBinaryEnv(t, suite.Binary, environment, arguments...)
}

// mounts writes what is mounted into the container to disk, and returns where by mount
// path.
func (r release) mounts(t *testing.T, pod corev1.PodSpec) map[string]string {
	t.Helper()
	paths := map[string]string{}
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if volume.Name != mount.Name || volume.ConfigMap == nil {
				continue
			}
			content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: volume.ConfigMap.Name}}
			r.cluster.Get(t, content)
			files := map[string]string{}
			for _, item := range volume.ConfigMap.Items {
				files[item.Path] = content.Data[item.Key]
			}
			paths[mount.MountPath] = write(t, files)
		}
	}
	return paths
}

// wantQuiet stops the operator and fails if it logged an error, such as a missing permission.
func wantQuiet(t *testing.T, o *testenv.Process) {
	t.Helper()
	if status := o.Terminate(t); status != 0 {
		t.Errorf("the operator exits with status %d", status)
	}
	if errors := o.Log.Errors(); len(errors) > 0 || strings.Contains(o.Log.String(), "forbidden") {
		t.Errorf("the operator logged %q in\n%s", errors, o.Log.String())
	}
}

// example is the YAML that the chart's README shows for `manifests`.
func example(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile("(?s)```yaml\n(manifests:.*?)```").FindStringSubmatch(text(t, filepath.Join(chartDir, "README.md")))
	if found == nil {
		t.Fatal("the chart's README has no example of manifests")
	}
	return found[1]
}

// TestValues_ManifestsReachTheOperator installs the README's example, and then invalid variants of it.
func TestValues_ManifestsReachTheOperator(t *testing.T) {
	withHelm4(t, func(t *testing.T, h helm) {
		cluster := testenv.New(t, testenv.Setup{})
		r := release{h.as(cluster.Kubeconfig), cluster, releaseName, releaseNamespace}
		values := filepath.Join(write(t, map[string]string{"values.yaml": example(t)}), "values.yaml")
		r.do(t, "install", "--create-namespace", "--take-ownership", "--set", "crds.takeOwnership=true", "--values", values, "--set", "relatedImages.memcached=registry.example.com/memcached:1")
		o := r.startOperator(t)
		mc := cluster.NewMemcached(t, "default", "cache", 1)
		cluster.EventuallyReady(t, mc)
		autoscaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
		cluster.Get(t, autoscaler)
		if name := autoscaler.Spec.ScaleTargetRef.Name; name != mc.Name {
			t.Errorf("the HorizontalPodAutoscaler scales %q", name)
		}
		if image := cluster.Deployment(t, mc.Namespace, mc.Name).Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/memcached:1" {
			t.Errorf("the image of the Memcached is %s", image)
		}
		wantQuiet(t, o)

		r.do(t, "upgrade", "--values", values, "--set", "rbac.extraRules=null")
		r.wantRefusal(t, "permission is missing", "horizontalpodautoscalers")

		r.do(t, "upgrade", "--values", values, "--set-file", `manifests.components/site/autoscaler\.yaml=`+filepath.Join(write(t, map[string]string{
			"x.yaml": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: memcached}\nspec: {maxReplicaz: 5}\n",
		}), "x.yaml"))
		r.wantRefusal(t, "components/site/autoscaler.yaml", "maxReplicaz")

		// Without the template, and with the right to it, what it made is pruned.
		r.do(t, "upgrade", "--values", values, "--set", "manifests=null")
		r.startOperator(t)
		cluster.EventuallyGone(t, autoscaler)
	})
}

// wantRefusal runs the operator, which has to exit with status 1 and all of want in its log.
func (r release) wantRefusal(t *testing.T, want ...string) {
	t.Helper()
	o := r.startOperator(t)
	if status := o.End(t); status != 1 {
		t.Errorf("the operator exits with status %d", status)
	}
	for _, words := range want {
		if log := o.Log.String(); !strings.Contains(log, words) {
			t.Errorf("the log lacks %q:\n%s", words, log)
		}
	}
}
