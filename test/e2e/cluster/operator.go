// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// Settled waits until all pods of the operator are of the latest revision and ready,
// and no other is left, and returns them.
func (o *Operator) Settled(t testing.TB) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	Eventually(t, "the operator's pods are all up to date and ready", func(ctx context.Context) (done bool, seen string, err error) {
		pods, done, err = o.settled(ctx)
		return done, fmt.Sprintf("%v", Names(pods)), err
	})
	return pods
}

func (o *Operator) settled(ctx context.Context) (pods []corev1.Pod, settled bool, err error) {
	d := o.Manager()
	if err := o.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		return nil, false, err
	}
	list := &corev1.PodList{}
	if err := o.List(ctx, list, client.InNamespace(o.Namespace), client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(d.Spec.Selector.MatchLabels)}); err != nil {
		return nil, false, err
	}
	want := int(*d.Spec.Replicas)
	ready := 0
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() && IsReady(&pod) {
			ready++
		}
	}
	return list.Items, d.Status.ObservedGeneration == d.Generation && int(d.Status.UpdatedReplicas) == want &&
		ready == want && len(list.Items) == want, nil
}

// Scale runs replicas pods of the operator and waits until they are there.
func (o *Operator) Scale(t testing.TB, replicas int) []corev1.Pod {
	t.Helper()
	Must(t, o.Client.Patch(context.WithoutCancel(t.Context()), o.Manager(),
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))))
	return o.Settled(t)
}

// Holder is who holds the operator's lease: a pod's name, or "" when it was released.
func (o *Operator) Holder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := o.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Lease}, lease); err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod, nil
}

// Leader waits until one of the operator's present pods holds the lease, and returns its name.
func (o *Operator) Leader(t testing.TB) string {
	t.Helper()
	var holder string
	Eventually(t, "a pod of the operator holds the lease", func(ctx context.Context) (bool, string, error) {
		var err error
		if holder, err = o.Holder(ctx); err != nil {
			return false, "", err
		}
		pods, _, err := o.settled(ctx)
		for _, pod := range pods {
			if pod.Name == holder && pod.DeletionTimestamp.IsZero() {
				return true, "", nil
			}
		}
		return false, fmt.Sprintf("holder %q, pods %v", holder, Names(pods)), err
	})
	return holder
}
