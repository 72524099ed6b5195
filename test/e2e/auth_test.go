// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
)

// user is the only user of the caches that require a password.
const user = "alice"

// newUsers makes a Secret that gives user a password.
func newUsers(t *testing.T, namespace, password string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "users"}, Data: usersData(password)}
	cluster.Must(t, suite.Create(t.Context(), secret))
	return secret
}

func usersData(password string) map[string][]byte {
	return map[string][]byte{"auth": []byte(user + ":" + password + "\n")}
}

func TestAuth_RequiresPassword(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	secret := newUsers(t, namespace, "right")
	suite.Ready(t, suite.NewMemcached(t, namespace, "locked", 1, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Auth = &cachev1alpha1.Auth{SecretName: cachev1alpha1.ObjectName(secret.Name)}
	}))
	pod := &suite.Pods(t, namespace, "locked")[0]
	suite.CacheBy(t, namespace, pod.Name, cluster.Access{User: user, Password: "right"}).Set("key", "value")
	refuses(t, pod, cluster.Access{User: user, Password: "wrong"}, "authentication failure")
	refuses(t, pod, cluster.Access{}, "unauthenticated")
}
