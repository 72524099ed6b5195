// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// patch returns objects with spec.patches applied. What that comes to is remembered,
// since kustomize's filters take longer than all else, and most renderings are of a
// Memcached that has not changed.
func (r *Renderer) patch(objects []*unstructured.Unstructured, patches []cachev1alpha1.Patch) ([]*unstructured.Unstructured, error) {
	if len(patches) == 0 {
		return objects, nil
	}
	text, err := json.Marshal([]any{objects, patches})
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	if known, ok := r.patched.Get(digest); ok {
		return copies(known.([]*unstructured.Unstructured)), nil
	}
	if err := r.checker.patchObjects(objects, patches); err != nil {
		return nil, err
	}
	r.patched.Add(digest, copies(objects))
	return objects, nil
}

func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		result[i] = object.DeepCopy()
	}
	return result
}

// patchObjects applies spec.patches to finished objects, in order. The error names
// the patch by its index.
func (c checker) patchObjects(objects []*unstructured.Unstructured, patches []cachev1alpha1.Patch) error {
	for i, patch := range patches {
		if err := c.patchSelected(objects, patch); err != nil {
			return fmt.Errorf("spec.patches[%d]: %w", i, err)
		}
	}
	return nil
}

func (c checker) patchSelected(objects []*unstructured.Unstructured, patch cachev1alpha1.Patch) error {
	parsed, err := parsePatch(patch.Patch)
	if err != nil {
		return err
	}
	if groups := groupsOf(patch.Target, objects); len(groups) > 1 {
		return fmt.Errorf("its target has a kind of several groups, %q: set target.group", groups)
	}
	selected := false
	for _, object := range objects {
		if !selects(patch.Target, object) {
			continue
		}
		selected = true
		if err := c.patchOne(object, parsed); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	if !selected {
		return fmt.Errorf("its target selects none of this Memcached's objects: %s", strings.Join(names(objects), ", "))
	}
	return nil
}

func selects(target cachev1alpha1.PatchTarget, object *unstructured.Unstructured) bool {
	return object.GetKind() == target.Kind &&
		(target.Group == nil || object.GroupVersionKind().Group == *target.Group) &&
		(target.Name == nil || object.GetName() == string(*target.Name))
}

// groupsOf are the groups of the kind that target leaves open. Whoever sets a patch was
// asked whether he may for one group.
func groupsOf(target cachev1alpha1.PatchTarget, objects []*unstructured.Unstructured) []string {
	groups := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() == target.Kind && target.Group == nil {
			groups[object.GroupVersionKind().Group] = true
		}
	}
	return slices.Sorted(maps.Keys(groups))
}

func names(objects []*unstructured.Unstructured) []string {
	var result []string
	for _, object := range objects {
		result = append(result, object.GetKind()+" "+object.GetName())
	}
	return result
}

// parsedPatch is one of the two forms of a patch.
type parsedPatch struct {
	// merge is a strategic merge patch, operations a JSON patch.
	merge      map[string]any
	operations string
}

// parsePatch reads a patch. By way of JSON, so that neither anchors nor comments nor
// further documents reach kustomize.
func parsePatch(text string) (parsedPatch, error) {
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return parsedPatch{}, err
	}
	var document any
	if err := decodeStrict(asJSON, &document); err != nil {
		return parsedPatch{}, err
	}
	switch document := document.(type) {
	case map[string]any:
		return parsedPatch{merge: document}, nil
	case []any:
		return parsedPatch{operations: string(asJSON)}, checkOperations(asJSON)
	default:
		return parsedPatch{}, errors.New("a patch is either a part of an object or a list of operations")
	}
}

// checkOperations refuses what kustomize would pass over or should not do.
func checkOperations(asJSON []byte) error {
	var operations []struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		From  string `json:"from"`
		Value any    `json:"value"`
	}
	if err := decodeStrict(asJSON, &operations); err != nil {
		return err
	}
	for i, o := range operations {
		if o.Op == "copy" {
			return fmt.Errorf("operation %d: copy is refused: a few of them could make an object of any size; write the value out", i)
		}
	}
	return nil
}

// patchOne patches object in place, and refuses what a patch may not change.
func (c checker) patchOne(object *unstructured.Unstructured, patch parsedPatch) error {
	filter, err := patch.filter(object)
	if err != nil {
		return err
	}
	node, err := kyaml.FromMap(runtime.DeepCopyJSON(object.Object))
	if err != nil {
		return err
	}
	patched, err := runFilter(filter, node)
	if err != nil {
		return err
	}
	if len(patched) != 1 || kyaml.IsYNodeEmptyMap(patched[0].YNode()) {
		return errors.New("a patch may not remove an object")
	}
	results, err := toObjects(patched)
	if err != nil {
		return err
	}
	if err := mustKeep(object.Object, results[0]); err != nil {
		return err
	}
	if err := c.check(&unstructured.Unstructured{Object: results[0]}); err != nil {
		return err
	}
	mirrorServiceAccount(results[0])
	object.Object = results[0]
	return nil
}

// filter is kustomize's own for this form of patch.
func (p parsedPatch) filter(object *unstructured.Unstructured) (kio.Filter, error) {
	if p.merge == nil {
		return patchjson6902.Filter{Patch: p.operations}, nil
	}
	// Kustomize finds in the schema how lists are merged by the kind of the patch.
	merge := runtime.DeepCopyJSON(p.merge)
	for key, value := range map[string]string{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()} {
		if stated, ok := merge[key]; ok && stated != value {
			return nil, fmt.Errorf("the patch is for %s %v, the target for %s", key, stated, value)
		}
		merge[key] = value
	}
	node, err := kyaml.FromMap(merge)
	if err != nil {
		return nil, err
	}
	return patchstrategicmerge.Filter{Patch: node}, nil
}

// runFilter runs filter on node. Kustomize panics on some malformed patches.
func runFilter(filter kio.Filter, node *kyaml.RNode) (result []*kyaml.RNode, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kustomize panicked: %v", p)
		}
	}()
	openAPI.Lock()
	defer openAPI.Unlock()
	return filter.Filter([]*kyaml.RNode{node})
}

// mustKeep compares what a patch may not change: what the operator finds its objects
// by, and what it did not let users choose.
func mustKeep(before, after map[string]any) error {
	for _, path := range [][]any{{"apiVersion"}, {"kind"}, {"spec", "selector"}, {"spec", "podSelector"}, {"status"}} {
		if !reflect.DeepEqual(lookup(before, path), lookup(after, path)) {
			return fmt.Errorf("a patch may not change %s", dotted(path))
		}
	}
	for _, path := range [][]any{{"metadata"}, {"spec", "template", "metadata"}} {
		was, _ := lookup(before, path).(map[string]any)
		is, _ := lookup(after, path).(map[string]any)
		for _, field := range fieldsOf(was, is) {
			if field != "labels" && field != "annotations" && !reflect.DeepEqual(was[field], is[field]) {
				return fmt.Errorf("a patch may not change %s.%s", dotted(path), field)
			}
		}
		wasLabels, _ := was["labels"].(map[string]any)
		isLabels, _ := is["labels"].(map[string]any)
		for _, key := range fieldsOf(wasLabels, isLabels) {
			if isReserved(key) && wasLabels[key] != isLabels[key] {
				return fmt.Errorf("a patch may not change the label %s, which is the operator's", key)
			}
		}
	}
	return nil
}

// isReserved tells whether a label belongs to the operator, as the rules of the CRD
// say too.
func isReserved(key string) bool {
	return key == "app" || key == "memcached_cr" || key == "pod-template-hash" || strings.HasPrefix(key, "app.kubernetes.io/")
}

func fieldsOf(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func dotted(path []any) string {
	var steps []string
	for _, step := range path {
		steps = append(steps, fmt.Sprint(step))
	}
	return strings.Join(steps, ".")
}
