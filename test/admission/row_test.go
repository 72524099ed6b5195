// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// row is a Memcached that an author sends.
type row struct {
	// name says what the author tries, as a predicate.
	name string
	// before is the spec of the Memcached that an administrator created before, if any.
	before string
	// spec is what the author sends, for a new Memcached or for the one of before. NAME
	// stands for the name of the Memcached.
	spec string
	// raw is what the author sends in place of a spec: an object, less its name.
	raw string
	// rights are what it requires, each: without one of them it is refused.
	rights []string
	// field is in the message of the refusal, and of the operator without the flag.
	field string
	// stalled is in the operator's message where the policy lets it pass and the operator
	// refuses it; empty where the operator accepts it.
	stalled string
	// whole limits the row to ways of writing that replace the whole spec.
	whole bool
	// paused says that the operator does not reconcile it.
	paused bool
}

// guardedRow returns a row that sets guarded fields of a Memcached, which requires rights.
func guardedRow(name, spec, field string, rights ...string) row {
	return row{name: name, spec: spec, field: field, rights: rights}
}

// over returns r for a Memcached that an administrator created with the spec before.
func (r row) over(before string) row {
	r.before = before
	return r
}

// hostile returns all rows, sorted by name.
func hostile() []row {
	rows := slices.Concat(secretRows, imageRows, affinityRows, podRows, objectRows, lendingRows, patchRows, plainRows)
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return rows
}

// targetName returns the name of the Memcached of row n.
func targetName(n int) string { return fmt.Sprintf("r%03d", n) }

// object returns the Memcached that the author sends.
func (r row) object(namespace, name string) *unstructured.Unstructured {
	if r.raw == "" {
		return memcached(namespace, name, strings.ReplaceAll(r.spec, "NAME", name))
	}
	raw := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(r.raw), &raw); err != nil {
		panic(err.Error() + ": " + r.raw)
	}
	mc := memcached(namespace, name, "")
	metadata, _ := raw["metadata"].(map[string]any)
	maps.Copy(mc.Object["metadata"].(map[string]any), metadata)
	delete(raw, "metadata")
	maps.Copy(mc.Object, raw)
	return mc
}

// memcached returns a Memcached with a spec in YAML.
func memcached(namespace, name, spec string) *unstructured.Unstructured {
	content := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(spec), &content); err != nil {
		panic(err.Error() + ": " + spec)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetAPIVersion(cachev1alpha1.SchemeGroupVersion.String())
	object.SetKind("Memcached")
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// way is one way of writing a Memcached.
type way struct {
	name  string
	write func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error
}

func create(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	return c.Create(ctx, object)
}

func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("author"), client.ForceOwnership)
}

func replace(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	// The operator writes the status meanwhile.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := object.DeepCopy()
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
			return err
		}
		object.SetResourceVersion(live.GetResourceVersion())
		return c.Update(ctx, object)
	})
}

func jsonPatch(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec", "value": object.Object["spec"]}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch))
}

func mergePatch(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	patch, err := json.Marshal(map[string]any{"spec": object.Object["spec"]})
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// ways returns those of writing a new Memcached, or one that exists.
func (r row) ways(existing bool) []way {
	applies := way{"apply --server-side", apply}
	switch {
	case r.raw != "" && existing: // an apply refuses unknown fields
		return []way{{"replace", replace}}
	case r.raw != "":
		return []way{{"create", create}}
	case !existing:
		return []way{{"create", create}, applies}
	case r.whole:
		return []way{{"replace", replace}, {"patch --type=json", jsonPatch}}
	default:
		return []way{{"replace", replace}, {"patch --type=json", jsonPatch}, {"patch --type=merge", mergePatch}, applies}
	}
}
