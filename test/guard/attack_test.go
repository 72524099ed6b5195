// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// attack is what an author sends.
type attack struct {
	// before is the spec of the Memcached that an administrator made before, if any.
	before string
	// spec is what the author sends, as a new Memcached or over the one of before.
	spec string
	// refused are the policy's words to an author without rights.
	refused string
	// rights are what it takes, each: without any one of them it is refused.
	rights []string
	// stalled is what the operator says of it, if it does not take it either.
	stalled string
	// not are ways of writing by which it is not the same.
	not []string
}

const victim = "victim"

// memcached is one with spec, in YAML.
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
type way func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error

// ways are those of writing a new Memcached, and one that is there.
func ways(there bool) map[string]way {
	apply := func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("author"), client.ForceOwnership)
	}
	if !there {
		return map[string]way{
			"create": func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
				return c.Create(ctx, object)
			},
			"apply --server-side": apply,
		}
	}
	return map[string]way{
		"apply --server-side": apply,
		"replace": func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
			// The operator writes the status meanwhile.
			return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				live := object.DeepCopy()
				if err := c.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
					return err
				}
				object.SetResourceVersion(live.GetResourceVersion())
				return c.Update(ctx, object)
			})
		},
		"patch --type=json": func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
			patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec", "value": object.Object["spec"]}})
			if err != nil {
				return err
			}
			return c.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch))
		},
	}
}

// run sends a row in every way: by an author without rights, by those who lack one of
// what it takes, and by one who has all.
func (a attack) run(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	if a.before != "" {
		fatal(t, cluster.Client.Create(t.Context(), memcached(namespace, victim, a.before)))
	}
	before := state(t, namespace)
	ways := ways(a.before != "")
	for _, way := range a.not {
		delete(ways, way)
	}
	for how, write := range ways {
		a.wantRefusal(t, how, write, namespace, a.refused)
		for i := range a.rights {
			a.wantRefusal(t, how, write, namespace, policy, slices.Delete(slices.Clone(a.rights), i, i+1)...)
		}
	}
	if after := state(t, namespace); after != before {
		t.Errorf("the Memcached was\n%s\nand is\n%s", before, after)
	}
	c, err := as(a.rights...)
	fatal(t, err)
	how := slices.Sorted(maps.Keys(ways))[0]
	if err := ways[how](t.Context(), c, memcached(namespace, victim, a.spec)); err != nil {
		t.Fatalf("%s by an author with the rights %q: %v", how, a.rights, err)
	}
	wantVerdict(t, namespace, a.stalled)
	if a.before == "" && a.stalled == "" {
		wantMore(t, namespace)
	}
}

// wantRefusal sends a row as the author with these rights: the policy has to forbid it.
func (a attack) wantRefusal(t *testing.T, how string, write way, namespace, words string, rights ...string) {
	t.Helper()
	c, err := as(rights...)
	fatal(t, err)
	err = write(t.Context(), c, memcached(namespace, victim, a.spec))
	switch {
	case err == nil:
		t.Errorf("%s by an author with the rights %q is not refused", how, rights)
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), policy) || !strings.Contains(err.Error(), words):
		t.Errorf("%s by an author with the rights %q: %v\nwant of the policy: %s", how, rights, err, words)
	}
}

// state is the spec of the Memcached in namespace, if there is one.
func state(t *testing.T, namespace string) string {
	t.Helper()
	live := memcached(namespace, victim, "")
	err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(live), live)
	if apierrors.IsNotFound(err) {
		return ""
	}
	fatal(t, err)
	content, err := yaml.Marshal(live.Object["spec"])
	fatal(t, err)
	return string(content)
}

// wantVerdict waits for the operator's: stalled with these words, or not at all.
func wantVerdict(t *testing.T, namespace, stalled string) {
	t.Helper()
	var message string
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		mc := &cachev1alpha1.Memcached{}
		if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: victim}, mc); err != nil {
			return false, err
		}
		message = ""
		for _, condition := range mc.Status.Conditions {
			if condition.Type == "Stalled" {
				message = condition.Reason + ": " + condition.Message
			}
		}
		return mc.Status.ObservedGeneration == mc.Generation && (message != "") == (stalled != ""), nil
	})
	if err != nil || !strings.Contains(message, stalled) {
		t.Errorf("the operator says %q (%v), want %q", message, err, stalled)
	}
}
