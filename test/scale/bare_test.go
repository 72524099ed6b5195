// SPDX-License-Identifier: Apache-2.0

//go:build scale

package scale

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/render"
	"github.com/example/memcached-operator/reconcilers/status"
	"github.com/example/memcached-operator/test/testenv"
)

// bareManager is the bare client's field manager.
const bareManager = "bare"

// bareFigures are what a bare client took for the writes that the operator makes.
type bareFigures struct {
	// objects is for the children and the status of each Memcached, events for an event each.
	objects, events time.Duration
	requests        int
}

// total returns how long all writes took.
func (f bareFigures) total() time.Duration { return f.objects + f.events }

// bareWrites are the writes for one Memcached.
type bareWrites struct {
	children []*unstructured.Unstructured
	status   *unstructured.Unstructured
	event    *eventsv1.Event
}

// measureBare creates count Memcacheds on a control plane of its own, and measures how long a
// bare client takes to write what the operator writes for them: with as many writers, as the
// operator's user and through the same proxy. It renders beforehand and reads nothing.
func measureBare(t *testing.T, count int) bareFigures {
	t.Helper()
	e := newEnv(t)
	all := make([]bareWrites, count)
	for i, mc := range e.createMemcacheds(t, count) {
		all[i] = newBareWrites(t, mc)
	}
	bare, err := client.New(e.operator, client.Options{Scheme: e.Client.Scheme()})
	testenv.NoError(t, err)
	options := []client.ApplyOption{client.FieldOwner(bareManager), client.ForceOwnership}
	var figures bareFigures
	start := time.Now()
	testenv.NoError(t, inParallel(count, func(i int) error {
		for _, child := range all[i].children {
			if err := bare.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(child), options...); err != nil {
				return err
			}
		}
		return bare.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(all[i].status),
			client.FieldOwner(bareManager), client.ForceOwnership)
	}))
	figures.objects = time.Since(start)
	start = time.Now()
	testenv.NoError(t, inParallel(count, func(i int) error { return bare.Create(t.Context(), all[i].event) }))
	figures.events = time.Since(start)
	figures.requests = e.proxy.counts().of(func(r request) bool { return r.isWrite() || r.isEvent() })
	return figures
}

// newBareWrites returns the writes for mc.
func newBareWrites(t *testing.T, mc *cachev1alpha1.Memcached) bareWrites {
	t.Helper()
	children, err := renderer(t).Render(mc)
	testenv.NoError(t, err)
	computed := status.Compute(status.Observation{Memcached: mc, Now: time.Now()})
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&computed)
	testenv.NoError(t, err)
	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": cachev1alpha1.SchemeGroupVersion.String(),
		"kind":       "Memcached",
		"metadata":   map[string]any{"name": mc.Name, "namespace": mc.Namespace},
		"status":     content,
	}}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name + ".applied"},
		EventTime:  metav1.NowMicro(), ReportingController: bareManager, ReportingInstance: bareManager,
		Type: corev1.EventTypeNormal, Reason: "Created", Action: "Create", Note: "created three objects",
		Regarding: corev1.ObjectReference{
			APIVersion: cachev1alpha1.SchemeGroupVersion.String(), Kind: "Memcached",
			Namespace: mc.Namespace, Name: mc.Name, UID: mc.UID, ResourceVersion: mc.ResourceVersion,
		},
	}
	return bareWrites{children: children, status: applied, event: event}
}

// shared is the renderer of the shipped templates, made at its first use.
var shared *render.Renderer

func renderer(t *testing.T) *render.Renderer {
	t.Helper()
	if shared == nil {
		tree, err := render.LoadTree(manifests.FS)
		testenv.NoError(t, err)
		shared, err = render.New(tree, render.Defaults{})
		testenv.NoError(t, err)
	}
	return shared
}
