// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// Operator is an operator in the cluster.
type Operator struct {
	*Cluster
	// Namespace is where it is, Name what its Deployment and its service account are called.
	Namespace, Name string
	// Lease is the name of its lease.
	Lease string

	// installed is when Install began: what the audit log holds from before is of no interest.
	installed time.Time
}

// Installed is the operator that `make deploy` and the installer install.
func (c *Cluster) Installed() *Operator {
	return &Operator{
		Cluster:   c,
		Namespace: "memcached-operator-system",
		Name:      "memcached-operator-controller-manager",
		Lease:     "memcached-operator.cache.example.com",
	}
}

// User is the name of its service account in the API server.
func (o *Operator) User() string { return "system:serviceaccount:" + o.Namespace + ":" + o.Name }

// Manager is the operator's own Deployment, with nothing but its name.
func (o *Operator) Manager() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
}

// ApplyFile applies a file, such as an installer, over whatever is there.
func (c *Cluster) ApplyFile(ctx context.Context, file string) error {
	_, _, err := c.TryKubectl(ctx, "", "apply", "--server-side", "--force-conflicts", "-f", file)
	return err
}

// Install installs the operator from the installer into a cluster that has none, and waits until
// it is ready.
func (o *Operator) Install(ctx context.Context) error {
	if _, err := os.Stat(o.Installer); err != nil {
		return fmt.Errorf("there is no installer: run `make build-installer IMG=…`, or set E2E_INSTALLER: %w", err)
	}
	if left, err := o.Left(ctx); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("the tests want a cluster without an operator; `make undeploy` removes it: there is %s", strings.Join(left, ", ")))
	}
	o.installed = time.Now()
	if err := o.ApplyFile(ctx, o.Installer); err != nil {
		return err
	}
	if err := testenv.Poll(ctx, testenv.Timeout, o.settled); err != nil {
		described, _, _ := o.TryKubectl(ctx, "", "--namespace="+o.Namespace, "describe", "deployments,pods")
		logs, _, _ := o.TryKubectl(ctx, "", "--namespace="+o.Namespace, "logs", "--prefix", "deployments/"+o.Name)
		return fmt.Errorf("the operator did not become ready: %w\n%s\n%s", err, described, logs)
	}
	d := o.Manager()
	if err := o.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		return err
	}
	if image := d.Spec.Template.Spec.Containers[0].Image; o.Image != "" && image != o.Image {
		return fmt.Errorf("the installer installs %s, and E2E_IMAGE, the image under test, is %s", image, o.Image)
	}
	return nil
}

// Finish is what a package's TestMain ends with: it uninstalls, after check, which needs the operator's
// permissions to be there still, and before undo, which takes away what was there before the operator. It returns an exit
// code and prints what is wrong.
func (o *Operator) Finish(ctx context.Context, code int, undo, check func(context.Context) error) int {
	started := time.Now()
	checked := errors.Join(check(ctx), testenv.Poll(ctx, testenv.Timeout, o.noTestNamespaces))
	_, _, err := o.TryKubectl(ctx, "", "delete", "--ignore-not-found", "--timeout="+testenv.Timeout.String(), "-f", o.Installer)
	if err := errors.Join(checked, err, o.EventuallyNothingLeft(ctx), undo(ctx)); err != nil {
		fmt.Fprintf(os.Stderr, "--- FAIL: after the tests (%s)\n%v\n", time.Since(started).Round(time.Millisecond), err)
		return 1
	}
	return code
}

// Settled waits until all pods of the operator are of the latest revision and ready,
// and no other is left, and returns them.
func (o *Operator) Settled(t testing.TB) []corev1.Pod {
	t.Helper()
	testenv.Eventually(t, "the operator's pods should all be up to date and ready", o.settled)
	pods, err := o.pods(context.WithoutCancel(t.Context()))
	testenv.NoError(t, err)
	return pods
}

func (o *Operator) settled(ctx context.Context) (settled bool, seen string, err error) {
	d := o.Manager()
	if err := o.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		return false, "", err
	}
	pods, err := o.pods(ctx)
	ready, want := 0, int(*d.Spec.Replicas)
	for _, pod := range pods {
		if pod.DeletionTimestamp.IsZero() && IsReady(&pod) {
			ready++
		}
	}
	return d.Status.ObservedGeneration == d.Generation && int(d.Status.UpdatedReplicas) == want && ready == want && len(pods) == want,
		fmt.Sprintf("%d ready of the pods %v", ready, Names(pods)), err
}

// pods returns the operator's pods.
func (o *Operator) pods(ctx context.Context) ([]corev1.Pod, error) {
	d, list := o.Manager(), &corev1.PodList{}
	if err := o.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		return nil, err
	}
	err := o.Client.List(ctx, list, client.InNamespace(o.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))
	return list.Items, err
}

// Scale runs replicas pods of the operator and waits until they are there.
func (o *Operator) Scale(t testing.TB, replicas int) []corev1.Pod {
	t.Helper()
	o.Patch(t, o.Manager(), fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	return o.Settled(t)
}

// Leader waits until one of the operator's present pods holds the lease, and returns its name.
func (o *Operator) Leader(t testing.TB) string {
	t.Helper()
	var holder string
	testenv.Eventually(t, "a pod of the operator should hold the lease", func(ctx context.Context) (bool, string, error) {
		lease := &coordinationv1.Lease{}
		if err := o.Client.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Lease}, lease); err != nil {
			return false, "", err
		}
		if identity := lease.Spec.HolderIdentity; identity != nil {
			holder, _, _ = strings.Cut(*identity, "_")
		}
		pods, err := o.pods(ctx)
		for _, pod := range pods {
			if pod.Name == holder && pod.DeletionTimestamp.IsZero() {
				return true, "", nil
			}
		}
		return false, fmt.Sprintf("holder %q, pods %v", holder, Names(pods)), err
	})
	return holder
}

// objectsTotal counts what the operator did with the objects of Memcacheds.
const objectsTotal = "memcached_operator_objects_total"

// Applied waits until the leading operator has applied, or found unchanged, the three objects of
// each of count Memcacheds, and returns its metrics, which it reads as an account that may.
func (o *Operator) Applied(t *testing.T, count int) string {
	t.Helper()
	token := o.reader(t)
	leader := o.Leader(t)
	// The operator's certificate is its own unless it is given one.
	metrics := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, DialContext: o.dial(o.Namespace, leader, 8443),
	}}
	var body string
	testenv.Eventually(t, fmt.Sprintf("the operator should have applied %d Memcacheds", count), func(context.Context) (bool, string, error) {
		var status int
		status, body = testenv.HTTPGet(t, metrics, "https://operator/metrics", token)
		if status != http.StatusOK {
			return false, fmt.Sprintf("%d: %s", status, body), nil
		}
		objects := testenv.Metric(t, body, objectsTotal)
		return objects >= float64(3*count), fmt.Sprintf("%.0f objects", objects), nil
	})
	return body
}

// dial returns a function for http.Transport that connects to a port of a pod.
func (c *Cluster) dial(namespace, pod string, port int32) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return c.dialer.Dial(ctx, namespace, pod, port)
	}
}

// reader returns a token of an account that may read metrics. The API server may know of it only later.
func (c *Cluster) reader(t testing.TB) string {
	t.Helper()
	namespace := c.NewNamespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-reader"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := testenv.Binding(role.Name, rbacv1.ServiceAccountKind, account.Name)
	binding.Subjects[0].APIGroup, binding.Subjects[0].Namespace = "", namespace
	c.Create(t, account, role, binding)
	t.Cleanup(func() {
		c.Delete(t, binding)
		c.Delete(t, role)
	})
	config, err := c.ServiceAccountConfig(t.Context(), namespace, account.Name)
	testenv.NoError(t, err)
	return config.BearerToken
}

// ContainsAll reports whether text contains every one of parts.
func ContainsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
