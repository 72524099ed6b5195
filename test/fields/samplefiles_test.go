// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/status"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// sampleFiles are the objects of config/samples, by their files.
func sampleFiles(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	found := map[string][]*unstructured.Unstructured{}
	root := filepath.Join(controlplane.Root(), "config", "samples")
	testenv.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found[name], err = documents(content)
		return err
	}))
	if len(found) == 0 {
		t.Fatal("there are no samples")
	}
	return found
}

func documents(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 { // not a comment alone
			objects = append(objects, object)
		}
	}
}

func TestSamples_AreReconciled(t *testing.T) {
	t.Parallel()
	for file, objects := range sampleFiles(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			namespace := suite.NewNamespace(t)
			var memcacheds []*cachev1alpha1.Memcached
			for _, object := range objects {
				object.SetNamespace(namespace)
				testenv.NoError(t, suite.Client.Create(t.Context(), object, client.FieldValidation("Strict")))
				if object.GetKind() == cachev1alpha1.MemcachedKind.Kind {
					memcacheds = append(memcacheds, &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object.GetName()}})
				}
			}
			if len(memcacheds) == 0 {
				t.Fatal("there is no Memcached")
			}
			for _, mc := range memcacheds {
				var why error
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("%s: %v", mc.Name, why)
					}
				})
				testenv.Eventually(t, mc.Name+" should be reconciled", func(ctx context.Context) (bool, error) {
					why = takenUp(ctx, mc)
					return why == nil, nil
				})
			}
		})
	}
}

// takenUp returns what a Memcached lacks to count as reconciled: a status that says so, and every
// object that is rendered for it. Whether pods run is not asked.
func takenUp(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
		return err
	}
	stalled := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionStalled)
	if mc.Status.ObservedGeneration != mc.Generation || stalled != nil {
		return fmt.Errorf("of generation %d the status says %+v", mc.Generation, mc.Status)
	}
	if status.IsPaused(mc) {
		return nil
	}
	objects, err := suite.operator.Renderer.Render(mc)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if !metav1.IsControlledBy(object, mc) {
			return fmt.Errorf("%s %s is not the Memcached's", object.GetKind(), object.GetName())
		}
	}
	return nil
}

func TestSamples_AreInAKustomization(t *testing.T) {
	t.Parallel()
	root := filepath.Join(controlplane.Root(), "config", "samples")
	for file := range sampleFiles(t) {
		content, err := os.ReadFile(filepath.Join(root, filepath.Dir(file), "kustomization.yaml"))
		testenv.NoError(t, err)
		var kustomization struct{ Resources []string }
		testenv.NoError(t, yaml.Unmarshal(content, &kustomization))
		if !slices.Contains(kustomization.Resources, filepath.Base(file)) {
			t.Errorf("%s is in no kustomization", file)
		}
	}
}
