// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

const crdName = testenv.DefinitionName

// release is a release in a cluster.
type release struct {
	helm
	cluster         *testenv.Env
	name, namespace string
}

// arguments puts a command and its flags around name, chart and namespace.
func (r release) arguments(command string, flags ...string) []string {
	return r.with(chartDir, command, flags...)
}

func (r release) with(chart, command string, flags ...string) []string {
	arguments := []string{command, r.name}
	if command == "install" || command == "upgrade" {
		arguments = append(arguments, chart, "--wait", "--timeout=2m")
	}
	return append(append(arguments, "--namespace", r.namespace), flags...)
}

func (r release) do(t *testing.T, command string, flags ...string) {
	t.Helper()
	r.run(t, r.arguments(command, flags...)...)
}

func (r release) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	deployments := &appsv1.DeploymentList{}
	testenv.NoError(t, r.cluster.Client.List(t.Context(), deployments, client.InNamespace(r.namespace), client.MatchingLabels{"app.kubernetes.io/instance": r.name}))
	if len(deployments.Items) != 1 {
		t.Fatalf("the release has %d Deployments", len(deployments.Items))
	}
	return &deployments.Items[0]
}

// wantArgs fails unless all of want are among the operator's flags.
func (r release) wantArgs(t *testing.T, want ...string) {
	t.Helper()
	if args := r.deployment(t).Spec.Template.Spec.Containers[0].Args; !contains(args, want...) {
		t.Errorf("the flags are %q, without all of %q", args, want)
	}
}

// scale sets the number of pods as kubectl scale does.
func (r release) scale(t *testing.T, replicas int32) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(r.cluster.Config)
	testenv.NoError(t, err)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: r.deployment(t).Name, Namespace: r.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	_, err = clients.AppsV1().Deployments(r.namespace).UpdateScale(t.Context(), scale.Name, scale, metav1.UpdateOptions{FieldManager: "kubectl"})
	testenv.NoError(t, err)
}

// leftovers are what the cluster holds of the release, whatever its kind.
func (r release) leftovers(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		testenv.NoError(t, r.cluster.Client.List(t.Context(), list, client.MatchingLabels{"app.kubernetes.io/instance": r.name, "app.kubernetes.io/managed-by": "Helm"}))
		for _, item := range list.Items {
			found = append(found, item.GetKind()+" "+item.GetName())
		}
	}
	return found
}

func (r release) crd(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	crd := testenv.Definition()
	r.cluster.Get(t, crd)
	return crd
}

// withoutCRD deletes the CRD of the test's cluster and waits until it is gone: the API server keeps it until it has looked
// for objects of it, and until then Helm refuses to install another.
func (r release) withoutCRD(t *testing.T) {
	t.Helper()
	crd := r.crd(t)
	r.cluster.Delete(t, crd)
	r.cluster.EventuallyGone(t, crd)
}

// TestRelease_ForAllNamespaces takes a release from the first install to the last uninstall. Helm 4 takes it over from Helm 3.
func TestRelease_ForAllNamespaces(t *testing.T) {
	t.Parallel()
	cluster := testenv.New(t, testenv.Setup{})
	r := release{helm{program: tool("helm3"), home: t.TempDir(), kubeconfig: cluster.Kubeconfig}, cluster, releaseName, releaseNamespace}

	r.withoutCRD(t)
	r.do(t, "install", "--create-namespace")
	r.wantArgs(t, "--leader-elect", "--zap-log-level=info")
	mc := cluster.NewMemcached(t, "default", "kept", 0)

	refusesASecondOne(t, r)
	upgrades(t, r)
	leavesReplicasToOthers(t, r)
	r.program = tool("helm4")
	refusesASecondOne(t, r)
	leavesReplicasToOthers(t, r)
	r.run(t, r.with(laterChart(t), "upgrade")...)
	wantLaterChart(t, r)

	r.do(t, "rollback", "1", "--wait")
	r.wantArgs(t, "--zap-log-level=info")
	if replicas := *r.deployment(t).Spec.Replicas; replicas != 1 {
		t.Errorf("after the rollback there are %d pods", replicas)
	}

	if left := r.leftovers(t); slices.ContainsFunc(left, func(object string) bool { return strings.HasPrefix(object, "ConfigMap") }) {
		t.Errorf("the ConfigMap of templates that are no more is still there: %q", left)
	}
	r.do(t, "upgrade", "--server-side=true", "--force-conflicts", "--set", "crds.enabled=false")
	r.crd(t) // is still there
	r.do(t, "upgrade")
	r.do(t, "uninstall", "--wait")
	if left := r.leftovers(t); !slices.Equal(left, []string{"CustomResourceDefinition " + crdName}) {
		t.Errorf("uninstalling leaves %q", left)
	}
	wantSame(t, cluster, mc)

	r.do(t, "install")
	wantSame(t, cluster, mc)
	r.do(t, "upgrade", "--set", "crds.keep=false")
	r.program = tool("helm3")
	r.do(t, "uninstall", "--wait")
	testenv.Eventually(t, "everything should be gone", func(context.Context) (bool, error) { return len(r.leftovers(t)) == 0, nil })
}

// wantSame fails unless mc is the object that it was.
func wantSame(t *testing.T, cluster *testenv.Env, mc *cachev1alpha1.Memcached) {
	t.Helper()
	now := testenv.Memcached(mc.Namespace, mc.Name, 0)
	cluster.Get(t, now)
	if now.UID != mc.UID || now.DeletionTimestamp != nil {
		t.Error("the Memcached is not the one that it was")
	}
}

func refusesASecondOne(t *testing.T, r release) {
	t.Helper()
	second := r
	second.name, second.namespace = "second", "elsewhere"
	want := []string{`release "memcached-operator" in the namespace "memcached-operator-system"`, "all namespaces", "watchNamespaces"}
	r.refuses(t, want, second.arguments("install", "--create-namespace")...)
	r.refuses(t, want, second.arguments("install", "--create-namespace", "--set", "crds.enabled=false")...)
	r.refuses(t, want, second.arguments("upgrade", "--install", "--create-namespace")...)
	second.name = r.name
	r.refuses(t, want, second.arguments("install", "--create-namespace")...)
	if left := second.leftovers(t); len(left) != len(r.leftovers(t)) {
		t.Errorf("a refused install leaves %q", left)
	}
}

// upgrades changes values; the same values again roll nothing.
func upgrades(t *testing.T, r release) {
	t.Helper()
	values := filepath.Join(write(t, map[string]string{"values.yaml": `
replicaCount: 2
logLevel: debug
podDisruptionBudget: {enabled: true}
networkPolicy: {enabled: true}
podAnnotations: {example.com/a: b}
manifests:
  components/site/kustomization.yaml: |
    apiVersion: kustomize.config.k8s.io/v1alpha1
    kind: Component
`}), "values.yaml")
	r.do(t, "upgrade", "--values", values)
	r.wantArgs(t, "--zap-log-level=debug", "--manifests-dir=/etc/memcached-operator/manifests")
	before := r.deployment(t)
	if *before.Spec.Replicas != 2 || before.Status.ReadyReplicas != 2 {
		t.Errorf("of %d pods %d are ready, want 2", *before.Spec.Replicas, before.Status.ReadyReplicas)
	}
	r.do(t, "upgrade", "--values", values)
	if after := r.deployment(t); after.Generation != before.Generation {
		t.Error("the same values again change the Deployment")
	}
	r.do(t, "upgrade", "--reset-then-reuse-values", "--set-file", `manifests.components/site/kustomization\.yaml=`+filepath.Join(root, "manifests/components/site/kustomization.yaml"))
	files := before.Spec.Template.Spec.Volumes[0].ConfigMap.Name
	if r.deployment(t).Spec.Template.Spec.Volumes[0].ConfigMap.Name == files {
		t.Error("a changed template does not roll the operator")
	}
	if left := r.leftovers(t); !slices.Contains(left, "ConfigMap "+files) {
		t.Errorf("%s, which the pods of before read, is not among %q", files, left)
	}
}

func leavesReplicasToOthers(t *testing.T, r release) {
	t.Helper()
	r.do(t, "upgrade", "--set", "replicaCount=null")
	r.scale(t, 3)
	r.do(t, "upgrade", "--set", "replicaCount=null", "--set", "logLevel=debug")
	if replicas := *r.deployment(t).Spec.Replicas; replicas != 3 {
		t.Errorf("Helm sets the pods to %d, which it was told to leave alone", replicas)
	}
}

// laterChart is a later version of the chart, with a later CRD.
func laterChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	testenv.NoError(t, os.CopyFS(dir, os.DirFS(chartDir)))
	edit := func(file, old, replacement string) {
		file = filepath.Join(dir, file)
		content := text(t, file)
		if !strings.Contains(content, old) {
			t.Fatalf("%s holds no %q", file, old)
		}
		testenv.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(content, old, replacement)), 0o644))
	}
	edit("Chart.yaml", "\nappVersion: ", "\nappVersion: 9")
	edit("files/crds/cache.example.com_memcacheds.yaml", "description: Ready and desired pods", "description: a later text")
	return dir
}

func wantLaterChart(t *testing.T, r release) {
	t.Helper()
	if image := r.deployment(t).Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, "memcached-operator:9") {
		t.Errorf("the image is %s", image)
	}
	versions, _, err := unstructured.NestedSlice(r.crd(t).Object, "spec", "versions")
	testenv.NoError(t, err)
	columns, _, err := unstructured.NestedSlice(versions[0].(map[string]any), "additionalPrinterColumns")
	testenv.NoError(t, err)
	if description := columns[0].(map[string]any)["description"]; description != "a later text" {
		t.Errorf("the CRD is not upgraded: %s", description)
	}
}

// TestRelease_AdoptsTheCRD: a release adopts the CRD of `make install`, as the chart's README says.
func TestRelease_AdoptsTheCRD(t *testing.T) {
	forEachHelm(t, func(t *testing.T, h helm) {
		cluster := testenv.New(t, testenv.Setup{})
		r := release{h.as(cluster.Kubeconfig), cluster, releaseName, releaseNamespace}
		r.refuses(t, []string{crdName, "ownership"}, r.arguments("install", "--create-namespace")...)
		r.do(t, "install", "--create-namespace", "--take-ownership", "--set", "crds.takeOwnership=true")
		later := laterChart(t)
		if filepath.Base(h.program) == "helm4" {
			r.refuses(t, []string{crdName, "conflict"}, r.with(later, "upgrade")...)
			r.run(t, r.with(later, "upgrade", "--force-conflicts")...)
			wantLaterChart(t, r)
			r.do(t, "upgrade")
		}
		r.run(t, r.with(later, "upgrade")...)
		wantLaterChart(t, r)
	})
}
