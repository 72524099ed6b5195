// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// What each field guards is compared with the policy in test/admission.
func TestCheck_NamesTheFields(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec cachev1alpha1.MemcachedSpec
		want string
	}{
		"accepts a plain Memcached": {},
		"refuses one field": {
			cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "web"}},
			"this operator runs without --allow-privileged-fields and accepts none of these: spec.tls.secretName. " +
				"Remove them, or ask a cluster administrator to allow them (docs/user/privileged-fields.md)",
		},
		"refuses two fields, one in part": {
			cachev1alpha1.MemcachedSpec{ServiceAccountName: new(cachev1alpha1.ObjectName("cache")), Image: new(cachev1alpha1.Image("example.com/memcached:1"))},
			"this operator runs without --allow-privileged-fields and accepts none of these: spec.image outside --operand-images; spec.serviceAccountName. " +
				"Remove them, or ask a cluster administrator to allow them (docs/user/privileged-fields.md)",
		},
		"accepts an operand image": {spec: cachev1alpha1.MemcachedSpec{Image: new(cachev1alpha1.Image("memcached:1"))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Check(&cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache"}, Spec: test.spec}, Images{"memcached"})
			if message := text(err); message != test.want {
				t.Errorf("the error is %q, want %q", message, test.want)
			}
			if _, ok := errors.AsType[*Error](err); err != nil && !ok {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
