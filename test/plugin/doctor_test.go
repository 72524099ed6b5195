// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// TestDoctor_WritesWhatItCanRead asks for a Memcached whose pods do not answer, in a cluster without an operator; test/e2e has both.
func TestDoctor_WritesWhatItCanRead(t *testing.T) {
	t.Parallel()
	namespace := newReady(t, map[string]cachev1alpha1.MemcachedSpec{"cache": {}})
	file := filepath.Join(t.TempDir(), "cache.tar.gz")
	got := run(t, "doctor", "cache", "-n", namespace, "-f", file)
	if got.code != 1 || got.out != file+"\n" || !strings.Contains(got.stderr, "finding the operator: ") {
		t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
	files := testenv.Untar(t, file)
	for name, want := range map[string]string{
		"status.txt": "Memcached  " + namespace + "/cache\n", "events.txt": " Deployment cache", "errors.txt": "finding the operator: ",
		"objects/" + namespace + "/Memcached-cache.yaml": "size: 2\n", "objects/" + namespace + "/Deployment-cache.yaml": "replicas: 2\n",
		"objects/" + namespace + "/Service-cache.yaml": "clusterIP: None\n",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
	}
	pods := &corev1.PodList{}
	testenv.NoError(t, suite.Client.List(t.Context(), pods, client.InNamespace(namespace)))
	for _, pod := range pods.Items {
		if !strings.Contains(files["objects/"+namespace+"/Pod-"+pod.Name+".yaml"], "uid: "+string(pod.UID)) || !strings.Contains(files["errors.txt"], "pods/"+pod.Name+"-stats.txt: ") {
			t.Errorf("the Pod %s, or the error of its statistics, is missing:\n%s", pod.Name, files["errors.txt"])
		}
	}
	for name, text := range files {
		if strings.Contains(text, "managedFields") {
			t.Errorf("%s has managedFields", name)
		}
	}
}

// TestDoctor_NeedsTheMemcachedAlone is by a user who may read nothing else.
func TestDoctor_NeedsTheMemcachedAlone(t *testing.T) {
	t.Parallel()
	namespace := newReady(t, map[string]cachev1alpha1.MemcachedSpec{"cache": {}})
	user := newUser(t, namespace, "reader", allow("cache.example.com", "memcacheds", "get"))
	file := filepath.Join(t.TempDir(), "cache.tar.gz")
	got := run(t, "doctor", "cache", "-n", namespace, "--as="+user, "-f", file)
	if got.code != 1 {
		t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
	files := testenv.Untar(t, file)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"errors.txt", "objects/" + namespace + "/Memcached-cache.yaml", "status.txt"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
	for _, want := range []string{"list pods", "list events", "show the objects", "finding the operator: "} {
		if strings.Count(files["errors.txt"], want) != 1 || strings.Count(got.stderr, want) != 1 {
			t.Errorf("not said once: %q in\n%s\n%s", want, files["errors.txt"], got.stderr)
		}
	}
}
