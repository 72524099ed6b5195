// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
)

func TestIsOfKind_IgnoresVersion(t *testing.T) {
	t.Parallel()
	for reference, want := range map[[2]string]bool{
		{"cache.example.com/v1alpha1", "Memcached"}: true,
		{"cache.example.com/v1beta1", "Memcached"}:  true,
		{"cache.example.com/v1alpha1", "Redis"}:     false,
		{"cache.example.org/v1alpha1", "Memcached"}: false,
		{"v1alpha1", "Memcached"}:                   false,
		{"a/b/c", "Memcached"}:                      false,
		{"", "Memcached"}:                           false,
	} {
		owner := &metav1.OwnerReference{APIVersion: reference[0], Kind: reference[1]}
		if got := apply.IsOfKind(owner, cachev1alpha1.MemcachedKind.GroupKind()); got != want {
			t.Errorf("%v: %t, want %t", reference, got, want)
		}
	}
}
