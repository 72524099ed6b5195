// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/apply"
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

// objects returns the objects that were applied, as JSON, by kind and name, without the precondition and the hash that the
// operator adds to the metadata.
func (a *applied) objects(t *testing.T) map[string]string {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	objects := map[string]string{}
	for _, body := range a.bodies {
		object := &unstructured.Unstructured{}
		testenv.NoError(t, object.UnmarshalJSON(body))
		unstructured.RemoveNestedField(object.Object, "metadata", "resourceVersion")
		unstructured.RemoveNestedField(object.Object, "metadata", "uid")
		apply.RemoveHash(object)
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

// TestRender_PrintsWhatTheOperatorApplies creates the Memcacheds of the golden files, and compares the requests that the
// operator sends for them with what render prints for the live Memcacheds and for the files.
func TestRender_PrintsWhatTheOperatorApplies(t *testing.T) {
	t.Parallel()
	requests := &applied{bodies: map[string][]byte{}}
	files, err := filepath.Glob(filepath.Join(controlplane.Root(), "reconcilers/render/testdata/memcacheds/*.yaml"))
	testenv.NoError(t, err)
	namespace := suite.NewNamespace(t)
	_, err = suite.StartManager(t.Context(), testenv.ManagerOptions{Namespaces: []string{namespace}, Wrap: requests.wrap})
	testenv.NoError(t, err)
	var live, stored strings.Builder
	for i, file := range files {
		content, err := os.ReadFile(file)
		testenv.NoError(t, err)
		if bytes.Contains(content, []byte("serviceMonitor:")) || bytes.Contains(content, []byte("rules:")) {
			continue // this API server does not serve these kinds
		}
		name := fmt.Sprintf("m%02d", i)
		mc := testenv.Parse(t, strings.NewReplacer("name: cache", "name: "+name, ", cache, ", ", "+name+", ").Replace(string(content))) // also in zones
		mc.SetNamespace(namespace)
		mc.SetUID("")
		// The operator applies nothing for a paused Memcached; render ignores it.
		unstructured.RemoveNestedField(mc.Object, "spec", "paused")
		stored.WriteString(asJSON(t, mc) + "\n")
		suite.Create(t, mc)
		live.WriteString(asJSON(t, mc) + "\n")
	}
	ofLive, ofStored := printed(t, live.String()), printed(t, stored.String())
	if len(ofLive) < 180 {
		t.Errorf("render prints only %d objects", len(ofLive))
	}
	testenv.Eventually(t, "the operator should apply all objects", func() bool {
		requests.mu.Lock()
		defer requests.mu.Unlock()
		return len(requests.bodies) == len(ofLive)
	})
	uid := regexp.MustCompile(`"uid":"[^"]+"`)
	for name, object := range requests.objects(t) {
		if ofLive[name] != object {
			t.Errorf("render prints for the live Memcached\n%s\nthe operator applies\n%s", ofLive[name], object)
		}
		if want := uid.ReplaceAllString(object, `"uid":""`); ofStored[name] != want {
			t.Errorf("render prints for the file\n%s\nthe operator applies\n%s", ofStored[name], want)
		}
	}
}

// printed returns the objects that render prints for mc, as JSON, by kind and name.
func printed(t *testing.T, mc string) map[string]string {
	t.Helper()
	code, out, stderr := render(t, mc, "-o", "json")
	if code != 0 {
		t.Fatalf("render exits with %d: %s", code, stderr)
	}
	list := &unstructured.UnstructuredList{}
	testenv.NoError(t, list.UnmarshalJSON([]byte(out)))
	objects := map[string]string{}
	for i := range list.Items {
		object := &list.Items[i]
		apply.RemoveHash(object)
		objects[object.GetKind()+" "+object.GetName()] = asJSON(t, object)
	}
	return objects
}
