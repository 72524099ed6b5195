// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operator is a process that stands for a pod of a release: the same flags, files and
// environment, and the rights of the same service account.
type operator struct {
	command *exec.Cmd
	log     bytes.Buffer
	ended   chan struct{}
}

// newOperator prepares the operator as the release's Deployment says.
func (r release) newOperator(t *testing.T) *operator {
	t.Helper()
	pod := r.deployment(t).Spec.Template.Spec
	cfg, err := r.cluster.ServiceAccountConfig(t.Context(), r.namespace, pod.ServiceAccountName)
	fatal(t, err)
	files := r.mounts(t, pod)
	container := pod.Containers[0]
	arguments := make([]string, 0, len(container.Args)+4)
	for _, arg := range container.Args {
		for path, dir := range files {
			arg = strings.Replace(arg, path, dir, 1)
		}
		arguments = append(arguments, arg)
	}
	// What a process outside a pod has to be told, and ports that others may have.
	arguments = append(arguments, "--kubeconfig="+writeKubeconfig(t, cfg), "--leader-elect-namespace="+r.namespace,
		"--health-probe-bind-address=0", "--metrics-bind-address=0")
	o := &operator{command: exec.Command(operatorProgram, arguments...), ended: make(chan struct{})}
	o.command.Stdout, o.command.Stderr = &o.log, &o.log
	for _, variable := range container.Env {
		o.command.Env = append(o.command.Env, variable.Name+"="+variable.Value)
	}
	return o
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
			content := &corev1.ConfigMap{}
			fatal(t, r.cluster.Client.Get(t.Context(), types.NamespacedName{Namespace: r.namespace, Name: volume.ConfigMap.Name}, content))
			files := map[string]string{}
			for _, item := range volume.ConfigMap.Items {
				files[item.Path] = content.Data[item.Key]
			}
			paths[mount.MountPath] = write(t, files)
		}
	}
	return paths
}

// startOperator runs the operator until the test ends.
func (r release) startOperator(t *testing.T) *operator {
	t.Helper()
	o := r.newOperator(t)
	fatal(t, o.command.Start())
	go func() { _ = o.command.Wait(); close(o.ended) }()
	t.Cleanup(o.stop)
	t.Cleanup(func() {
		if t.Failed() {
			o.stop()
			t.Logf("the log of release %s:\n%s", r.name, o.log.String())
		}
	})
	return o
}

func (o *operator) stop() {
	_ = o.command.Process.Signal(syscall.SIGTERM)
	<-o.ended
}

// wantQuiet stops the operator and fails the test if it logged an error: a right that
// it lacks would be one.
func (o *operator) wantQuiet(t *testing.T) {
	t.Helper()
	o.stop()
	if status := o.command.ProcessState.ExitCode(); status != 0 {
		t.Errorf("the operator ends with status %d", status)
	}
	for line := range strings.Lines(o.log.String()) {
		// The stop may meet the client in the middle of a request for the lease.
		stopped := strings.Contains(line, "lease lock") && strings.Contains(line, "context canceled")
		if strings.Contains(line, `"level":"error"`) && !stopped || strings.Contains(line, "forbidden") {
			t.Errorf("the operator logs %s", line)
		}
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

// The README's own example, and then what goes wrong with it.
func TestManifestsReachTheOperator(t *testing.T) {
	forEachHelm(t, func(t *testing.T, h helm) {
		cluster := startCluster(t)
		r := release{h.as(cluster.Kubeconfig), cluster, releaseName, releaseNamespace}
		values := filepath.Join(write(t, map[string]string{"values.yaml": example(t)}), "values.yaml")
		r.do(t, "install", "--create-namespace", "--take-ownership", "--values", values, "--set", "relatedImages.memcached=registry.example.com/memcached:1")
		o := r.startOperator(t)
		mc := newMemcached(t, cluster, "default")
		wantReady(t, cluster, mc)
		autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
		fatal(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), autoscaler))
		if name := autoscaler.Spec.ScaleTargetRef.Name; name != mc.Name {
			t.Errorf("the HorizontalPodAutoscaler scales %q", name)
		}
		deployment := &appsv1.Deployment{}
		fatal(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), deployment))
		if image := deployment.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/memcached:1" {
			t.Errorf("the image of the Memcached is %s", image)
		}
		o.wantQuiet(t)

		r.do(t, "upgrade", "--values", values, "--set", "rbac.extraRules=null")
		r.wantRefusal(t, "permission is missing", "horizontalpodautoscalers")

		r.do(t, "upgrade", "--values", values, "--set-file", `manifests.components/site/autoscaler\.yaml=`+filepath.Join(write(t, map[string]string{
			"x.yaml": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: memcached}\nspec: {maxReplicaz: 5}\n",
		}), "x.yaml"))
		r.wantRefusal(t, "components/site/autoscaler.yaml", "maxReplicaz")

		// Without the template, and with the right to it, what it made is pruned.
		r.do(t, "upgrade", "--values", values, "--set", "manifests=null")
		r.startOperator(t)
		eventually(t, "the HorizontalPodAutoscaler should be pruned", func(ctx context.Context) (bool, error) {
			err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(autoscaler), autoscaler)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	})
}

// wantRefusal runs the operator, which has to end with status 1 and all of want in its
// log.
func (r release) wantRefusal(t *testing.T, want ...string) {
	t.Helper()
	o := r.newOperator(t)
	timer := time.AfterFunc(20*time.Second, func() { _ = o.command.Process.Kill() })
	defer timer.Stop()
	err := o.command.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed || exit.ExitCode() != 1 {
		t.Errorf("the operator ends with %v", err)
	}
	for _, words := range want {
		if log := o.log.String(); !strings.Contains(log, words) {
			t.Errorf("the log lacks %q:\n%s", words, log)
		}
	}
}
