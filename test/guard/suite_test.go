// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/controlplane"
)

const (
	author = "author"
	policy = "ValidatingAdmissionPolicy 'memcached-operator-privileged-fields'"
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	log.SetLogger(logr.Discard())
	ctx := context.Background() //nolint:forbidigo // there is no test yet whose context it could be
	if cluster, err = controlplane.Start("--without-controllers"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	cfg, err := cluster.OperatorConfig(ctx) // with the policy, which is in config/default
	if err != nil {
		return 1, err
	}
	if err := errors.Join(grant(ctx), policyWorks(ctx)); err != nil {
		return 1, err
	}
	stop, err := startOperator(cfg)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return m.Run(), nil
}

// grant lets author write Memcacheds by the role for that in config/rbac, and makes a
// group of each right that a row names, so that an author has the rights whose groups
// are his.
func grant(ctx context.Context) error {
	if err := letWrite(ctx, cluster.Client, author); err != nil {
		return err
	}
	rights := allRights()
	for i, right := range rights {
		name := fmt.Sprintf("right-%d", i)
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule(right)}}
		binding := bindingTo(name, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: right})
		if err := errors.Join(cluster.Client.Create(ctx, role), cluster.Client.Create(ctx, binding)); err != nil {
			return err
		}
	}
	for _, right := range rights {
		if err := may(ctx, right); err != nil {
			return fmt.Errorf("the right to %s does not come: %w", right, err)
		}
	}
	return nil
}

// letWrite lets name write Memcacheds, by the role for that in config/rbac.
func letWrite(ctx context.Context, c client.Client, name string) error {
	return c.Create(ctx, bindingTo("memcached-operator-memcached-editor-role", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}))
}

// bindingTo binds subject to a ClusterRole.
func bindingTo(role string, subject rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}

// rule is a right in the form "VERB RESOURCE[.GROUP][/NAME]".
func rule(right string) rbacv1.PolicyRule {
	verb, rest, _ := strings.Cut(right, " ")
	what, name, named := strings.Cut(rest, "/")
	resource, group, _ := strings.Cut(what, ".")
	r := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
	if named {
		r.ResourceNames = []string{name}
	}
	return r
}

// may waits until the API server knows of a right.
func may(ctx context.Context, right string) error {
	r := rule(right)
	attributes := &authorizationv1.ResourceAttributes{Namespace: "default", Verb: r.Verbs[0], Group: r.APIGroups[0], Resource: r.Resources[0]}
	if len(r.ResourceNames) > 0 {
		attributes.Name = r.ResourceNames[0]
	}
	return eventually(ctx, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: author, Groups: []string{right}, ResourceAttributes: attributes}}
		err := cluster.Client.Create(ctx, review)
		return review.Status.Allowed, err
	})
}

// policyWorks waits until the API server has taken up the policy.
func policyWorks(ctx context.Context) error {
	hostile := memcached("default", "probe", "serviceAccountName: admin")
	return eventually(ctx, func(ctx context.Context) (bool, error) {
		c, err := as()
		if err != nil {
			return false, err
		}
		err = c.Create(ctx, hostile.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), policy), nil
	})
}

func eventually(ctx context.Context, holds func(context.Context) (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, holds)
}

// as is a client of the author with these rights beside the one to write Memcacheds.
func as(rights ...string) (client.Client, error) { return user(author, rights...) }

// user is a client of name with these groups beside the one of everybody.
func user(name string, groups ...string) (client.Client, error) {
	cfg := rest.CopyConfig(cluster.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append([]string{"system:authenticated"}, groups...)}
	return client.New(cfg, client.Options{Scheme: cluster.Client.Scheme(), Mapper: cluster.Client.RESTMapper()})
}

// startOperator builds the operator and runs it with cfg and the privileged fields.
func startOperator(cfg *rest.Config) (stop func() error, err error) {
	dir, err := os.MkdirTemp("", "memcached-operator-")
	if err != nil {
		return nil, err
	}
	program, kubeconfig, logFile := filepath.Join(dir, "memcached-operator"), filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "log")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = controlplane.Root()
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the operator: %w\n%s", err, output)
	}
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: cfg.Host, CertificateAuthorityData: cfg.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: cfg.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, kubeconfig); err != nil {
		return nil, err
	}
	output, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, "--allow-privileged-fields", "--kubeconfig", kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		return nil, err
	}
	return func() error {
		_ = command.Process.Signal(os.Interrupt)
		err := command.Wait()
		if err != nil {
			words, _ := os.ReadFile(logFile)
			err = fmt.Errorf("the operator ends with %w:\n%s", err, words)
		}
		return errors.Join(err, output.Close(), os.RemoveAll(dir))
	}, nil
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newNamespace makes a namespace for one test.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "guard-"}}
	fatal(t, cluster.Client.Create(t.Context(), namespace))
	return namespace.Name
}

// allRights are those that any row names, each once.
func allRights() []string {
	all := map[string]bool{}
	for _, table := range []map[string]attack{onSecrets, onWorkloads, byPatches} {
		for _, row := range table {
			for _, right := range row.rights {
				all[right] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// bindIn gives name the rights of a ClusterRole in a namespace.
func bindIn(t *testing.T, namespace, name, role string) {
	t.Helper()
	fatal(t, cluster.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: name + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}))
}
