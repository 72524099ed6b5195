// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applied returns a Deployment with hash as HashAnnotation to which FieldManager applied fields.
func applied(hash, fields string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cache", UID: "1", ResourceVersion: "1", Annotations: map[string]string{HashAnnotation: hash, "theirs": "a"},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "another", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:paused":{}}}`)},
				{Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)},
			},
		},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))},
	}
}

// TestReduce_KeepsDigest changes one thing of an object after another.
func TestReduce_KeepsDigest(t *testing.T) {
	t.Parallel()
	const fields = `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:hostNetwork":{}}}}}`
	was := appliedTo(applied("hash.template", fields))
	for name, test := range map[string]struct {
		object *appsv1.Deployment
		// same and samePods report that the digest, and that of the pod template, are those from before.
		same, samePods bool
	}{
		"nothing":                   {applied("hash.template", fields), true, true},
		"the order of fields":       {applied("hash.template", `{"f:spec":{"f:template":{"f:spec":{"f:hostNetwork":{}}},"f:replicas":{}}}`), true, true},
		"what was applied":          {applied("other.template", fields), false, true},
		"the applied pod template":  {applied("other.other", fields), false, false},
		"a field that another took": {applied("hash.template", `{"f:spec":{"f:template":{"f:spec":{"f:hostNetwork":{}}}}}`), false, true},
		"a field of the pods":       {applied("hash.template", `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:hostPID":{}}}}}`), false, false},
		"no hash":                   {applied("", fields), false, false},
		"a hash without end":        {applied(strings.Repeat("hash.template", 1000), fields), false, false},
		"fields that are no fields": {applied("hash.template", `{"x":{}}`), false, false},
		"fields that are a digest":  {applied("hash.template", `"`+string(was)+`"`), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.object.Status.Replicas = 3
			test.object.Annotations["theirs"] = "b"
			reduced := Reduce(test.object)
			is := appliedTo(reduced)
			if again := appliedTo(Reduce(reduced)); again != is {
				t.Errorf("reduced again, the digest is %s, and was %s", again, is)
			}
			if (is == was) != test.same || (is.podTemplate() == was.podTemplate()) != test.samePods {
				t.Errorf("the digest is %s, and was %s", is, was)
			}
			if len(is) > 200 {
				t.Errorf("the digest has %d bytes", len(is))
			}
		})
	}
}

// TestReduce_OthersAppliedNothing: an object that FieldManager has not applied has no digest.
func TestReduce_OthersAppliedNothing(t *testing.T) {
	t.Parallel()
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "cache", Annotations: map[string]string{HashAnnotation: "hash"}}}
	if d := appliedTo(Reduce(object)); d != "" || isApplied(Reduce(object)) {
		t.Errorf("the digest is %q", d)
	}
}

// BenchmarkReduce reduces a Deployment as the cache does with each event.
func BenchmarkReduce(b *testing.B) {
	object := applied("hash.template", `{"f:metadata":{"f:labels":{"f:app":{}},"f:ownerReferences":{"k:{\"uid\":\"1\"}":{}}},"f:spec":{"f:replicas":{},`+
		`"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"memcached\"}":{".":{},"f:args":{},"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},`+
		`"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":11211,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}}}}}}}}`)
	b.ReportAllocs()
	for b.Loop() {
		Reduce(object)
	}
}
