// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// State holds the objects of a namespace as YAML, by kind and name, without what differs between two
// runs: identifiers, versions, addresses and times.
type State map[string]string

// StateOptions say what a State has.
type StateOptions struct {
	Kinds []schema.GroupVersionKind
	// Exact adds generations and revisions, which tell how the state came about.
	Exact bool
	// NoStatus leaves out the status, which controllers write.
	NoStatus bool
}

// State reads the state of namespace.
func (e *Env) State(ctx context.Context, namespace string, options StateOptions) (State, error) {
	s := State{}
	for _, kind := range options.Kinds {
		objects := List(kind)
		if err := e.Client.List(ctx, objects, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		for _, object := range objects.Items {
			if object.GetLabels()[discoveryv1.LabelManagedBy] == "endpointslice-controller.k8s.io" {
				continue // Kubernetes makes it for a Service.
			}
			if kind.Kind == "ConfigMap" && object.GetName() == "kube-root-ca.crt" {
				continue // Kubernetes makes it in each namespace, some time.
			}
			name := kind.Kind + " " + object.GetName()
			if options.NoStatus {
				delete(object.Object, "status")
			}
			normalise(object.Object, options.Exact)
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				return nil, err
			}
			s[name] = identifier.ReplaceAllString(strings.ReplaceAll(string(text), namespace, "NAMESPACE"), "UID")
		}
	}
	return s, nil
}

// normalise removes from object what differs between two runs.
func normalise(object map[string]any, exact bool) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return
	}
	metadata["managedFields"] = ownFields(metadata["managedFields"])
	delete(metadata, "namespace")
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations[apply.HashAnnotation] != nil {
		annotations[apply.HashAnnotation] = "HASH" // of the owner's UID too
	}
	if !exact {
		if annotations != nil {
			delete(annotations, "deployment.kubernetes.io/revision")
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
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
			if slices.Contains(volatile, name) || !exact && isGeneration || isAddress(name, field) {
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

// Changed returns the names of the objects that differ between two states, sorted.
func (s State) Changed(before State) []string {
	var names []string
	for name := range s {
		if s[name] != before[name] {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := s[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Diff returns the lines in which two states differ; it is empty when they do not.
func (s State) Diff(want State) string {
	var b strings.Builder
	for _, name := range s.Changed(want) {
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

// isAddress reports whether a field holds addresses that the API server assigned to a Service.
func isAddress(name string, field any) bool {
	text := strings.Trim(fmt.Sprint(field), "[]")
	return (name == "clusterIP" || name == "clusterIPs") && text != "None"
}
