// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// An update between two versions with the same content is a change and its reversal, if a write of ours may lie between them.
func TestChanged_PassesUpdatesDuringAWrite(t *testing.T) {
	t.Parallel()
	version := func(resourceVersion string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache", ResourceVersion: resourceVersion}}
	}
	pending := apply.NewPendingWrites(clientgoscheme.Scheme)
	passes := func() bool {
		return changed(pending).Update(event.UpdateEvent{ObjectOld: version("1"), ObjectNew: version("3")})
	}
	if passes() {
		t.Error("an update without a change passes")
	}
	err := pending.Write(version("1"), func() (client.Object, error) {
		if !passes() {
			t.Error("an update during a write does not pass")
		}
		return version("2"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !passes() {
		t.Error("an update before the cache shows a write does not pass")
	}
}
