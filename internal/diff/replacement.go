// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Replacement is a workload whose pods would be replaced.
type Replacement struct {
	Kind, Name string
	// Pods is how many pods the workload has now.
	Pods int64
	// Fields are the fields of the pod template that differ, such as
	// spec.template.spec.containers[memcached].image; empty if the workload would be deleted.
	Fields []string
}

// isInPlace reports whether r is about images alone, which the operator changes in the pods of mc.
func (r Replacement) isInPlace(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.WarmRestart != nil && r.Name == mc.Name && len(r.Fields) > 0 && !slices.ContainsFunc(r.Fields, func(field string) bool { return !strings.HasSuffix(field, "].image") })
}

// podCounts holds, for the kinds of apps that replace their pods when the pod template changes, the field
// of the status with the number of pods.
var podCounts = map[string]string{
	"Deployment":  "replicas",
	"StatefulSet": "replicas",
	"DaemonSet":   "currentNumberScheduled",
}

// replacementOf returns the replacement of pods by change. It reports whether there is one: the workload
// exists, has pods, and its pod template differs or it would be deleted. Normalized objects have no status,
// so the number of pods is that of live.
func replacementOf(change Change, live *unstructured.Unstructured) (Replacement, bool) {
	if live == nil || live.GroupVersionKind().Group != "apps" {
		return Replacement{}, false
	}
	count, ok := podCounts[live.GetKind()]
	if !ok {
		return Replacement{}, false
	}
	pods, _, _ := unstructured.NestedInt64(live.Object, "status", count)
	r := Replacement{Kind: live.GetKind(), Name: live.GetName(), Pods: pods}
	if change.After != nil {
		before, _, _ := unstructured.NestedFieldNoCopy(change.Before.Object, "spec", "template")
		after, _, _ := unstructured.NestedFieldNoCopy(change.After.Object, "spec", "template")
		r.Fields = differingFields(nil, "spec.template", before, after)
	}
	return r, pods > 0 && (change.After == nil || len(r.Fields) > 0)
}

// differingFields appends the paths below path at which a and b differ to fields. List items with a name
// are compared by that.
func differingFields(fields []string, path string, a, b any) []string {
	if reflect.DeepEqual(a, b) {
		return fields
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return differingEntries(fields, path+".%s", x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			left, leftNamed := byName(x)
			right, rightNamed := byName(y)
			if leftNamed && rightNamed && !reflect.DeepEqual(left, right) {
				return differingEntries(fields, path+"[%s]", left, right)
			}
		}
	}
	return append(fields, path)
}

// differingEntries compares the values of a and b by key. format makes the path of a key.
func differingEntries(fields []string, format string, a, b map[string]any) []string {
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		fields = differingFields(fields, fmt.Sprintf(format, key), a[key], b[key])
	}
	return fields
}

// byName returns the items of list by their names, and whether each has one of its own.
func byName(list []any) (map[string]any, bool) {
	items := make(map[string]any, len(list))
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, ok := fields["name"].(string)
		if !ok {
			return nil, false
		}
		items[name] = item
	}
	return items, len(items) == len(list)
}
