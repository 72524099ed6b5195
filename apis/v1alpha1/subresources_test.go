// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// kubectl runs kubectl as the administrator and returns what it prints.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	output, err := tryKubectl(t, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

func tryKubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(controlplane.Root(), "bin", "kube", "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+suite.Kubeconfig, "KUBECACHEDIR="+t.TempDir())
	output, err := command.CombinedOutput()
	return string(output), err
}

func TestScale_ChangesTheSize(t *testing.T) {
	t.Parallel()
	mc := suite.NewMemcached(t, suite.NewNamespace(t), "scaled", 3)
	mc.Status.Replicas = new(int32(2))
	mc.Status.Selector = "app=memcached,memcached_cr=scaled"
	testenv.NoError(t, suite.Client.Status().Update(t.Context(), mc))

	scale := &autoscalingv1.Scale{}
	testenv.NoError(t, suite.Client.SubResource("scale").Get(t.Context(), mc, scale))
	if got, want := scale.Status, (autoscalingv1.ScaleStatus{Replicas: 2, Selector: mc.Status.Selector}); scale.Spec.Replicas != 3 || got != want {
		t.Errorf("the scale is %+v, want 3 replicas and %+v", scale, want)
	}

	scale.Spec.Replicas = 5
	testenv.NoError(t, suite.Client.SubResource("scale").Update(t.Context(), mc, client.WithSubResourceBody(scale)))
	suite.Get(t, mc)
	if *mc.Spec.Size != 5 {
		t.Errorf("size is %d after the update of the scale, want 5", *mc.Spec.Size)
	}
	kubectl(t, "scale", "--namespace="+mc.Namespace, "memcached/scaled", "--replicas=0")
	suite.Get(t, mc)
	if *mc.Spec.Size != 0 {
		t.Errorf("size is %d after kubectl scale, want 0", *mc.Spec.Size)
	}
}

func TestMemcached_DoesNotWriteTheStatus(t *testing.T) {
	t.Parallel()
	mc := suite.NewMemcached(t, suite.NewNamespace(t), "a", 1)
	suite.Patch(t, mc, `{"spec":{"size":2},"status":{"nodes":["x"]}}`)
	if *mc.Spec.Size != 2 || len(mc.Status.Nodes) > 0 {
		t.Errorf("size %d and nodes %v, want 2 and none", *mc.Spec.Size, mc.Status.Nodes)
	}
}

func TestStatus_DoesNotWriteTheSpec(t *testing.T) {
	t.Parallel()
	mc := suite.NewMemcached(t, suite.NewNamespace(t), "a", 1)
	generation := mc.Generation
	testenv.NoError(t, suite.Client.Status().Patch(t.Context(), mc, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":2},"status":{"nodes":["x"]}}`))))
	if *mc.Spec.Size != 1 || len(mc.Status.Nodes) != 1 || mc.Generation != generation {
		t.Errorf("size %d, nodes %v and generation %d, want 1, [x] and %d", *mc.Spec.Size, mc.Status.Nodes, mc.Generation, generation)
	}
}

func TestMemcached_PrintsColumns(t *testing.T) {
	t.Parallel()
	mc := suite.NewMemcached(t, suite.NewNamespace(t), "printed", 3)
	mc.Status.Image = "memcached:1.6.45"
	mc.Status.PodsReady = "1/3"
	mc.Status.Endpoint = "printed.default.svc:11211"
	mc.Status.Conditions = []metav1.Condition{
		{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "x", Message: "not this", LastTransitionTime: metav1.Now()},
		{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "RollingOut", Message: "1 of 3 pods are ready, 2 up to date", LastTransitionTime: metav1.Now()},
	}
	testenv.NoError(t, suite.Client.Status().Update(t.Context(), mc))
	for _, test := range []struct {
		args      []string
		head, row string
	}{
		{[]string{"memcached", "printed"},
			"NAME PODS READY REASON AGE",
			"printed 1/3 False RollingOut AGE"},
		{[]string{"memc", "printed", "--output=wide"},
			"NAME PODS READY REASON AGE IMAGE ENDPOINT MESSAGE",
			"printed 1/3 False RollingOut AGE memcached:1.6.45 printed.default.svc:11211 1 of 3 pods are ready, 2 up to date"},
	} {
		output := kubectl(t, append([]string{"get", "--namespace=" + mc.Namespace}, test.args...)...)
		lines := strings.Split(strings.TrimSpace(output), "\n")
		if len(lines) != 2 {
			t.Fatalf("kubectl get %v prints\n%s", test.args, output)
		}
		head, row := strings.Fields(lines[0]), strings.Fields(lines[1])
		// The age is however old it is by now.
		position := strings.Index(strings.Join(strings.Fields(test.row), " "), "AGE")
		row[len(strings.Fields(test.row[:position]))] = "AGE"
		if strings.Join(head, " ") != test.head || strings.Join(row, " ") != test.row {
			t.Errorf("kubectl get %v prints\n%s, want\n%s\n%s", test.args, output, test.head, test.row)
		}
	}
}

func TestKubectl_GetAllShowsMemcacheds(t *testing.T) {
	t.Parallel()
	mc := suite.NewMemcached(t, suite.NewNamespace(t), "among-all", 1)
	if output := kubectl(t, "get", "all", "--namespace="+mc.Namespace, "--output=name"); output != "memcached.cache.example.com/among-all\n" {
		t.Errorf("kubectl get all prints %q", output)
	}
}

func TestKubectl_ExplainListsTheFields(t *testing.T) {
	t.Parallel()
	var output string
	// It takes the API server a moment to publish the schema of a new kind.
	testenv.Eventually(t, "kubectl explain should know the fields", func(context.Context) (bool, error) {
		var err error
		output, err = tryKubectl(t, "explain", "memcached.spec", "--recursive")
		return err == nil && strings.Contains(output, "size"), nil
	})
	head, fields, _ := strings.Cut(output, "FIELDS:\n")
	if !strings.Contains(head, "spec is the desired state.") {
		t.Errorf("kubectl explain does not say what the spec is:\n%s", head)
	}
	var listed, known []string
	for line := range strings.Lines(fields) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), "\t"); ok && !strings.HasPrefix(name, " ") {
			listed = append(listed, name)
		}
	}
	spec, _ := schema(t)
	for name := range spec.Properties {
		known = append(known, name)
	}
	slices.Sort(known)
	if !slices.Equal(listed, known) {
		t.Errorf("kubectl explain lists\n%v, want\n%v", listed, known)
	}
	for _, want := range []string{`
  metrics	<Object>
    image	<string>
    port	<integer>
    resources	<Object>
      limits	<Object>
        cpu	<Object>
        ephemeral-storage	<Object>
        memory	<Object>
      requests	<Object>
        cpu	<Object>
        ephemeral-storage	<Object>
        memory	<Object>
    rules	<Object>
      connectionsPercent	<integer>
      labels	<map[string]string>
      memoryPercent	<integer>
    serviceMonitor	<Object>
      intervalSeconds	<integer>
      labels	<map[string]string>
`, `
  tls	<Object>
    clientAuth	<string>
    enum: None, Request, Require
    plaintextPort	<integer>
    secretName	<string> -required-
`} {
		if !strings.Contains(fields, want) {
			t.Errorf("kubectl explain memcached.spec --recursive prints\n%s, want in it %s", fields, want)
		}
	}
}

func TestKubectl_ExplainReadsWell(t *testing.T) {
	t.Parallel()
	spec, _ := schema(t)
	testenv.Eventually(t, "kubectl explain should know the fields", func(context.Context) (bool, error) {
		output, err := tryKubectl(t, "explain", "memcached.spec")
		return err == nil && strings.Contains(output, "size"), nil
	})
	output := kubectl(t, "explain", "memcached.spec")
	for name, p := range spec.Properties {
		first, _, _ := strings.Cut(p.Description, "\n")
		if !strings.Contains(output, "    "+first+"\n") {
			t.Errorf("kubectl explain memcached.spec does not print %s as it is written: %s", name, first)
		}
	}
}
