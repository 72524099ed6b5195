// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// mutants is the number of mutated Memcacheds, one for each seed.
const mutants = 300

// TestRender_RejectsAsTheAPIServer creates mutated Memcacheds in a dry run, and compares the answers with those of render.
func TestRender_RejectsAsTheAPIServer(t *testing.T) {
	t.Parallel()
	memcacheds := mutated(t, suite.NewNamespace(t))
	var input bytes.Buffer
	for _, mc := range memcacheds {
		input.WriteString(asJSON(t, mc) + "\n")
	}
	code, _, stderr := render(t, input.Bytes())
	if code != 1 {
		t.Fatalf("render exits with %d: %s", code, stderr)
	}
	messages := rejections(stderr)
	rejected := 0
	for i, mc := range memcacheds {
		err := suite.Client.Create(t.Context(), mc.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		want := answer(t, err)
		if want != "" {
			rejected++
		}
		if got := sortedCauses(messages[i+1]); got != want {
			t.Errorf("seed %d: render says\n%s\nthe API server says\n%s\nfor %s", i, got, want, asJSON(t, mc))
		}
	}
	if rejected < mutants/3 || rejected > mutants*19/20 {
		t.Errorf("%d of %d mutated Memcacheds are rejected, so that the comparison says little", rejected, mutants)
	}
	t.Logf("%d of %d mutated Memcacheds are rejected", rejected, mutants)
}

// mutated returns the mutated Memcacheds.
func mutated(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "reconcilers/render/testdata/memcacheds/full.yaml"))
	testenv.NoError(t, err)
	full, schema := testenv.Parse(t, string(content)), specSchema(t)
	var memcacheds []*unstructured.Unstructured
	for seed := range mutants {
		mc := full.DeepCopy()
		mc.SetNamespace(namespace)
		mc.SetUID("")
		mc.SetName(fmt.Sprintf("cache-%d", seed))
		m := mutator{rand.New(rand.NewPCG(uint64(seed), 1))}
		mc.Object["spec"] = m.mutate(full.Object["spec"].(map[string]any), schema)
		// JSON, as a client sends it.
		testenv.NoError(t, mc.UnmarshalJSON([]byte(asJSON(t, mc))))
		memcacheds = append(memcacheds, mc)
	}
	return memcacheds
}

// rejections returns the messages of render by document, without those about Memcacheds that the API server would accept.
func rejections(stderr string) map[int]string {
	messages := map[int]string{}
	for line := range strings.Lines(stderr) {
		var document int
		prefix := "memcached-operator render: standard input: document "
		text, ok := strings.CutPrefix(line, prefix)
		if !ok {
			messages[0] += line
			continue
		}
		number, message, _ := strings.Cut(text, ": ")
		if _, err := fmt.Sscan(number, &document); err == nil && !strings.Contains(message, "cannot be rendered: ") {
			messages[document] = strings.TrimSuffix(message, "\n")
		}
	}
	return messages
}

// answer returns the message of err, an answer of the API server, with its causes in order; empty for none.
func answer(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatal(err)
	}
	return sortedCauses(status.Status().Message)
}

// sortedCauses returns message with the causes of "is invalid: [a, b]" in order: the API server's order is random. A cause
// begins with a field's path.
func sortedCauses(message string) string {
	head, causes, found := strings.Cut(message, " is invalid: [")
	if !found {
		return message
	}
	parts := strings.Split(strings.TrimSuffix(causes, "]"), ", ")
	slices.Sort(parts)
	return head + " is invalid: [" + strings.Join(parts, ", ") + "]"
}
