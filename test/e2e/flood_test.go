// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

const (
	// floodSize is how many Memcacheds the flooding tenant has.
	floodSize = 500
	// servedWithin is how long a Memcached of another tenant may wait for its objects.
	servedWithin = 2 * time.Second
)

// TestFlood_DelaysNoOtherTenant: one tenant creates and edits 500 Memcacheds near the bounds of the API,
// one after another in a loop without a pause, and the operator is restarted meanwhile. The memory limit is the install's own.
func TestFlood_DelaysNoOtherTenant(t *testing.T) {
	if os.Getenv("E2E_FLOOD") == "" {
		t.Skip("it takes minutes and the whole machine: make e2e-flood")
	}
	suite.NoTestNamespaces(t)
	other := suite.NewNamespace(t)
	operator := &footprint{token: suite.Reader(t, other, metricsReader)}
	// Just after the CRD was installed, the server's admission does not know it for some seconds.
	suite.Ready(t, suite.NewMemcached(t, other, "first", 0))
	f := newFlood(t)
	f.start(t)
	serve := func(phase string, enough func() bool) {
		var slowest time.Duration
		for i := 0; i < 10 || !enough(); i++ {
			slowest = max(slowest, served(t, other, fmt.Sprintf("%s-%d", phase, i)))
			operator.look(t)
		}
		t.Logf("%s, after %d writes of the tenant: the slowest Memcached had its objects after %s, %d MiB were resident at most",
			phase, f.writes.Load(), slowest.Round(time.Millisecond), operator.most>>20)
		if slowest > servedWithin {
			t.Errorf("%s: a Memcached had its objects after %s, want %s", phase, slowest.Round(time.Millisecond), servedWithin)
		}
	}
	serve("creating", func() bool { return f.deployments(t) == floodSize })
	serve("editing", func() bool { return true })
	cluster.Must(t, suite.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: suite.operator.Namespace, Name: suite.operator.Leader(t)}}))
	suite.operator.Settled(t)
	suite.operator.Leader(t)
	serve("restarted", func() bool { return true })
}

// flood is a tenant that may do anything in a namespace of its own.
type flood struct {
	client.Client
	namespace string
	writes    atomic.Int64
}

func newFlood(t *testing.T) *flood {
	t.Helper()
	f := &flood{namespace: suite.NewNamespace(t)}
	tenant := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: f.namespace + "-tenant"}
	cluster.Must(t, suite.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{tenant},
	}))
	config := rest.CopyConfig(suite.Config)
	config.Impersonate.UserName = tenant.Name
	var err error
	f.Client, err = client.New(config, client.Options{Scheme: suite.Scheme()})
	cluster.Must(t, err)
	cluster.Eventually(t, "the tenant may create Memcacheds", func(ctx context.Context) (bool, string, error) {
		return true, "", f.Create(ctx, f.memcached(0), client.DryRunAll)
	})
	return f
}

// memcached returns a Memcached near the bounds of the API: of size 0, so that no node has to run
// its pods, and with one of 64 sets of fields.
func (f *flood) memcached(i int) *cachev1alpha1.Memcached {
	spec := cachev1alpha1.MemcachedSpec{Size: new(int32(0))}
	spec.PodMetadata = &cachev1alpha1.PodMetadata{Annotations: longAnnotations()}
	spec.Service = &cachev1alpha1.Service{Annotations: longAnnotations(), ClusterIPService: new(i&1 > 0)}
	spec.Affinity = &cachev1alpha1.Affinity{NodeAffinity: &cachev1alpha1.NodeAffinity{}}
	for range 4 {
		values := make([]cachev1alpha1.LabelValue, 16)
		for j := range values {
			values[j] = cachev1alpha1.LabelValue(fmt.Sprintf("%060d", j))
		}
		spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
			spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution, cachev1alpha1.PreferredSchedulingTerm{
				Weight: 1,
				Preference: cachev1alpha1.NodeSelectorTerm{MatchExpressions: []cachev1alpha1.NodeSelectorRequirement{
					{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: values},
				}},
			})
	}
	spec.Patches = longPatches()
	for bit, set := range []func(){
		func() { spec.Threads = new(int32(2)) },
		func() { spec.IdleTimeoutSeconds = new(int32(60)) },
		func() { spec.Verbosity = new(int32(1)) },
		func() { spec.ImagePullPolicy = new(corev1.PullIfNotPresent) },
		func() { spec.TerminationGracePeriodSeconds = new(int64(60)) },
	} {
		if i>>(bit+1)&1 > 0 {
			set()
		}
	}
	return &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("flood-%03d", i)}, Spec: spec}
}

// longPatches returns patches of nearly as many characters as they may have: of long values, which take
// memory, and of many short ones, which take time.
func longPatches() []cachev1alpha1.Patch {
	var patches []cachev1alpha1.Patch
	for i := range 2 {
		var variables strings.Builder
		for v := range 300 {
			fmt.Fprintf(&variables, "{name: VARIABLE_%d_%03d},", i, v)
		}
		for _, text := range []string{
			fmt.Sprintf("metadata: {annotations: {example.com/%d: %s}}", i, strings.Repeat("x", 8000)),
			"spec: {template: {spec: {containers: [{name: memcached, env: [" + variables.String() + "]}]}}}",
		} {
			patches = append(patches, cachev1alpha1.Patch{Target: cachev1alpha1.PatchTarget{Kind: "Deployment"}, Patch: text})
		}
	}
	return patches
}

// longAnnotations returns two annotations of nearly as many characters as they may have.
func longAnnotations() cachev1alpha1.Annotations {
	long := cachev1alpha1.AnnotationValue(strings.Repeat("x", 4000))
	return cachev1alpha1.Annotations{"example.com/a": long, "example.com/b": long}
}

// start begins to create the tenant's Memcacheds, and then to edit them in turn, until the test ends. Each
// edit changes the Deployment, and not its pods, so that it makes no ReplicaSet.
func (f *flood) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := f.write(ctx, i); err != nil && ctx.Err() == nil {
				t.Errorf("the tenant's write %d: %v", i, err)
				return
			}
			f.writes.Add(1)
		}
	})
	t.Cleanup(func() {
		cancel()
		writer.Wait()
	})
}

func (f *flood) write(ctx context.Context, i int) error {
	mc := f.memcached(i % floodSize)
	if i < floodSize {
		return f.Create(ctx, mc)
	}
	patch := fmt.Appendf(nil, `{"spec":{"minReadySeconds":%d}}`, 1+i%500)
	return f.Patch(ctx, mc, client.RawPatch(types.MergePatchType, patch))
}

// deployments returns how many of the tenant's Memcacheds have a Deployment.
func (f *flood) deployments(t *testing.T) int {
	t.Helper()
	// The server counts; the objects are large.
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
	cluster.Must(t, suite.List(t.Context(), list, client.InNamespace(f.namespace), client.Limit(1)))
	if list.RemainingItemCount == nil {
		return len(list.Items)
	}
	return len(list.Items) + int(*list.RemainingItemCount)
}

// served creates a Memcached and returns how long it took until it had its objects.
func served(t *testing.T, namespace, name string) time.Duration {
	t.Helper()
	mc := suite.NewMemcached(t, namespace, name, 0)
	started := time.Now()
	for _, child := range cluster.Children(namespace, mc.Name) {
		for {
			err := suite.Get(t.Context(), client.ObjectKeyFromObject(child), child)
			if err == nil {
				break
			}
			if !apierrors.IsNotFound(err) || time.Since(started) > cluster.Patience {
				t.Fatalf("%T %s, after %s: %v", child, name, time.Since(started), err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return time.Since(started)
}

// footprint is what the operator was seen to take of memory.
type footprint struct {
	token string
	// most is the most resident memory, in bytes.
	most int64
}

// look checks that the leader's container was not restarted, and that its memory is below its limit.
func (m *footprint) look(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{}
	cluster.Must(t, suite.Get(t.Context(), types.NamespacedName{Namespace: suite.operator.Namespace, Name: suite.operator.Leader(t)}, pod))
	if status := pod.Status.ContainerStatuses[0]; status.RestartCount > 0 {
		t.Fatalf("the operator was restarted %d times: %+v", status.RestartCount, status.LastTerminationState.Terminated)
	}
	resident := int64(cluster.Value(t, suite.operator.Metrics(t, pod.Name, m.token), "process_resident_memory_bytes"))
	if limit := pod.Spec.Containers[0].Resources.Limits.Memory(); resident == 0 || resident >= limit.Value() {
		t.Errorf("%d bytes are resident, want some, and less than the limit %s", resident, limit)
	}
	m.most = max(m.most, resident)
}
