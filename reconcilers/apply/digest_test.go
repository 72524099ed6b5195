// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
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

// TestReduce_ComputesDigestOfEachState changes an object in one way after another, as the cache shows
// an object's states: the digest is that of a process which has not seen the states before.
func TestReduce_ComputesDigestOfEachState(t *testing.T) {
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

// podTemplate has values of all Go types that differ from those of JSON.
var podTemplate = corev1.PodTemplateSpec{Spec: corev1.PodSpec{
	Containers: []corev1.Container{{
		Name: "memcached", Args: []string{"-m", "64", "<&>\u2028"}, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1024Mi"),
		}},
		Ports:         []corev1.ContainerPort{{Name: "memcache", ContainerPort: 11211}},
		Env:           []corev1.EnvVar{{Name: "A"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("memcache")}}},
	}},
	Volumes:     []corev1.Volume{{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	Tolerations: []corev1.Toleration{},
}}

// TestNewDigest_DependsOnJSONAlone compares the digest of typed objects with that of their JSON.
func TestNewDigest_DependsOnJSONAlone(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]client.Object{
		"Deployment": &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.Unix(1, 0), Labels: map[string]string{}, Annotations: map[string]string{"b": "", "a": "1"}},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Template: podTemplate, Strategy: appsv1.DeploymentStrategy{
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromString("25%"))},
			}},
		},
		"StatefulSet": &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: podTemplate, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
		}}}},
		"Secret":    &corev1.Secret{Data: map[string][]byte{"a": {0, 1, 255}, "empty": {}}, Immutable: new(false)},
		"ConfigMap": &corev1.ConfigMap{Data: map[string]string{"a": "1\n"}, BinaryData: map[string][]byte{"b": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				t.Fatal(err)
			}
			typed, err := valueOf(object)
			if err != nil {
				t.Fatal(err)
			}
			fields := fieldpath.NewSet()
			for field := range content {
				fields.Insert(fieldpath.MakePathOrDie(field))
			}
			if got, want := newDigest(fields, typed), newDigest(fields, value.NewValueInterface(content)); got != want {
				t.Errorf("the digest of the typed object is %s, and that of its JSON is %s:\n%s\n%s", got, want, encoded(typed), encoded(value.NewValueInterface(content)))
			}
		})
	}
}

func encoded(v value.Value) []byte {
	e := &encoder{allocator: value.NewFreelistAllocator()}
	e.appendValue(v)
	return e.text
}

// TestReduce_KeepsObjectsThatCannotBeEncoded: an API server's answer must not stop the process.
func TestReduce_KeepsObjectsThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	service := &corev1.Service{
		ObjectMeta: applied(`{"f:spec":{"f:ports":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{"f:targetPort":{}}}}}`),
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1, Protocol: corev1.ProtocolTCP, TargetPort: intstr.IntOrString{Type: 7}}}},
	}
	service.UID = "not encodable"
	if got := appliedTo(Reduce(service)); got != unreadable {
		t.Errorf("the digest is %s, want %s", got, unreadable)
	}
}

// BenchmarkNewDigest compares the digest of a typed object with that of its conversion to JSON types.
func BenchmarkNewDigest(b *testing.B) {
	object := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), Template: podTemplate}}
	fields := fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	b.Run("typed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			content, err := valueOf(object)
			if err != nil {
				b.Fatal(err)
			}
			newDigest(fields, content)
		}
	})
	b.Run("converted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				b.Fatal(err)
			}
			newDigest(fields, value.NewValueInterface(content))
		}
	})
}
