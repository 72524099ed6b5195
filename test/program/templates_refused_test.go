// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/preflight"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
	// limitRange and quota are of kinds that the shipped templates do not have.
	limitRange = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: settings}\nspec: {limits: [{type: Pod, max: {cpu: 1}}]}\n"
	quota      = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: settings}\nspec: {hard: {pods: 9}}\n"
	// roles are the ClusterRoles that `make deploy` gives the operator for its work.
	managerRole   = "memcached-operator-manager-role"
	templatesRole = "memcached-operator-manager-templates-role"
)

// site is a directory for --manifests-dir that adds files, by name, to what comes out.
func site(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	kustomization := "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n"
	for name, content := range files {
		testenv.WriteFile(t, filepath.Join(dir, "components", "site", name), content)
		kustomization += "- " + name + "\n"
	}
	testenv.WriteFile(t, filepath.Join(dir, "components", "site", "kustomization.yaml"), kustomization)
	return dir
}

func TestTemplates_AreRejected(t *testing.T) {
	t.Parallel()
	const file = "components/site/x.yaml"
	for sentence, test := range map[string]struct {
		template string
		want     []string
	}{
		"rejects a version that is not served": {
			"apiVersion: policy/v2\nkind: PodDisruptionBudget\nmetadata: {name: x}\n",
			[]string{"templates: ", file, "does not serve kind PodDisruptionBudget of policy/v2"},
		},
		"rejects a Secret": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n", []string{"templates: ", file, "Secret x", "does not manage Secrets"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			dir := site(t, map[string]string{"x.yaml": test.template})
			contains(t, refuse(t, "--kubeconfig="+testenv.Kubeconfig(t, suite.Operator, ""), "--manifests-dir="+dir), test.want...)
		})
	}
}

// identity is a service account of its own, in a namespace of its own.
func identity(t *testing.T) (cfg *rest.Config, subject rbacv1.Subject) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: suite.NewNamespace(t), Name: "operator"}}
	suite.Create(t, account)
	cfg, err := suite.ServiceAccountConfig(t.Context(), account.Namespace, account.Name)
	testenv.NoError(t, err)
	return cfg, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}
}

// bind grants a ClusterRole to subject, in namespace or, when that is empty, everywhere.
func bind(t *testing.T, subject rbacv1.Subject, namespace, role string) {
	t.Helper()
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: subject.Namespace + "-" + role}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	if namespace != "" {
		suite.Create(t, &rbacv1.RoleBinding{ObjectMeta: metadata, RoleRef: ref, Subjects: []rbacv1.Subject{subject}})
		return
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metadata, RoleRef: ref, Subjects: []rbacv1.Subject{subject}}
	suite.Create(t, binding)
	removeAfter(t, binding)
}

func removeAfter(t *testing.T, object client.Object) {
	t.Helper()
	t.Cleanup(func() {
		if err := suite.Client.Delete(context.WithoutCancel(t.Context()), object); err != nil {
			t.Error(err)
		}
	})
}

// rules are those that a refusal says to add.
func rules(t *testing.T, text string) []rbacv1.PolicyRule {
	t.Helper()
	_, list, found := strings.Cut(text, "\n")
	var rules []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(list), &rules); err != nil || !found || len(rules) == 0 {
		t.Fatalf("there are no rules (%v) in\n%s", err, text)
	}
	return rules
}

func TestPermissions_ReportedRulesSuffice(t *testing.T) {
	t.Parallel()
	cfg, subject := identity(t)
	bind(t, subject, "", managerRole)
	bind(t, subject, "", templatesRole)
	args := []string{
		"--kubeconfig=" + testenv.Kubeconfig(t, cfg, ""), "--watch-namespaces=" + subject.Namespace, "--manifests-dir=" + site(t, map[string]string{
			"quota.yaml": quota, "limits.yaml": limitRange,
		}),
	}
	text := refuseInLines(t, args...)
	contains(t, text, "permission is missing; add these rules to the operator's Role in namespace "+subject.Namespace)

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "more-for-" + subject.Namespace}, Rules: rules(t, text)}
	if len(role.Rules) != 2 || role.Rules[0].Resources[0] != "limitranges" || role.Rules[1].Resources[0] != "resourcequotas" {
		t.Errorf("the rules are not for the two kinds that were added: %v", role.Rules)
	}
	suite.Create(t, role)
	removeAfter(t, role)
	bind(t, subject, "", role.Name)
	p := start(t, append(args, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")...)
	p.Ready(t)
}

func TestPermissions_RolesInNamespacesSuffice(t *testing.T) {
	t.Parallel()
	cfg, subject := identity(t)
	for _, role := range []string{managerRole, templatesRole} {
		bind(t, subject, subject.Namespace, role)
	}
	file := testenv.Kubeconfig(t, cfg, "")

	text := refuseInLines(t, "--kubeconfig="+file)
	contains(t, text, "add these rules to the operator's ClusterRole (")
	if rules := rules(t, text); len(rules) != 10 {
		t.Errorf("not all of the operator's rules are named, but %d:\n%s", len(rules), text)
	}
	p := start(t, "--kubeconfig="+file, "--watch-namespaces="+subject.Namespace, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")
	p.Ready(t)
	settled(t, &suite, suite.NewMemcached(t, subject.Namespace, "cache", 0))
	if errors := p.Log.Errors(); len(errors) > 0 {
		t.Errorf("errors are logged: %q", errors)
	}
}

// A tenant takes the operator's rights in its namespace away, or the namespace is deleted. The others are served, also after a
// restart, and get templates with a kind that is not watched yet. The rights come back.
func TestPermissions_OfOneNamespaceAreItsOwnMatter(t *testing.T) {
	t.Parallel()
	cfg, subject := identity(t)
	other, gone := suite.NewNamespace(t), "gone-"+subject.Namespace
	settings := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "settings-of-" + subject.Namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"limitranges"}, Verbs: preflight.Verbs},
	}}
	suite.Create(t, settings)
	removeAfter(t, settings)
	roles := []string{managerRole, templatesRole, settings.Name}
	for _, role := range roles {
		bind(t, subject, subject.Namespace, role)
		bind(t, subject, other, role)
	}
	address := testenv.FreeAddress(t)
	site := site(t, map[string]string{"budget.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: more}\nspec: {selector: {matchLabels: {a: b}}}\n"})
	args := []string{
		"--kubeconfig=" + testenv.Kubeconfig(t, cfg, ""), "--watch-namespaces=" + strings.Join([]string{other, subject.Namespace, gone}, ","),
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=" + address, "--metrics-secure=false", "--manifests-dir=" + site,
	}
	p := start(t, args...)
	p.Ready(t)
	theirs := suite.NewMemcached(t, other, "cache", 0)
	settled(t, &suite, theirs)
	denied := func() float64 { return metric(t, address, "memcached_operator_denied_namespaces") }
	if n := denied(); n != 1 {
		t.Errorf("the operator lacks permissions in %v namespaces, want 1", n)
	}
	testenv.NoError(t, suite.Client.DeleteAllOf(t.Context(), &rbacv1.RoleBinding{}, client.InNamespace(other)))
	ours := suite.NewMemcached(t, subject.Namespace, "while-running", 0)
	settled(t, &suite, ours)
	addLimitRange(t, site, "one")
	eventuallyHas(t, ours, "one")
	if status := p.Terminate(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	for _, role := range roles[:2] { // Some are not enough.
		bind(t, subject, other, role)
	}
	p = start(t, args...)
	p.Ready(t)
	partly := suite.NewMemcached(t, other, "partly", 0)
	ours = suite.NewMemcached(t, subject.Namespace, "restarted", 0)
	settled(t, &suite, ours)
	if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(partly), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Memcached is reconciled although permissions are missing: %v", err)
	}
	if n := denied(); n != 2 {
		t.Errorf("restarted, the operator lacks permissions in %v namespaces, want 2", n)
	}
	for _, namespace := range []string{other, gone} {
		contains(t, p.Log.String(), `"namespace":"`+namespace+`"`, "add these rules to the operator's Role in namespace "+namespace)
	}

	bind(t, subject, other, roles[2])
	addLimitRange(t, site, "two") // Each reload looks at the permissions.
	eventuallyHas(t, ours, "two")
	eventuallyHas(t, theirs, "two")
	settled(t, &suite, theirs)
	settled(t, &suite, partly)
	if errors := p.Log.Errors(); len(errors) > 0 {
		t.Errorf("errors are logged: %q", errors)
	}
}

// addLimitRange adds a LimitRange to dir, a result of site.
func addLimitRange(t *testing.T, dir, name string) {
	t.Helper()
	dir = filepath.Join(dir, "components", "site")
	testenv.WriteFile(t, filepath.Join(dir, name+".yaml"), strings.Replace(limitRange, "settings", name, 1))
	kustomization := filepath.Join(dir, "kustomization.yaml")
	content, err := os.ReadFile(kustomization)
	testenv.NoError(t, err)
	testenv.WriteFile(t, kustomization, string(content)+"- "+name+".yaml\n")
}

// eventuallyHas waits until mc has the LimitRange of the template called name.
func eventuallyHas(t *testing.T, mc *cachev1alpha1.Memcached, name string) {
	t.Helper()
	testenv.Eventually(t, mc.Namespace+" should have the LimitRange "+name, func() bool {
		return suite.Client.Get(t.Context(), client.ObjectKey{Namespace: mc.Namespace, Name: mc.Name + "-" + name}, &corev1.LimitRange{}) == nil
	})
}
