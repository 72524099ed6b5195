// SPDX-License-Identifier: Apache-2.0

package features

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

// subject is a Memcached in a namespace of its own.
type subject struct {
	*testing.T
	namespace string
	mc        *cachev1alpha1.Memcached
	// children are the namespace's objects of the kinds of the templates, by names such
	// as deployments/cache, as they were at the last look.
	children map[string]*unstructured.Unstructured
	// told is the generation that the status spoke of then.
	told int64
}

// newSubject makes a Memcached that has only a size, 0, and spec, and waits until the
// operator is done with it.
func newSubject(t *testing.T, name string, spec ...string) *subject {
	t.Helper()
	s := &subject{T: t, namespace: suite.NewNamespace(t)}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": merged(t, spec...)}}
	object.SetGroupVersionKind(cachev1alpha1.MemcachedKind)
	object.SetNamespace(s.namespace)
	object.SetName(name)
	suite.Create(t, object)
	s.mc = testenv.Memcached(s.namespace, name, 0)
	s.Cleanup(func() {
		if s.Failed() {
			s.Logf("the conditions are %+v", s.mc.Status.Conditions)
		}
	})
	s.done("at first")
	return s
}

// merged is the spec of size 0 with the fields of each of specs, in YAML, over those of
// the ones before it.
func merged(t *testing.T, specs ...string) map[string]any {
	t.Helper()
	spec := map[string]any{"size": int64(0)}
	for _, text := range specs {
		var fields map[string]any
		testenv.NoError(t, yaml.Unmarshal([]byte(text), &fields))
		maps.Copy(spec, fields)
	}
	return spec
}

// set replaces the spec.
func (s *subject) set(spec ...string) {
	s.Helper()
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": merged(s.T, spec...)}})
	testenv.NoError(s.T, err)
	testenv.NoError(s.T, suite.Client.Patch(s.Context(), s.mc, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner("user")))
}

// await waits until the status speaks of the spec as it is now, and holds says so too.
func (s *subject) await(what string, holds func() bool) {
	s.Helper()
	testenv.Eventually(s.T, what, func(ctx context.Context) (bool, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(s.mc), s.mc)
		return err == nil && s.mc.Status.ObservedGeneration == s.mc.Generation && holds(), client.IgnoreNotFound(err)
	})
}

// settled waits until the operator has done all it will do for the spec as it is now.
func (s *subject) settled(when string) {
	s.Helper()
	s.await(when+": the Memcached should be ready, or paused", func() bool {
		return testenv.HasCondition(s.mc, cachev1alpha1.ConditionReady, metav1.ConditionTrue, "") ||
			testenv.HasCondition(s.mc, cachev1alpha1.ConditionReady, metav1.ConditionUnknown, cachev1alpha1.ReasonPaused)
	})
	if c := meta.FindStatusCondition(s.mc.Status.Conditions, cachev1alpha1.ConditionReady); strings.Contains(c.Message, "skipped") {
		s.Errorf("%s: %s", when, c.Message)
	}
}

// stalled waits until the Memcached is stalled for reason, and checks the words.
func (s *subject) stalled(when, reason string, words ...string) {
	s.Helper()
	s.await(fmt.Sprintf("%s: the Memcached should be stalled, %s", when, reason), func() bool {
		return testenv.HasCondition(s.mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, reason)
	})
	message := meta.FindStatusCondition(s.mc.Status.Conditions, cachev1alpha1.ConditionStalled).Message
	for _, word := range words {
		if !strings.Contains(message, word) {
			s.Errorf("%s: the message does not say %q: %s", when, word, message)
		}
	}
}

// look reads the children, and returns the names of those whose content is not what it
// was at the last look.
func (s *subject) look() (changed []string) {
	s.Helper()
	before := s.children
	s.children = s.read()
	return s.changedSince(before)
}

// changedSince returns the names of the children whose content is not that of before.
func (s *subject) changedSince(before map[string]*unstructured.Unstructured) (changed []string) {
	names := maps.Clone(s.children)
	maps.Copy(names, before)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !equality.Semantic.DeepEqual(content(before[name]), content(s.children[name])) {
			changed = append(changed, name)
		}
	}
	return changed
}

// mustHaveChanged looks, and checks that these children have changed since the last look.
func (s *subject) mustHaveChanged(when string, want ...string) {
	s.Helper()
	if got := s.look(); !slices.Equal(got, want) {
		s.Errorf("%s: changed are %v, want %v", when, got, want)
	}
}

func (s *subject) read() map[string]*unstructured.Unstructured {
	s.Helper()
	children := map[string]*unstructured.Unstructured{}
	for _, kind := range suite.operator.Renderer.Kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		testenv.NoError(s.T, suite.Client.List(s.Context(), list, client.InNamespace(s.namespace)))
		for _, item := range list.Items {
			children[resource(s.T, kind)+"/"+item.GetName()] = &item
		}
	}
	return children
}

// resource is the name of kind in paths.
func resource(t *testing.T, kind schema.GroupVersionKind) string {
	t.Helper()
	mapping, err := suite.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	testenv.NoError(t, err)
	return mapping.Resource.Resource
}

// content returns an object without the fields that the API server and controllers maintain.
func content(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	delete(object.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	if annotations := object.GetAnnotations(); annotations != nil {
		delete(annotations, "deployment.kubernetes.io/revision")
		object.SetAnnotations(annotations)
		if len(annotations) == 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
		}
	}
	return object.Object
}

// step sets the spec and checks that each object that it changes is written once, and
// nothing else. It returns their names.
func (s *subject) step(when string, spec ...string) (changed []string) {
	s.Helper()
	s.set(spec...)
	return s.done(when)
}

// done waits until the spec is acted on, and checks what step checks.
func (s *subject) done(when string) (changed []string) {
	s.Helper()
	told := s.told
	s.settled(when)
	changed = s.look()
	var written []string
	statuses := 0
	for _, sent := range take(s.namespace) {
		switch {
		case sent.object == "memcacheds/"+s.mc.Name+"/status":
			statuses++
		case sent.method == http.MethodGet:
			s.Errorf("%s: %s is read from the API server", when, sent.object)
		default:
			written = append(written, sent.object)
		}
	}
	slices.Sort(written)
	if !slices.Equal(written, changed) {
		s.Errorf("%s: changed are %v, written are %v", when, changed, written)
	}
	s.told = s.mc.Status.ObservedGeneration
	if changes := s.told - told; statuses > 1 || int64(statuses) < changes {
		s.Errorf("%s: the status is written %d times for %d changes of the spec", when, statuses, changes)
	}
	s.atRest(when)
	return changed
}

// atRest checks that a further look at the Memcached makes no request.
func (s *subject) atRest(when string) {
	s.Helper()
	s.cacheIsCurrent(when)
	if sent := take(s.namespace); len(sent) > 0 {
		s.Errorf("%s: the operator still sent %v", when, sent)
	}
	result, err := suite.operator.Reconciler.Reconcile(s.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.mc)})
	if err != nil || result != (ctrl.Result{}) {
		s.Errorf("%s: a further reconcile ends with %+v, %v", when, result, err)
	}
	if sent := take(s.namespace); len(sent) > 0 {
		s.Errorf("%s: a further reconcile sent %v", when, sent)
	}
}

// cacheIsCurrent waits until the operator sees its objects as they are.
func (s *subject) cacheIsCurrent(when string) {
	s.Helper()
	testenv.Eventually(s.T, when+": the operator should see its objects", func(ctx context.Context) (bool, error) {
		for _, child := range s.read() {
			if !metav1.IsControlledBy(child, s.mc) {
				continue
			}
			cached, err := apply.NewObject(suite.operator.GetScheme(), child.GroupVersionKind())
			if err != nil {
				return false, err
			}
			err = suite.operator.GetCache().Get(ctx, client.ObjectKeyFromObject(child), cached)
			if apierrors.IsNotFound(err) || err == nil && cached.GetResourceVersion() != child.GetResourceVersion() {
				return false, nil
			}
			if err != nil {
				return false, err
			}
		}
		return true, nil
	})
}
