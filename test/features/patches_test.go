// SPDX-License-Identifier: Apache-2.0

package features

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

const goodPatch = `{target: {kind: Deployment}, patch: "metadata: {annotations: {example.com/note: good}}"}`

// failingPatches are patches that cannot be applied, and what the message says: one of each kind of failure. All
// messages are tested in reconcilers/render.
var failingPatches = map[string]struct {
	patch string
	words string
}{
	"rejects a path that does not exist": {
		`{target: {kind: Deployment}, patch: "[{op: replace, path: /spec/nowhere/at, value: 1}]"}`,
		"Deployment cache: operation 0: /spec/nowhere/at does not exist",
	},
	"rejects a target that selects no object": {
		`{target: {kind: StatefulSet, group: apps}, patch: "spec: {replicas: 3}"}`,
		"its target selects none of this Memcached's objects: Service cache, Deployment cache, PodDisruptionBudget cache",
	},
	"rejects an unknown field":          {`{target: {kind: Deployment}, patch: "spec: {replica: 3}"}`, "Deployment cache: spec.replica: unknown field"},
	"rejects invalid YAML":              {`{target: {kind: Deployment}, patch: "spec: {"}`, "it cannot be read as YAML: line 1"},
	"rejects a change of the name":      {`{target: {kind: Service}, patch: "metadata: {name: web}"}`, "a patch may not change metadata.name"},
	"rejects the removal of the object": {`{target: {kind: PodDisruptionBudget}, patch: "{$patch: delete}"}`, "a patch may not remove or replace an object as a whole"},
}

func TestPatches_FailureStallsAndChangesNothing(t *testing.T) {
	t.Parallel()
	for sentence, row := range failingPatches {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, "cache", "patches: ["+goodPatch+"]")
			before := s.children

			s.set("threads: 8", "patches: ["+goodPatch+", "+row.patch+"]")
			s.stalled("with a patch that fails", cachev1alpha1.ReasonInvalidPatch, "spec.patches[1]: ", row.words)
			for _, sent := range take(s.namespace) {
				if sent.object != "memcacheds/cache/status" {
					t.Errorf("with a patch that fails, %s is written", sent.object)
				}
			}
			s.look()
			s.mustBeAs(before)
			s.atRest("while it is stalled")

			s.told = s.mc.Generation
			want := []string{deployment, service}
			if got := s.step("once it is corrected", "threads: 8", "patches: ["+goodPatch+
				`, {target: {kind: Service}, patch: "[{op: add, path: /metadata/annotations, value: {example.com/note: corrected}}]"}]`); !slices.Equal(got, want) {
				t.Errorf("once it is corrected, changed are %v, want %v", got, want)
			}
			s.step("once they are gone")
		})
	}
}

// TestPatches_RejectionStallsOneObject: the API server validates more than the schema of an object.
func TestPatches_RejectionStallsOneObject(t *testing.T) {
	t.Parallel()
	s := newSubject(t, "cache")
	before := s.children[deployment]

	s.set("service: {labels: {team: web}}", `patches: [{target: {kind: Deployment}, patch: "spec: {template: {spec: {restartPolicy: Never}}}"}]`)
	s.stalled("with a patch that the server refuses", cachev1alpha1.ReasonInvalidObject, "Deployment", "spec.template.spec.restartPolicy", "Unsupported value: supported values")
	s.mustHaveChanged("with a patch that the server refuses", service)
	if policy, _, _ := unstructured.NestedString(s.children[deployment].Object, "spec", "template", "spec", "restartPolicy"); policy != "Always" || s.children[deployment].GetGeneration() != before.GetGeneration() {
		t.Errorf("the Deployment was changed: restartPolicy is %s", policy)
	}

	s.set("service: {labels: {team: web}}", `patches: [{target: {kind: Deployment}, patch: "spec: {template: {spec: {hostname: cache}}}"}]`)
	s.settled("once it is corrected")
	s.mustHaveChanged("once it is corrected", deployment)
	// The rejected apply may be repeated until the correction, so that only requests from here on are counted.
	s.cacheIsCurrent("once it is corrected")
	take(s.namespace)
	s.atRest("once it is corrected")
}
