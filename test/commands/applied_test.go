// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// applied records the first apply request of each object, by path.
type applied struct {
	mu     sync.Mutex
	bodies map[string][]byte
}

// wrap is for testenv.ManagerOptions.Wrap.
func (a *applied) wrap(next http.RoundTripper) http.RoundTripper {
	return testenv.RoundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPatch && !strings.HasSuffix(req.URL.Path, "/status") {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			a.mu.Lock()
			if _, found := a.bodies[req.URL.Path]; !found {
				a.bodies[req.URL.Path] = body
			}
			a.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

// in returns the objects that were applied in namespace, as JSON, by kind and name, without the precondition that the
// operator adds to the metadata.
func (a *applied) in(t *testing.T, namespace string) map[string]string {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	objects := map[string]string{}
	for path, body := range a.bodies {
		if !strings.Contains(path, "/namespaces/"+namespace+"/") {
			continue
		}
		object := &unstructured.Unstructured{}
		testenv.NoError(t, object.UnmarshalJSON(body))
		unstructured.RemoveNestedField(object.Object, "metadata", "resourceVersion")
		unstructured.RemoveNestedField(object.Object, "metadata", "uid")
		objects[object.GetKind()+" "+object.GetName()] = asJSON(t, object)
	}
	return objects
}

func asJSON(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	content, err := json.Marshal(object.Object)
	testenv.NoError(t, err)
	return string(content)
}

// TestRender_PrintsWhatTheOperatorApplies creates Memcacheds of the golden files, and compares the requests that the
// operator sends for it with what render prints for the live Memcached and for the file.
func TestRender_PrintsWhatTheOperatorApplies(t *testing.T) {
	requests := &applied{bodies: map[string][]byte{}}
	files, err := filepath.Glob(filepath.Join(controlplane.Root(), "reconcilers/render/testdata/memcacheds/*.yaml"))
	testenv.NoError(t, err)
	if len(files) < 60 {
		t.Fatalf("there are only %d golden Memcacheds", len(files))
	}
	// The templates are loaded for each call of render, so that every fourth file has to do: operator and
	// command share the renderer, whose tests have all of them.
	_, err = suite.StartManager(t.Context(), testenv.ManagerOptions{Wrap: requests.wrap})
	testenv.NoError(t, err)
	t.Run("case", func(t *testing.T) {
		for i := 0; i < len(files); i += 4 {
			file := files[i]
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
				t.Parallel()
				content, err := os.ReadFile(file)
				testenv.NoError(t, err)
				mc := testenv.Parse(t, string(content))
				mc.SetNamespace(suite.NewNamespace(t))
				mc.SetUID("")
				// The operator applies nothing for a paused Memcached; render ignores it.
				unstructured.RemoveNestedField(mc.Object, "spec", "paused")
				fileContent := asJSON(t, mc)
				suite.Create(t, mc)
				live, fromFile := printed(t, asJSON(t, mc)), printed(t, fileContent)
				testenv.Eventually(t, "the operator should apply all objects", func() bool { return len(requests.in(t, mc.GetNamespace())) == len(live) })
				for name, object := range requests.in(t, mc.GetNamespace()) {
					if live[name] != object {
						t.Errorf("render prints for the live Memcached\n%s\nthe operator applies\n%s", live[name], object)
					}
					if want := strings.Replace(object, string(mc.GetUID()), "", 1); fromFile[name] != want {
						t.Errorf("render prints for the file\n%s\nthe operator applies\n%s", fromFile[name], want)
					}
				}
			})
		}
	})
}

// printed returns the objects that render prints for mc, as JSON, by kind and name.
func printed(t *testing.T, mc string) map[string]string {
	t.Helper()
	code, out, stderr := render(t, []byte(mc), "-o", "json")
	if code != 0 {
		t.Fatalf("render exits with %d: %s", code, stderr)
	}
	list := &unstructured.UnstructuredList{}
	testenv.NoError(t, list.UnmarshalJSON([]byte(out)))
	objects := map[string]string{}
	for i := range list.Items {
		object := &list.Items[i]
		objects[object.GetKind()+" "+object.GetName()] = asJSON(t, object)
	}
	return objects
}
