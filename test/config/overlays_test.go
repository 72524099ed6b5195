// SPDX-License-Identifier: Apache-2.0

// Package config tests what config/ builds, as kustomize sees it.
package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// overlay is what one directory of config/ builds: objects of the built-in kinds,
// decoded strictly, and the others as they are.
type overlay struct {
	typed []client.Object
	other []*unstructured.Unstructured
}

func build(t *testing.T, directory string) overlay {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(controlplane.Root(), "config", directory))
	testenv.NoError(t, err)
	documents, err := built.AsYaml()
	testenv.NoError(t, err)
	return decode(t, string(documents))
}

// decode decodes documents of YAML.
func decode(t *testing.T, documents string) overlay {
	t.Helper()
	scheme := runtime.NewScheme()
	testenv.NoError(t, clientgoscheme.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var result overlay
	for document := range strings.SplitSeq(documents, "\n---\n") {
		content := []byte(document)
		object, _, err := decoder.Decode(content, nil, nil)
		switch {
		case err == nil:
			result.typed = append(result.typed, object.(client.Object))
		case runtime.IsNotRegisteredError(err):
			unknown := &unstructured.Unstructured{}
			testenv.NoError(t, yaml.Unmarshal(content, &unknown.Object))
			result.other = append(result.other, unknown)
		default:
			t.Errorf("%v in\n%s", err, content)
		}
	}
	return result
}

// all returns the overlay's objects of type T.
func all[T client.Object](o overlay) []T {
	var found []T
	for _, object := range o.typed {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// rules are the rules of named roles, as they grant: a set of group, resource, verb.
func rules(lists ...[]rbacv1.PolicyRule) []string {
	var flat []string
	for _, list := range lists {
		for _, rule := range list {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						flat = append(flat, group+"/"+resource+" "+verb)
					}
				}
			}
		}
	}
	slices.Sort(flat)
	return flat
}

func TestNamespaced_HasRolesOnly(t *testing.T) {
	t.Parallel()
	whole, namespaced := build(t, "default"), build(t, "namespaced")
	for _, role := range all[*rbacv1.ClusterRole](namespaced) {
		t.Errorf("there is a ClusterRole %s", role.Name)
	}
	for _, binding := range all[*rbacv1.ClusterRoleBinding](namespaced) {
		t.Errorf("there is a ClusterRoleBinding %s", binding.Name)
	}
	var want, got [][]rbacv1.PolicyRule
	for _, role := range all[*rbacv1.ClusterRole](whole) {
		if role.Name == "memcached-operator-manager-role" || role.Name == "memcached-operator-manager-templates-role" {
			want = append(want, role.Rules)
		}
	}
	for _, role := range all[*rbacv1.Role](namespaced) {
		if role.Namespace == "default" {
			got = append(got, role.Rules)
		}
	}
	if len(want) != 2 || !slices.Equal(rules(got...), rules(want...)) {
		t.Errorf("the Roles in a watched namespace grant\n%q, and the ClusterRoles\n%q", rules(got...), rules(want...))
	}
	account := all[*corev1.ServiceAccount](namespaced)[0]
	for _, binding := range all[*rbacv1.RoleBinding](namespaced) {
		subject := binding.Subjects[0]
		if binding.RoleRef.Kind != "Role" || subject.Name != account.Name || subject.Namespace != account.Namespace {
			t.Errorf("the RoleBinding %s/%s binds %+v to %+v", binding.Namespace, binding.Name, binding.RoleRef, subject)
		}
	}
}

// selected tells whether selector selects the operator's pods.
func selected(selector, pod map[string]string) bool {
	for key, value := range selector {
		if pod[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

func TestOverlays_SelectTheManager(t *testing.T) {
	t.Parallel()
	whole := build(t, "default")
	manager, service := all[*appsv1.Deployment](whole)[0], all[*corev1.Service](whole)[0]
	pod := manager.Spec.Template
	ports := map[string]bool{}
	for _, port := range pod.Spec.Containers[0].Ports {
		ports[port.Name] = true
	}
	if !selected(service.Spec.Selector, pod.Labels) || !ports[service.Spec.Ports[0].TargetPort.String()] {
		t.Errorf("the metrics Service's selector %v or port %v misses the manager", service.Spec.Selector, service.Spec.Ports)
	}

	policy := all[*networkingv1.NetworkPolicy](build(t, "network-policy"))[0]
	if policy.Namespace != manager.Namespace || !selected(policy.Spec.PodSelector.MatchLabels, pod.Labels) {
		t.Errorf("the NetworkPolicy %s selects %v", policy.Namespace, policy.Spec.PodSelector)
	}
	if port := policy.Spec.Ingress[0].Ports[0].Port.String(); !ports[port] {
		t.Errorf("the NetworkPolicy lets port %q through, the manager's are %v", port, ports)
	}

	monitor := build(t, "prometheus").other[0]
	labels, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if monitor.GetNamespace() != service.Namespace || !selected(labels, service.Labels) {
		t.Errorf("the ServiceMonitor in %s selects %v", monitor.GetNamespace(), labels)
	}
	if port := endpoints[0].(map[string]any)["port"]; port != service.Spec.Ports[0].Name {
		t.Errorf("the ServiceMonitor scrapes port %v, the Service's is %q", port, service.Spec.Ports[0].Name)
	}
}

// TestLeaderElectionRole_NamesTheLease: the operator may touch one lease, the one that it takes by default.
func TestLeaderElectionRole_NamesTheLease(t *testing.T) {
	t.Parallel()
	const lease = "memcached-operator.cache.example.com"
	for _, directory := range []string{"default", "namespaced", "manifests"} {
		var named []string
		for _, role := range all[*rbacv1.Role](build(t, directory)) {
			for _, rule := range role.Rules {
				switch {
				case !slices.Contains(rule.Resources, "leases"):
				case slices.Equal(rule.ResourceNames, []string{lease}):
					named = append(named, rule.Verbs...)
				case !slices.Equal(rule.Verbs, []string{"create"}):
					t.Errorf("config/%s: the Role %s grants %q on leases called %q, want only create on any", directory, role.Name, rule.Verbs, rule.ResourceNames)
				}
			}
		}
		if !slices.Equal(named, []string{"get", "update"}) {
			t.Errorf("config/%s: the verbs on the lease %s are %q, want get and update", directory, lease, named)
		}
	}
}

// TestPrivilegedFields_ComeWithThePolicy: privileged fields are enabled only together with the policy, and both only in
// cluster-wide installs.
func TestPrivilegedFields_ComeWithThePolicy(t *testing.T) {
	t.Parallel()
	for directory, want := range map[string]struct{ policy, flag bool }{
		"default":    {policy: true, flag: true},
		"admission":  {policy: true},
		"namespaced": {},
		"manifests":  {},
	} {
		o := build(t, directory)
		policies, bindings := all[*admissionregistrationv1.ValidatingAdmissionPolicy](o), all[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](o)
		if has := len(policies) > 0 && len(bindings) > 0 && bindings[0].Spec.PolicyName == policies[0].Name; has != want.policy || len(policies) != len(bindings) {
			t.Errorf("config/%s has %d policies and %d bindings of them, want one each: %v", directory, len(policies), len(bindings), want.policy)
		}
		for _, policy := range policies {
			if policy.Name != "memcached-operator-privileged-fields" {
				t.Errorf("config/%s calls it %s: applied twice, it would be two policies", directory, policy.Name)
			}
		}
		flag := slices.ContainsFunc(all[*appsv1.Deployment](o), func(d *appsv1.Deployment) bool {
			return slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--allow-privileged-fields")
		})
		if flag != want.flag {
			t.Errorf("config/%s sets --allow-privileged-fields: %v, want %v", directory, flag, want.flag)
		}
	}
}
