// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// Kinds of OLM, and the CustomResourceDefinition's.
var (
	sources       = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"}
	subscriptions = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"}
	plans         = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "InstallPlan"}
	csvs          = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"}
	conditions    = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v2", Kind: "OperatorCondition"}
	crds          = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// definition is the name of the CustomResourceDefinition.
const definition = "memcacheds.cache.example.com"

// What the tests look at of those kinds. Their Go types would bring their own dependencies.
type (
	object struct {
		Metadata metav1.ObjectMeta
	}
	source struct {
		Status struct {
			ConnectionState struct{ LastObservedState string }
		}
	}
	subscription struct {
		Status struct {
			State, CurrentCSV, InstalledCSV string
			InstallPlanRef                  struct{ Name string }
			Conditions                      []condition
		}
	}
	plan struct {
		Spec struct {
			Approval                   string
			Approved                   bool
			ClusterServiceVersionNames []string
		}
		Status struct {
			Phase, Message string
			Conditions     []condition
		}
	}
	csv struct {
		Spec   struct{ Version, Replaces string }
		Status struct{ Phase, Reason, Message string }
	}
	operatorCondition struct {
		Spec struct{ Conditions []condition }
	}
	condition struct{ Type, Status, Reason, Message string }
)

// view reads an object as T.
func view[T any](ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*T, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(kind)
	if err := suite.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, found); err != nil {
		return nil, err
	}
	content, err := found.MarshalJSON()
	if err != nil {
		return nil, err
	}
	seen := new(T)
	return seen, json.Unmarshal(content, seen)
}

// until waits until an object holds, and returns it.
func until[T any](t *testing.T, kind schema.GroupVersionKind, namespace, name, what string, holds func(*T) bool) *T {
	t.Helper()
	var seen *T
	testenv.Eventually(t, fmt.Sprintf("%s %s/%s: %s", kind.Kind, namespace, name, what), func(ctx context.Context) (done bool, last string, err error) {
		if seen, err = view[T](ctx, kind, namespace, name); err != nil {
			return false, "", err
		}
		content, err := json.Marshal(seen)
		return holds(seen), string(content), err
	})
	return seen
}

// says tells whether one of conditions is of that type, with words in its reason and message.
func says(conditions []condition, conditionType, status string, words ...string) bool {
	for _, c := range conditions {
		if c.Type == conditionType && c.Status == status && cluster.ContainsAll(c.Reason+": "+c.Message, words) {
			return true
		}
	}
	return false
}

// apply applies YAML as a user does.
func apply(t *testing.T, yaml string, values ...any) {
	t.Helper()
	suite.KubectlInput(t, fmt.Sprintf(yaml, values...), "apply", "-f", "-")
}

// patch changes an object by a merge patch.
func patch(t *testing.T, kind schema.GroupVersionKind, namespace, name, patch string) {
	t.Helper()
	suite.Patch(t, metadataOf(kind, namespace, name), patch)
}

// metadataOf is an object with nothing but its name.
func metadataOf(kind schema.GroupVersionKind, namespace, name string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object.SetGroupVersionKind(kind)
	return object
}
