// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

// certificates is a definition in place of cert-manager's.
const certificates = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Certificate, plural: certificates, singular: certificate, listKind: CertificateList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// block returns the first shell block of manifests/README.md with text.
func block(t *testing.T, text string) pages.Block {
	t.Helper()
	blocks := pages.Shell(t, "manifests/README.md")
	index := slices.IndexFunc(blocks, func(b pages.Block) bool { return strings.Contains(b.Content, text) })
	if index < 0 {
		t.Fatalf("manifests/README.md has no shell block with %q", text)
	}
	return blocks[index]
}

// recipe is an edit, and what it changes of a Memcached called cache.
type recipe struct {
	// text is in the shell block of the edit.
	text string
	// objects are the kinds and names of the objects that it adds.
	objects map[schema.GroupVersionKind]string
	// values are parts of these objects, or of the Deployment and the Service, as JSON.
	values []string
}

var recipes = map[string]recipe{
	"a mounted ConfigMap": {"configMapGenerator", map[schema.GroupVersionKind]string{{Version: "v1", Kind: "ConfigMap"}: "cache-hints-"},
		[]string{`"hint":"ask the platform team"`, `"mountPath":"/etc/hints"`, `"configMap":{"defaultMode":420,"name":"cache-hints-`}},
	"a sidecar": {"name: statistics", nil, []string{`"env":[{"name":"PORT","value":"11211"}],"image":"busybox:1.35"`}},
	"a NetworkPolicy": {"kind: NetworkPolicy", map[schema.GroupVersionKind]string{{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}: "cache-same-namespace"},
		[]string{`"podSelector":{"matchLabels":{"app":"memcached","memcached_cr":"cache"}}`}},
	"a CronJob": {"kind: CronJob", map[schema.GroupVersionKind]string{{Group: "batch", Version: "v1", Kind: "CronJob"}: "cache-report"},
		[]string{`"env":[{"name":"HOST","value":"cache"},{"name":"PORT","value":"11211"}]`, `"schedule":"0 6 * * *"`}},
	"a Role and a RoleBinding": {"kind: RoleBinding", map[schema.GroupVersionKind]string{
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}: "cache-observers", {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}: "cache-observers",
	}, []string{`"kind":"Role","name":"cache-observers"`, `"resources":["pods"]`}},
	"an object of a custom resource": {"kind: Certificate", map[schema.GroupVersionKind]string{{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}: "cache"},
		[]string{`"secretName":"cache.tls"`, `"dnsNames":["cache.NAMESPACE.svc"]`}},
	"a second port": {"name: second", nil, []string{`"--listen=*:11299"`, `{"containerPort":11299,"name":"second","protocol":"TCP"}`, `"name":"second","protocol":"TCP","port":11299`}},
	"a parameter":   {"parameters.zone", nil, []string{`"nodeSelector":{"zone":"us-2b"}`}},
}

// TestRecipes_AreAppliedAndUndone does each edit of manifests/README.md by the page's own commands, in an operator with the
// installed roles and those that the page adds, and takes it back.
func TestRecipes_AreAppliedAndUndone(t *testing.T) {
	t.Parallel()
	cluster, kubeconfig := newCluster(t)
	testenv.NoError(t, cluster.ApplyYAML(t.Context(), certificates))
	session := pages.NewSession(t, t.TempDir(), cluster.Kubeconfig)
	testenv.Eventually(t, "the definition is served", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateList"})
		return cluster.Client.List(t.Context(), list) == nil
	})
	session.Run(t, block(t, "kubectl create clusterrole memcached-operator-extra"))
	for sentence, r := range recipes {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			testenv.NoError(t, os.Mkdir(filepath.Join(directory, "bin"), 0o755))
			testenv.NoError(t, os.Symlink(suite.Binary, filepath.Join(directory, "bin", "memcached-operator")))
			session := pages.NewSession(t, directory, kubeconfig)
			session.Run(t, block(t, "mkdir -p site/components/site\n"))
			session.Run(t, block(t, r.text))
			checking, _, _ := strings.Cut(block(t, "memcached-operator check").Content, "\n")
			session.Run(t, pages.Block{Page: "manifests/README.md", Content: checking})

			namespace := cluster.NewNamespace(t)
			runOperator(t, suite.Binary, kubeconfig, "--manifests-dir="+filepath.Join(directory, "site"), "--watch-namespaces="+namespace)
			mc := testenv.Memcached(namespace, "cache", 1)
			if sentence == "a parameter" {
				mc.Spec.Parameters = cachev1alpha1.Parameters{"zone": "us-2b"}
				mc.Spec.Size = new(int32(0)) // no node is in the zone
			}
			cluster.Create(t, mc)
			cluster.EventuallyReady(t, mc)
			wantApplied(t, cluster, mc, r)

			mc.Spec.Parameters = nil
			cluster.Patch(t, mc, `{"spec": {"parameters": null}}`)
			undo(t, filepath.Join(directory, "site"))
			wantUndone(t, cluster, mc, r)
		})
	}
}

// undo removes the templates in site.
func undo(t *testing.T, site string) {
	t.Helper()
	testenv.WriteFile(t, filepath.Join(site, "components", "site", "kustomization.yaml"), "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: []\n")
	for _, path := range []string{"base", filepath.Join("components", "parameters.zone")} {
		testenv.NoError(t, os.RemoveAll(filepath.Join(site, path)))
	}
}

// added returns the objects of mc that r adds.
func added(t *testing.T, cluster *testenv.Env, mc *cachev1alpha1.Memcached, r recipe) []unstructured.Unstructured {
	t.Helper()
	var found []unstructured.Unstructured
	for kind, name := range r.objects {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		testenv.NoError(t, cluster.Client.List(t.Context(), list, client.InNamespace(mc.Namespace)))
		for _, object := range list.Items {
			if strings.HasPrefix(object.GetName(), name) && metav1.IsControlledBy(&object, mc) {
				found = append(found, object)
			}
		}
	}
	return found
}

// wantApplied fails unless the objects and values of r are there.
func wantApplied(t *testing.T, cluster *testenv.Env, mc *cachev1alpha1.Memcached, r recipe) {
	t.Helper()
	objects := added(t, cluster, mc, r)
	if len(objects) != len(r.objects) {
		t.Errorf("the Memcached has %d of the %d objects", len(objects), len(r.objects))
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
	cluster.Get(t, service)
	var text bytes.Buffer
	testenv.NoError(t, json.NewEncoder(&text).Encode([]any{objects, podTemplate(t, cluster, mc), service.Spec.Ports}))
	for _, want := range r.values {
		if want = strings.ReplaceAll(want, "NAMESPACE", mc.Namespace); !strings.Contains(text.String(), want) {
			t.Errorf("%s is not in\n%s", want, &text)
		}
	}
}

// wantUndone waits until the Memcached is what a new one is.
func wantUndone(t *testing.T, cluster *testenv.Env, mc *cachev1alpha1.Memcached, r recipe) {
	t.Helper()
	testenv.Eventually(t, "the objects should be pruned", func() bool { return len(added(t, cluster, mc, r)) == 0 })
	fresh := testenv.Memcached(mc.Namespace, "fresh", *mc.Spec.Size)
	cluster.Create(t, fresh)
	cluster.EventuallyReady(t, fresh)
	want := strings.ReplaceAll(string(podTemplate(t, cluster, fresh)), `"fresh"`, `"cache"`)
	testenv.Eventually(t, "the pods should be those of a new Memcached", func() bool { return string(podTemplate(t, cluster, mc)) == want })
	cluster.EventuallyReady(t, mc)
}

// podTemplate returns the pod template of mc as JSON.
func podTemplate(t *testing.T, cluster *testenv.Env, mc *cachev1alpha1.Memcached) json.RawMessage {
	t.Helper()
	deployment := &unstructured.Unstructured{}
	deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	deployment.SetNamespace(mc.Namespace)
	deployment.SetName(mc.Name)
	cluster.Get(t, deployment)
	template, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, "spec", "template")
	text, err := json.Marshal(template)
	testenv.NoError(t, err)
	return text
}
