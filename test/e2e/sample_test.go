// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

const sample = "config/samples/cache_v1alpha1_memcached.yaml"

func TestSample_ServesAndReportsAsDocumented(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	suite.Kubectl(t, "--namespace="+namespace, "apply", "-f", sample)
	suite.Kubectl(t, "--namespace="+namespace, "wait", "--for=condition=Ready", "--timeout=180s", "memcached/memcached-sample")

	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-sample"}}
	suite.Ready(t, mc)
	pods := suite.Pods(t, namespace, mc.Name)
	if got := cluster.Names(pods); len(got) != 3 || !slices.Equal(got, mc.Status.Nodes) {
		t.Errorf("the pods are %v, status.nodes is %v", got, mc.Status.Nodes)
	}
	t.Run("every pod keeps what is set, found by the headless name", func(t *testing.T) {
		answersByName(t, namespace, mc.Name, pods)
	})
	t.Run("kubectl get", func(t *testing.T) { printsAsDocumented(t, namespace) })
	t.Run("kubectl explain", func(t *testing.T) {
		text := suite.Kubectl(t, "explain", "memcached.spec")
		contains(t, text, "KIND:       Memcached", "size\t<integer>", "image\t<string>", "containerPort\t<integer>", "podMetadata\t<Object>", "the desired number of memcached pods")
	})
	t.Run("deleting it leaves nothing", func(t *testing.T) {
		suite.Kubectl(t, "--namespace="+namespace, "delete", "-f", sample)
		leavesNothing(t, namespace)
	})
}

// answersByName sets and gets a key in each pod from within the cluster's network.
func answersByName(t *testing.T, namespace, service string, pods []corev1.Pod) {
	t.Helper()
	inside := suite.Inside(t, namespace)
	addresses := inside.Addresses(t, service, len(pods))
	for _, pod := range pods {
		if !slices.Contains(addresses, pod.Status.PodIP) {
			t.Errorf("pod %s has the address %s; the name resolves to %v", pod.Name, pod.Status.PodIP, addresses)
		}
	}
	for i, address := range addresses {
		key := fmt.Sprintf("key-%d", i)
		got := inside.Ask(t, address, cluster.Port, "set "+key+" 0 0 5", "hello", "get "+key)
		if want := []string{"STORED", "VALUE " + key + " 0 5", "hello", "END"}; !slices.Equal(got, want) {
			t.Errorf("%s answers %q, want %q", address, got, want)
		}
	}
	// The endpoint as the status gives it, without the cluster's domain.
	got := inside.Ask(t, service+"."+namespace+".svc", cluster.Port, "version")
	if want := "VERSION " + cluster.Image[strings.Index(cluster.Image, ":")+1:]; !slices.Equal(got, []string{want}) {
		t.Errorf("the endpoint answers %q, want %q", got, want)
	}
}

// printsAsDocumented compares what kubectl prints with the README and the tutorial.
func printsAsDocumented(t *testing.T, namespace string) {
	t.Helper()
	get := func(arguments ...string) [][]string {
		var rows [][]string
		for line := range strings.Lines(suite.Kubectl(t, append([]string{"--namespace=" + namespace, "get"}, arguments...)...)) {
			rows = append(rows, columns(line))
		}
		return rows
	}
	for command, want := range map[string][][]string{
		"memc": {
			{"NAME", "PODS", "READY", "REASON", "AGE"},
			{"memcached-sample", "3/3", "True", "Ready", "*"},
		},
		"memcached -o wide": {
			{"NAME", "PODS", "READY", "REASON", "AGE", "IMAGE", "ENDPOINT", "MESSAGE"},
			{"memcached-sample", "3/3", "True", "Ready", "*", cluster.Image, "memcached-sample." + namespace + ".svc:11211", "all pods are up to date and ready"},
		},
		"deployment": {
			{"NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"},
			{"memcached-sample", "3/3", "3", "3", "*"},
		},
		"service": {
			{"NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"},
			{"memcached-sample", "ClusterIP", "None", "<none>", "11211/TCP", "*"},
		},
		"poddisruptionbudget": {
			{"NAME", "MIN AVAILABLE", "MAX UNAVAILABLE", "ALLOWED DISRUPTIONS", "AGE"},
			{"memcached-sample", "N/A", "1", "1", "*"},
		},
	} {
		got := get(strings.Fields(command)...)
		if len(got) != len(want) {
			t.Errorf("kubectl get %s prints %q, want %q", command, got, want)
			continue
		}
		for i := range want {
			if !slices.EqualFunc(got[i], want[i], func(got, want string) bool { return want == "*" || got == want }) {
				t.Errorf("kubectl get %s prints %q, want %q", command, got[i], want[i])
			}
		}
	}
}

// columns are the cells of a line that kubectl printed: two spaces or more are between them.
func columns(line string) []string {
	var cells []string
	for cell := range strings.SplitSeq(line, "  ") {
		if cell = strings.TrimSpace(cell); cell != "" {
			cells = append(cells, cell)
		}
	}
	return cells
}

// leavesNothing waits until namespace holds nothing that came of a Memcached; the client
// of the test stays.
func leavesNothing(t *testing.T, namespace string) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&cachev1alpha1.MemcachedList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{},
		&corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}, &policyv1.PodDisruptionBudgetList{},
	} {
		testenv.Eventually(t, fmt.Sprintf("no %T is left", list), func(ctx context.Context) (bool, string, error) {
			if err := suite.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return false, "", err
			}
			var left []string
			err := meta.EachListItem(list, func(object apiruntime.Object) error {
				if name := object.(client.Object).GetName(); name != "client" {
					left = append(left, name)
				}
				return nil
			})
			return len(left) == 0, strings.Join(left, " "), err
		})
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}
