// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// state holds the objects of a namespace as YAML, by kind and name, without what differs
// between two runs: identifiers, versions and times.
type state map[string]string

var (
	memcachedKind = cachev1alpha1.MemcachedKind
	replicaSet    = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	pod           = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	// childKinds are the kinds that the operator writes for the Memcacheds of this suite.
	childKinds = []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Version: "v1", Kind: "Service"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	}
)

// list returns the objects of kind in namespace.
func list(ctx context.Context, namespace string, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := suite.Client.List(ctx, objects, client.InNamespace(namespace))
	return objects.Items, err
}

// stateOf reads the state of namespace. An exact state also has generations and ReplicaSets,
// which tell how it came about.
func stateOf(ctx context.Context, namespace string, exact bool) (state, error) {
	kinds := append([]schema.GroupVersionKind{memcachedKind}, childKinds...)
	if exact {
		kinds = append(kinds, replicaSet)
	}
	s := state{}
	for _, kind := range kinds {
		objects, err := list(ctx, namespace, kind)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			name := kind.Kind + " " + object.GetName()
			normalise(object.Object, exact)
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				return nil, err
			}
			s[name] = identifier.ReplaceAllString(strings.ReplaceAll(string(text), namespace, "NAMESPACE"), "UID")
		}
	}
	pods, err := list(ctx, namespace, pod)
	s["Pods"] = fmt.Sprint(len(pods))
	return s, err
}

// normalise removes from object what differs between two runs.
func normalise(object map[string]any, exact bool) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return
	}
	metadata["managedFields"] = ownFields(metadata["managedFields"])
	delete(metadata, "namespace")
	if !exact {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "deployment.kubernetes.io/revision")
		}
	}
	if status, ok := object["status"].(map[string]any); ok {
		delete(status, "nodes") // They are named at random; their number is in other fields.
		// The last one that changed its status comes last.
		if conditions, ok := status["conditions"].([]any); ok {
			slices.SortFunc(conditions, func(a, b any) int {
				return strings.Compare(fmt.Sprint(a.(map[string]any)["type"]), fmt.Sprint(b.(map[string]any)["type"]))
			})
		}
		if !exact {
			delete(status, "collisionCount")
		}
	}
	prune(object, exact)
}

// identifier matches UIDs, which managedFields have in the keys of owner references.
var identifier = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// volatile are the fields that differ between two runs, wherever they are.
var volatile = []string{
	"uid", "resourceVersion", "creationTimestamp", "time", "lastTransitionTime", "lastUpdateTime", "disruptedPods",
	"lastProbeTime",
}

// prune removes the volatile fields of value.
func prune(value any, exact bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			isGeneration := name == "generation" || name == "observedGeneration"
			if slices.Contains(volatile, name) || !exact && isGeneration {
				delete(value, name)
				continue
			}
			prune(field, exact)
		}
	case []any:
		for _, item := range value {
			prune(item, exact)
		}
	}
}

// ownFields returns the entries of managedFields that are the operator's.
func ownFields(entries any) any {
	items, _ := entries.([]any)
	var own []any
	for _, item := range items {
		entry, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if manager, _ := entry["manager"].(string); strings.HasPrefix(manager, "memcached-operator") {
			own = append(own, entry)
		}
	}
	slices.SortFunc(own, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return own
}

// diff returns the lines in which two states differ; it is empty when they do not.
func (s state) diff(want state) string {
	var b strings.Builder
	names := map[string]bool{}
	for name := range s {
		names[name] = true
	}
	for name := range want {
		names[name] = true
	}
	for name := range names {
		if s[name] == want[name] {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", name)
		mark(&b, "- ", want[name], s[name])
		mark(&b, "+ ", s[name], want[name])
	}
	return b.String()
}

// mark writes the lines of a that b does not have.
func mark(out *strings.Builder, sign, a, b string) {
	others := strings.Split(b, "\n")
	for line := range strings.SplitSeq(a, "\n") {
		if !slices.Contains(others, line) {
			fmt.Fprintf(out, "  %s%s\n", sign, line)
		}
	}
}

// equalsFresh waits until the objects of mc are those of a Memcached that is new and has the
// same spec.
func equalsFresh(t *testing.T, o *operator, mc *cachev1alpha1.Memcached) {
	t.Helper()
	settled(t, mc)
	namespace := o.fresh
	if namespace == "" {
		namespace = suite.NewNamespace(t)
	}
	fresh := newMemcached(t, namespace, mc.Spec)
	settled(t, fresh)
	difference := ""
	t.Cleanup(func() {
		if difference != "" {
			t.Logf("%s differs from a fresh Memcached:\n%s", mc.Namespace, difference)
		}
	})
	eventually(t, "the state should be that of a fresh Memcached", func(ctx context.Context) (bool, error) {
		want, err := stateOf(ctx, fresh.Namespace, false)
		if err != nil {
			return false, err
		}
		now, err := stateOf(ctx, mc.Namespace, false)
		if err != nil {
			return false, err
		}
		difference = now.diff(want)
		return difference == "", nil
	})
	remove(t, fresh)
	emptied(t, namespace)
}

// isEmpty reports whether namespace has no Memcached, no child and no pod.
func isEmpty(ctx context.Context, namespace string) (bool, error) {
	s, err := stateOf(ctx, namespace, true)
	return len(s) == 1 && s["Pods"] == "0", err
}
