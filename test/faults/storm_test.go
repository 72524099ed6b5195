// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/faults/proxy"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// stormSeed makes the same faults and edits each time.
	stormSeed = 11
	// stormShare is the share of the requests that fail.
	stormShare = 0.2
	// stormCaches is the number of Memcacheds that are edited in a storm.
	stormCaches = 5
	// stormEdits is how often one of them is edited.
	stormEdits = 250 * time.Millisecond
	// convergeLimit is how long they may take to converge after it.
	convergeLimit = time.Minute
)

func TestStorm_Converges(t *testing.T) {
	figure := measure(t, "R5 one request in five fails: converged within 60 s, then no write")
	overlap(t)
	namespaces := newNamespaces(t, stormCaches)
	o := startIn(t, namespaces)
	var caches []*cachev1alpha1.Memcached
	var histories []*history
	for _, namespace := range namespaces {
		histories = append(histories, record(t, namespace))
		caches = append(caches, newMemcached(t, namespace, specOf(1)))
	}
	o.Fail(proxy.Storm(stormSeed, stormShare))
	restarts := weather(t, o, caches, form(10*time.Minute, 20*time.Second))
	o.Fail(nil)
	took := testenv.Within(t, convergeLimit, "all should converge", func(ctx context.Context) (bool, error) {
		return allSettled(ctx, caches)
	})
	for i, mc := range caches {
		equalsFresh(t, o, mc)
		histories[i].catchUp(t, mc)
		histories[i].verify(t)
	}
	o.quiet(t, "", calmFor)
	// An event that could not be written is tried again for up to two minutes.
	isEvent := func(r proxy.Request) bool { return r.Resource == "events" }
	writes := len(slices.DeleteFunc(o.writesIn(""), isEvent))
	rest := form(time.Minute, 10*time.Second)
	last(t, rest)
	if after := slices.DeleteFunc(o.writesIn(""), isEvent)[writes:]; len(after) > 0 {
		t.Errorf("%d writes with nothing to do, the first: %s", len(after), after[0].String())
	}
	faults := len(o.Requests(func(r *proxy.Request) bool { return r.Fault != proxy.None }))
	figure.set("%d faults in %d requests; converged in %.1f s; %d restarts; 0 writes in %s",
		faults, len(o.Requests(func(*proxy.Request) bool { return true })), took.Seconds(), restarts, rest)
	if restarts > 0 {
		t.Errorf("the operator exited %d times", restarts)
	}
}

// allSettled reports whether all are ready.
func allSettled(ctx context.Context, caches []*cachev1alpha1.Memcached) (bool, error) {
	for _, mc := range caches {
		if ready, err := isSettled(ctx, mc); err != nil || !ready {
			return false, err
		}
	}
	return true, nil
}

// weather edits, deletes and re-creates caches for duration, and starts the operator again
// when it exits, as the kubelet does. It returns how often that was.
func weather(t *testing.T, o *operator, caches []*cachev1alpha1.Memcached, duration time.Duration) (restarts int) {
	t.Helper()
	random := rand.New(rand.NewPCG(stormSeed, 1))
	ticker := time.NewTicker(stormEdits)
	defer ticker.Stop()
	over := time.After(duration)
	for n := 2; ; n++ {
		select {
		case <-over:
			return restarts
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-ticker.C:
		}
		if o.process.HasEnded() {
			restarts++
			o.restart()
		}
		i := random.IntN(len(caches))
		if random.IntN(10) == 0 {
			remove(t, caches[i])
			caches[i] = newMemcached(t, caches[i].Namespace, specOf(n))
			continue
		}
		editTo(t, caches[i], n)
	}
}

func TestStorm_LeavesNoOrphans(t *testing.T) {
	figure := measure(t, "R10 Memcached or namespace deleted in a storm: no orphan")
	o := startOperator(t)
	rounds := form(10, 1)
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			deleteInStorm(t, o, uint64(round))
		})
	}
	figure.set("%d Memcacheds and %d namespaces deleted, 0 orphans", rounds, rounds)
}

// deleteInStorm deletes a Memcached, and the namespace of another, while both are edited and
// requests fail.
func deleteInStorm(t *testing.T, o *operator, seed uint64) {
	t.Cleanup(func() { o.Fail(nil) })
	a, b := suite.NewNamespace(t), suite.NewNamespace(t)
	caches := []*cachev1alpha1.Memcached{newMemcached(t, a, specOf(1)), newMemcached(t, b, specOf(1))}
	o.Fail(proxy.Storm(stormSeed+seed, stormShare))
	if o.process.HasEnded() {
		t.Fatal("the operator exited")
	}
	for n := range 4 {
		for _, mc := range caches {
			editTo(t, mc, n+2)
		}
		if n == 0 {
			deploymentExists(t, a)
			deploymentExists(t, b)
		}
	}
	answered := remove(t, caches[0])
	testenv.NoError(t, suite.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b}}))
	namespaceGone(t, b)
	o.Fail(nil)
	emptied(t, a)
	o.quiet(t, "", calmFor)
	emptied(t, a)
	notCreatedForDead(t, o, a, caches[0].UID, answered)
}

// deploymentExists waits until namespace has a Deployment.
func deploymentExists(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "there should be a Deployment", func(ctx context.Context) (bool, error) {
		objects, err := list(ctx, namespace, childKinds[0])
		return len(objects) > 0, err
	})
}

// namespaceGone waits until the namespace controller has deleted namespace.
func namespaceGone(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the namespace should be gone", func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
