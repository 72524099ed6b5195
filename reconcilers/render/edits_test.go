// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// withConfigAndPolicy adds two ConfigMaps that the Deployment refers to in several ways, and a
// NetworkPolicy, to the base.
func withConfigAndPolicy(tb testing.TB) edits {
	tb.Helper()
	kustomization := replaced(tb, baseFile, "- service.yaml\n", "- service.yaml\n- settings.yaml\n- scripts.yaml\n- networkpolicy.yaml\n")
	kustomization = strings.Replace(kustomization, "    - spec.replicas\n", `    - spec.replicas
- source: {kind: Memcached, fieldPath: metadata.name}
  targets:
  - select: {kind: NetworkPolicy, name: memcached}
    fieldPaths: [spec.podSelector.matchLabels.memcached_cr]
`, 1)
	deployment := strings.Replace(replaced(tb, deploymentFile, "        env:\n", `        envFrom:
        - configMapRef: {name: settings}
        - secretRef: {name: settings}
        env:
`), "      containers:\n", `      volumes:
      - name: settings
        configMap: {name: settings}
      - name: scripts
        projected:
          sources:
          - configMap: {name: scripts}
          - configMap: {name: elsewhere, optional: true}
      containers:
`, 1)
	return edits{
		baseFile:             kustomization,
		deploymentFile:       deployment,
		"base/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {VERBOSE: \"1\"}\n",
		"base/scripts.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scripts}\ndata: {warm.sh: \"true\"}\n",
		"base/networkpolicy.yaml": `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: memcached}
spec:
  podSelector: {matchLabels: {app: memcached, memcached_cr: memcached}}
  ingress: [{ports: [{port: memcached, protocol: TCP}]}]
`,
	}
}

func named(name string) *cachev1alpha1.Memcached {
	mc := plain()
	mc.Name = name
	return mc
}

func TestRender_IncludesFilesAddedToTheBase(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withConfigAndPolicy(t)), Defaults{})
	objects := mustRender(t, r, named("web"))
	for _, kind := range []string{"ConfigMap", "NetworkPolicy"} {
		if !slices.ContainsFunc(r.Kinds(), func(k schema.GroupVersionKind) bool { return k.Kind == kind }) {
			t.Errorf("Kinds does not contain %s: it would not be watched", kind)
		}
	}
	settings := find(t, objects, "ConfigMap", "web-settings")
	if settings.GetNamespace() != "default" || settings.GetLabels()[ManagedByLabel] != ManagedBy {
		t.Errorf("the ConfigMap is %v", settings.Object["metadata"])
	}
	find(t, objects, "ConfigMap", "web-scripts")
	policy := find(t, objects, "NetworkPolicy", "web")
	selector, _, _ := unstructured.NestedStringMap(policy.Object, "spec", "podSelector", "matchLabels")
	if selector["memcached_cr"] != "web" {
		t.Errorf("the NetworkPolicy selects %v", selector)
	}
	pod, _, _ := unstructured.NestedMap(find(t, objects, "Deployment", "web").Object, "spec", "template", "spec")
	for name, reference := range map[string]struct {
		path []any
		want string
	}{
		"renames envFrom of the ConfigMap":                 {[]any{"containers", 0, "envFrom", 0, "configMapRef", "name"}, "web-settings"},
		"keeps a Secret of the same name":                  {[]any{"containers", 0, "envFrom", 1, "secretRef", "name"}, "settings"},
		"renames the ConfigMap of a volume":                {[]any{"volumes", 0, "configMap", "name"}, "web-settings"},
		"keeps the name of a volume":                       {[]any{"volumes", 0, "name"}, "settings"},
		"renames the ConfigMap of a projected volume":      {[]any{"volumes", 1, "projected", "sources", 0, "configMap", "name"}, "web-scripts"},
		"keeps a name that is not among the templates":     {[]any{"volumes", 1, "projected", "sources", 1, "configMap", "name"}, "elsewhere"},
		"keeps the name of a container, also a template's": {[]any{"containers", 0, "name"}, "memcached"},
		"keeps the port of a probe, also a template's":     {[]any{"containers", 0, "readinessProbe", "tcpSocket", "port"}, "memcached"},
	} {
		if got := template.Lookup(pod, reference.path); got != reference.want {
			t.Errorf("%s: got %v, want %s", name, got, reference.want)
		}
	}
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func TestNames_DoNotDependOnComponents(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, edits{
		"components/podMetadata.annotations/kustomization.yaml": component + "resources: [configmap.yaml]\n",
		"components/podMetadata.annotations/configmap.yaml":     configMap("early"),
		siteFile:                         component + "resources: [configmap.yaml]\n",
		"components/site/configmap.yaml": configMap("late"),
	}), Defaults{AllowPrivilegedFields: true})
	off, on := named("web"), named("web")
	on.Spec.PodMetadata = &cachev1alpha1.PodMetadata{Annotations: map[string]cachev1alpha1.AnnotationValue{"a": "b"}}
	find(t, mustRender(t, r, off), "ConfigMap", "web-late")
	find(t, mustRender(t, r, on), "ConfigMap", "web-late")
	find(t, mustRender(t, r, on), "ConfigMap", "web-early")
}

func TestNames_DoNotCollide(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	r := mustNew(t, edited(t, withConfigAndPolicy(t)), Defaults{})
	seen := map[string]string{}
	for _, name := range []string{"web", "shop", "memcached", "settings", "scripts", "true"} {
		for _, object := range mustRender(t, r, named(name)) {
			id := object.GetKind() + " " + object.GetName()
			if other, found := seen[id]; found {
				t.Errorf("%s belongs to both %s and %s", id, other, name)
			}
			seen[id] = name
		}
	}
}

func TestNames_FollowTheMemcached(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	generator := func(options string) string {
		return "configMapGenerator:\n- name: settings\n  literals: [A=b]\n" + options
	}
	for name, test := range map[string]struct {
		edits edits
		cr    string
		want  []string
	}{
		"names templates after the Memcached, in any order": {
			listed(t, "a.yaml", edits{"base/a.yaml": configMap("b") + "---\n" + configMap("a")}),
			"web", []string{"web-a", "web-b"},
		},
		"gives a template called memcached the Memcached's name": {
			listed(t, "a.yaml", edits{"base/a.yaml": configMap("a") + "---\n" + configMap("memcached")}),
			"web", []string{"web-a", "web"},
		},
		"accepts a Memcached with the name of a template": {
			listed(t, "a.yaml", edits{"base/a.yaml": configMap("a") + "---\n" + configMap("b")}),
			"b", []string{"b-a", "b-b"},
		},
		"keeps a generated ConfigMap without a hash": {
			inSite(generator("generatorOptions: {disableNameSuffixHash: true}\n")),
			"web", []string{"web-settings"},
		},
		"keeps the hash of a generated ConfigMap": {
			inSite(generator("")),
			"web", []string{"web-settings-b9t2424hkf"},
		},
		"keeps the hash of a generated ConfigMap beside another": {
			listed(t, "a.yaml", edits{"base/a.yaml": configMap("memcached"), siteFile: component + generator("")}),
			"web", []string{"web", "web-settings-b9t2424hkf"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mustNew(t, edited(t, test.edits), Defaults{})
			var got []string
			objects := mustRender(t, r, named(test.cr))
			for _, object := range objects {
				if object.GetKind() == "ConfigMap" {
					got = append(got, object.GetName())
				}
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			built, _ := mustFullBuild(t, r, named(test.cr))
			mustBeSame(t, "against a full build", objects, built)
		})
	}
}

// A replacement into a hashed ConfigMap would need another name for each Memcached.
func TestNew_RejectsAReplacementIntoAHashedConfigMap(t *testing.T) {
	buildsTemplates(t)
	t.Parallel()
	e := inSite(`configMapGenerator: [{name: settings, literals: [SIZE=0]}]
replacements:
- source: {kind: Memcached, fieldPath: spec.size}
  targets: [{select: {kind: ConfigMap, name: settings}, fieldPaths: [data.SIZE]}]
`)
	_, err := New(edited(t, e), Defaults{})
	if err == nil || !strings.Contains(err.Error(), "disableNameSuffixHash") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	e[siteFile] += "generatorOptions: {disableNameSuffixHash: true}\n"
	objects := mustRender(t, mustNew(t, edited(t, e), Defaults{}), plain())
	if got := template.Lookup(find(t, objects, "ConfigMap", "sample-settings").Object, []any{"data", "SIZE"}); got != "3" {
		t.Errorf("the size in the ConfigMap is %v", got)
	}
}
