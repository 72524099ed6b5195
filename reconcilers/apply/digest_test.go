// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applied returns what an object needs for Reduce to see that FieldManager applied fields.
func applied(fields string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: "cache", UID: "uid", ResourceVersion: "1", Generation: 1,
		Labels:          map[string]string{"a": "b", "c": "d"},
		Annotations:     map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{{Name: "cache", UID: "owner", Controller: new(true)}},
		Finalizers:      []string{"example.com/a"},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}},
	}
}

const ownedFields = `{"f:metadata":{"f:labels":{"f:a":{}},"f:annotations":{"f:a":{}},"f:finalizers":{"v:\"example.com/a\"":{}},` +
	`"f:ownerReferences":{"k:{\"uid\":\"owner\"}":{}}},"f:spec":{"f:replicas":{},"f:clusterIP":{}}}`

// TestReduce_DigestFollowsTheObject changes an object in one way after another, as the cache shows
// an object's states: the digest is that of a process which has not seen the states before.
func TestReduce_DigestFollowsTheObject(t *testing.T) {
	t.Parallel()
	deployment := func() client.Object {
		return &appsv1.Deployment{ObjectMeta: applied(ownedFields), Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))}}
	}
	whole := func() client.Object {
		return &appsv1.Deployment{ObjectMeta: applied(`{"f:metadata":{"f:labels":{}}}`)}
	}
	service := func() client.Object {
		return &corev1.Service{ObjectMeta: applied(ownedFields), Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
	}
	for name, test := range map[string]struct {
		object func() client.Object
		change func(client.Object)
		same   bool
	}{
		"a status":                        {deployment, func(o client.Object) { o.SetResourceVersion("2"); o.(*appsv1.Deployment).Status.Replicas = 1 }, true},
		"a label of others":               {deployment, func(o client.Object) { o.GetLabels()["c"] = "e" }, true},
		"an annotation of others":         {deployment, func(o client.Object) { o.GetAnnotations()["deployment.kubernetes.io/revision"] = "1" }, true},
		"a label, all of them applied":    {whole, func(o client.Object) { o.GetLabels()["new"] = "e" }, false},
		"a label":                         {deployment, func(o client.Object) { o.GetLabels()["a"] = "e" }, false},
		"labels that change their values": {deployment, func(o client.Object) { o.SetLabels(map[string]string{"a": "d", "c": "b"}) }, false},
		"an annotation":                   {deployment, func(o client.Object) { o.SetAnnotations(map[string]string{"a": "e"}) }, false},
		"a label that becomes an annotation": {deployment, func(o client.Object) {
			o.SetLabels(map[string]string{"c": "d"})
			o.SetAnnotations(map[string]string{"a": "b"})
		}, false},
		"the controller":  {deployment, func(o client.Object) { o.GetOwnerReferences()[0].Controller = new(false) }, false},
		"the owner":       {deployment, func(o client.Object) { o.GetOwnerReferences()[0].Name = "other" }, false},
		"a finalizer":     {deployment, func(o client.Object) { o.SetFinalizers(nil) }, false},
		"the spec":        {deployment, func(o client.Object) { o.SetGeneration(2); o.(*appsv1.Deployment).Spec.Replicas = new(int32(2)) }, false},
		"applied fields":  {deployment, func(o client.Object) { o.SetManagedFields(applied(`{"f:spec":{"f:replicas":{}}}`).ManagedFields) }, false},
		"a UID":           {deployment, func(o client.Object) { o.SetUID("other"); o.(*appsv1.Deployment).Spec.Replicas = new(int32(2)) }, false},
		"a spec's status": {service, func(o client.Object) { o.SetResourceVersion("2"); o.(*corev1.Service).Spec.ClusterIP = "10.0.0.2" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := test.object()
			before.SetUID(before.GetUID() + "-of-" + types.UID(name))
			first := appliedTo(Reduce(before))
			changed := before.DeepCopyObject().(client.Object)
			test.change(changed)
			got, want := appliedTo(Reduce(changed)), appliedDigest(changed)
			if got != want {
				t.Errorf("the digest is %s, want %s", got, want)
			}
			if (got == first) != test.same {
				t.Errorf("the digest was %s and is %s", first, got)
			}
		})
	}
}
