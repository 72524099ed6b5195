// SPDX-License-Identifier: Apache-2.0

package features

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/testenv"
)

// toggled are the features that are turned on and off while others have their part in
// the objects: those that change what others changed too.
var toggled = []string{
	"affinity", "auth with tls", "extraArgs", "metrics", "patches of every kind", "patches of the Deployment",
	"podDisruptionBudget.maxUnavailable", "podMetadata.annotations", "podMetadata.labels", "resources",
	"service.annotations", "service.clusterIPService", "service.labels", "serviceAccountName", "tls with auth", "tls.plaintextPort",
}

// ofOthers is what other managers add to each child. No feature sets the same annotation: a key that
// a feature sets too would be removed with the feature.
var ofOthers = map[string]string{
	deployment: `
metadata: {labels: {example.com/team: others}, annotations: {example.com/note: others}}
spec:
  template:
    metadata: {labels: {example.com/team: others}, annotations: {example.com/note: others}}
    spec: {containers: [{name: proxy, image: proxy}], volumes: [{name: proxy, emptyDir: {}}]}
`,
	service: "metadata: {labels: {example.com/team: others}, annotations: {example.com/note: others}}",
	budget:  "metadata: {labels: {example.com/team: others}, annotations: {example.com/note: others}}",
}

func TestFeature_KeepsFieldsOfOthers(t *testing.T) {
	t.Parallel()
	for sentence, inject := range map[string]func(s *subject, child *unstructured.Unstructured, part map[string]any){
		"by server-side apply": (*subject).applyPart,
		"by update":            (*subject).updatePart,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, "cache")
			for key, text := range ofOthers {
				var part map[string]any
				testenv.NoError(t, yaml.Unmarshal([]byte(text), &part))
				inject(s, s.children[key], part)
			}
			s.look()
			s.mustHoldOthers("at first")
			s.atRest("at first")
			before := s.children
			for _, name := range toggled {
				f, ok := features[name]
				if !ok {
					t.Fatalf("there is no feature %s", name)
				}
				s.step(name+" comes", f.with, f.on)
				s.mustHoldOthers(name + " is there")
				s.step(name + " goes")
				s.mustBeAs(before)
			}
		})
	}
}

// applyPart applies part of child as another field manager.
func (s *subject) applyPart(child *unstructured.Unstructured, part map[string]any) {
	s.Helper()
	object := &unstructured.Unstructured{Object: part}
	object.SetGroupVersionKind(child.GroupVersionKind())
	object.SetNamespace(child.GetNamespace())
	object.SetName(child.GetName())
	testenv.NoError(s.T, suite.Client.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("injector")))
}

// updatePart writes child with part in it, in front of what lists have.
func (s *subject) updatePart(child *unstructured.Unstructured, part map[string]any) {
	s.Helper()
	testenv.Eventually(s.T, "another manager should write "+child.GetName(), func(ctx context.Context) (bool, error) {
		live := child.DeepCopy()
		if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(child), live); err != nil {
			return false, err
		}
		live.Object = add(live.Object, part).(map[string]any)
		err := suite.Client.Update(ctx, live, client.FieldOwner("injector"))
		if apierrors.IsConflict(err) { // with a controller's status
			return false, nil
		}
		return err == nil, err
	})
}

func add(to, more any) any {
	switch more := more.(type) {
	case map[string]any:
		fields, ok := to.(map[string]any)
		if !ok {
			return more
		}
		for key, value := range more {
			fields[key] = add(fields[key], value)
		}
		return fields
	case []any:
		items, _ := to.([]any)
		return append(more, items...)
	default:
		return more
	}
}

// mustHoldOthers checks that what others added is there.
func (s *subject) mustHoldOthers(when string) {
	s.Helper()
	mustHave := func(key string, metadata ...string) {
		s.Helper()
		for _, path := range [][]string{{"labels", "example.com/team"}, {"annotations", "example.com/note"}} {
			if value, _, _ := unstructured.NestedString(s.children[key].Object, slices.Concat(metadata, path)...); value != "others" {
				s.Errorf("%s: %v of %s is %q", when, path, key, value)
			}
		}
	}
	for _, key := range []string{deployment, service, budget} {
		mustHave(key, "metadata")
	}
	mustHave(deployment, "spec", "template", "metadata")
	pod, _, err := unstructured.NestedMap(s.children[deployment].Object, "spec", "template", "spec")
	testenv.NoError(s.T, err)
	for list, field := range map[string]string{"containers": "image", "volumes": "emptyDir"} {
		items, _ := pod[list].([]any)
		if !slices.ContainsFunc(items, func(item any) bool {
			fields := item.(map[string]any)
			return fields["name"] == "proxy" && fields[field] != nil
		}) {
			s.Errorf("%s: what others added to %s is gone: %v", when, list, items)
		}
	}
}
