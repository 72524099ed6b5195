// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"testing"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/guarded"
)

func TestRender_RejectsGuardedFieldsUnlessAllowed(t *testing.T) {
	t.Parallel()
	tree := shipped(t)
	for name, test := range map[string]struct {
		defaults Defaults
		spec     cachev1alpha1.MemcachedSpec
		rejected bool
	}{
		"renders no field at all":                       {spec: cachev1alpha1.MemcachedSpec{}},
		"rejects a guarded field":                       {spec: cachev1alpha1.MemcachedSpec{ServiceAccountName: new(cachev1alpha1.ObjectName("cache"))}, rejected: true},
		"renders a guarded field where it is allowed":   {defaults: Defaults{AllowPrivilegedFields: true}, spec: cachev1alpha1.MemcachedSpec{ServiceAccountName: new(cachev1alpha1.ObjectName("cache"))}},
		"renders another tag of the templates' image":   {spec: cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("memcached:1.6.38"))}},
		"rejects another image than the templates'":     {spec: cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("example.com/memcached:1.6.38"))}, rejected: true},
		"renders another tag of the environment's":      {defaults: Defaults{Image: "example.com/memcached:1"}, spec: cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("example.com/memcached:2"))}},
		"rejects the templates' beside the environment": {defaults: Defaults{Image: "example.com/memcached:1"}, spec: cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("memcached:1"))}, rejected: true},
		"renders another tag of the exporter's image":   {spec: cachev1alpha1.MemcachedSpec{Metrics: &cachev1alpha1.Metrics{Port: new(int32(9150)), Image: new(cachev1alpha1.Image("prom/memcached-exporter:v0.1.0"))}}},
		"renders an image that a pattern allows": {
			defaults: Defaults{OperandImages: guarded.Images{"example.com/cache/*"}}, spec: cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("example.com/cache/memcached:2"))},
		},
		"rejects the templates' image that no pattern allows": {
			defaults: Defaults{OperandImages: guarded.Images{"example.com/cache/*"}}, spec: cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("memcached:1"))}, rejected: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := plain()
			mc.Spec.Image, mc.Spec.Metrics, mc.Spec.ServiceAccountName = test.spec.Image, test.spec.Metrics, test.spec.ServiceAccountName
			r, err := New(tree, test.defaults)
			noError(t, err)
			_, err = r.Render(mc)
			if _, rejected := errors.AsType[*guarded.Error](err); rejected != test.rejected || err != nil && !rejected {
				t.Errorf("the error is %v, want a rejection: %v", err, test.rejected)
			}
		})
	}
}
