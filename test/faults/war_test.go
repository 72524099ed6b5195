// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

// Nobody else writes a NetworkPolicy, so that no later event makes up for one that the operator overlooked. Without pods
// none comes from the Deployment either.
func TestReversals_AreNotLost(t *testing.T) {
	figure := measure(t, "L1 a change and its reversal while the operator writes: none lost")
	overlap(t)
	const caches = 8
	namespaces := newNamespaces(t, caches)
	startIn(t, namespaces)
	rounds := form(1000, 48) / caches
	t.Run("in", func(t *testing.T) {
		for i, namespace := range namespaces {
			t.Run(namespace, func(t *testing.T) {
				t.Parallel()
				reverse(t, namespace, rounds, rand.New(rand.NewPCG(uint64(i), 0)))
			})
		}
	})
	figure.set("%d reversals, 0 lost", rounds*caches)
}

// reverse changes the peers of a NetworkPolicy, and changes them back at a moment at which the operator may be writing the
// first change: in the Memcached, and in the NetworkPolicy.
func reverse(t *testing.T, namespace string, rounds int, random *rand.Rand) {
	t.Helper()
	peers := func(team string) *cachev1alpha1.NetworkPolicy {
		return &cachev1alpha1.NetworkPolicy{From: []cachev1alpha1.NetworkPolicyPeer{peer(team, false)}}
	}
	mc := newMemcached(t, namespace, cachev1alpha1.MemcachedSpec{Size: new(int32(0)), NetworkPolicy: peers("a")})
	settled(t, mc)
	for round := range rounds {
		edit(t, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = peers("b") })
		last(t, time.Duration(random.IntN(20_000))*time.Microsecond)
		want := "a"
		if round%2 == 0 {
			edit(t, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = peers("a") })
		} else {
			want = "b"
			testenv.NoError(t, suite.Client.Patch(t.Context(), networkPolicy(namespace), client.RawPatch("application/merge-patch+json",
				[]byte(`{"spec":{"ingress":[{"from":[{"podSelector":{"matchLabels":{"team":"a"}}}]}]}}`))))
		}
		eventually(t, fmt.Sprintf("round %d: team %s should be allowed", round, want), func(ctx context.Context) (bool, error) {
			policy := networkPolicy(namespace)
			if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
				return false, err
			}
			from := policy.Spec.Ingress[0].From
			return len(from) == 1 && from[0].PodSelector.MatchLabels["team"] == want && len(policy.Spec.Ingress[0].Ports) > 0, nil
		})
		if want == "b" {
			edit(t, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = peers("a") })
		}
		settled(t, mc)
	}
}

func networkPolicy(namespace string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-clients"}}
}

// warWrites is how many writes of one object a war may cost in a minute: five at once, and after that with a delay of a
// second, two, and so on.
const warWrites = 20

// TestWar_IsBounded lets a client undo what the operator writes 50 times a second.
func TestWar_IsBounded(t *testing.T) {
	for name, undo := range map[string]func(ctx context.Context, namespace string) error{
		"deleted Service": func(ctx context.Context, namespace string) error {
			return client.IgnoreNotFound(suite.Client.Delete(ctx, service(namespace)))
		},
		"Service without our label": func(ctx context.Context, namespace string) error {
			return client.IgnoreNotFound(suite.Client.Patch(ctx, service(namespace), client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"labels":{"`+render.ManagedByLabel+`":null}}}`))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			figure := measure(t, "L2 "+name+", 50 times a second: bounded, said, others served within 2 s")
			overlap(t)
			namespaces := newNamespaces(t, 2)
			o := startIn(t, namespaces)
			mc := newMemcached(t, namespaces[0], cachev1alpha1.MemcachedSpec{Size: new(int32(0))})
			settled(t, mc)
			before := len(o.writesTo(namespaces[0], "services"))
			war, end := context.WithTimeout(t.Context(), form(time.Minute, 15*time.Second))
			defer end()
			undone := make(chan error, 1)
			go func() { undone <- keepUndoing(war, func() error { return undo(t.Context(), namespaces[0]) }) }()
			eventually(t, "Ready should say Contended", func(ctx context.Context) (bool, error) {
				err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc)
				ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
				return ready.Reason == cachev1alpha1.ReasonContended, err
			})
			other := newMemcached(t, namespaces[1], cachev1alpha1.MemcachedSpec{Size: new(int32(0))})
			took := testenv.Within(t, settleTimeout, "another tenant should be served", func(ctx context.Context) (bool, error) { return isSettled(ctx, other) })
			withinGoal(t, "another tenant was served", took, 2*time.Second)
			testenv.NoError(t, <-undone)
			writes, statuses := len(o.writesTo(namespaces[0], "services"))-before, len(o.writesTo(namespaces[0], "memcacheds"))
			if writes > warWrites || statuses > 2*warWrites {
				t.Errorf("%d writes of the Service, want %d at most, and %d of the status", writes, warWrites, statuses)
			}
			figure.set("%d writes, %d of the status; another tenant after %.1f s", writes, statuses, took.Seconds())
		})
	}
}

// keepUndoing calls undo 50 times a second until ctx ends.
func keepUndoing(ctx context.Context, undo func() error) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := undo(); err != nil {
				return err
			}
		}
	}
}

func service(namespace string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"}}
}

// writesTo returns the writes of objects of resource in namespace, without those that were refused.
func (o *operator) writesTo(namespace, resource string) []proxy.Request {
	return o.Requests(func(r *proxy.Request) bool {
		return r.IsWrite() && r.Namespace == namespace && r.Resource == resource && r.Status < 400
	})
}

// TestWar_BetweenTwoOperators lets two operators with different templates work on one namespace.
func TestWar_BetweenTwoOperators(t *testing.T) {
	figure := measure(t, "L2 two operators with different templates on one namespace: bounded")
	overlap(t)
	namespaces := newNamespaces(t, 1)
	templates := t.TempDir()
	testenv.WriteFile(t, templates+"/components/site/kustomization.yaml", `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- patch: '{apiVersion: v1, kind: Service, metadata: {name: memcached, labels: {of: another}}}'
`)
	operators := []*operator{startIn(t, namespaces), startIn(t, namespaces, "--manifests-dir="+templates)}
	mc := newMemcached(t, namespaces[0], cachev1alpha1.MemcachedSpec{Size: new(int32(0))})
	eventually(t, "Ready should say Contended", func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
		return ready != nil && ready.Reason == cachev1alpha1.ReasonContended, err
	})
	last(t, form(time.Minute, 10*time.Second))
	var services, statuses []int
	for _, o := range operators {
		services = append(services, len(o.writesTo(namespaces[0], "services")))
		statuses = append(statuses, len(o.writesTo(namespaces[0], "memcacheds")))
	}
	if services[0] > warWrites || services[1] > warWrites || statuses[0] > 3*warWrites || statuses[1] > 3*warWrites {
		t.Errorf("%v writes of the Service, want %d at most, and %v of the status", services, warWrites, statuses)
	}
	figure.set("%v writes of the Service, %v of the status", services, statuses)
}
