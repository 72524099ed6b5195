// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// TestFlash_OfAClass gives a cache a volume of a StorageClass. While there is none for the next pod, the one of before serves.
func TestFlash_OfAClass(t *testing.T) {
	parallel(t)
	if os.Getenv("NODE_DIR") == "" {
		t.Skip("the volumes are directories of this machine, on which local nodes run")
	}
	namespace := suite.NewNamespace(t)
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait}
	suite.Create(t, class)
	t.Cleanup(func() { suite.Kubectl(t, "delete", "storageclass", class.Name) })
	newVolume(t, namespace+"-a", class.Name)

	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "flash", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Flash = &cachev1alpha1.Flash{Size: resource.MustParse("1Gi"), StorageClassName: new(cachev1alpha1.ObjectName(class.Name))}
	}))
	before := suite.Pods(t, namespace, mc.Name)[0].Name
	cache := suite.Cache(t, namespace, before, memcached.Access{})
	if got, want := cache.Stats()["extstore_limit_maxbytes"], fmt.Sprint(912<<20); got != want {
		t.Errorf("memcached has %s bytes of flash, want %s", got, want)
	}
	cache.Set("key", "value")

	suite.Patch(t, mc, `{"spec":{"threads":2}}`)
	suite.NotReady(t, mc, "didn't find available persistent volumes to bind", corev1.PodReasonUnschedulable)
	if got := cache.Get("key"); got != "value" {
		t.Errorf("the pod of before has %q", got)
	}

	newVolume(t, namespace+"-b", class.Name)
	suite.Ready(t, mc)
	claims := &corev1.PersistentVolumeClaimList{}
	after := suite.Pods(t, namespace, mc.Name)[0].Name
	testenv.Eventually(t, "the claim of the pod of before should be deleted", func(ctx context.Context) (bool, string, error) {
		err := suite.Client.List(ctx, claims, client.InNamespace(namespace))
		var names []string
		for _, claim := range claims.Items {
			names = append(names, claim.Name)
		}
		return strings.Join(names, " ") == after+"-flash", fmt.Sprint(names), err
	})
}

// newVolume makes a PersistentVolume of class on the first node.
func newVolume(t *testing.T, name, class string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "flash")
	testenv.NoError(t, err)
	nodes := &corev1.NodeList{}
	testenv.NoError(t, suite.Client.List(t.Context(), nodes))
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: directory}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{nodes.Items[0].Labels[corev1.LabelHostname]}}},
		}}}},
	}}
	suite.Create(t, volume)
	t.Cleanup(func() {
		suite.Kubectl(t, "delete", "persistentvolume", name, "--wait=false")
		_ = os.RemoveAll(directory)
	})
}
