// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shows is a cache that shows one ConfigMap.
type shows struct {
	client.Reader
	object *corev1.ConfigMap
}

func (s shows) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.object.DeepCopyInto(object.(*corev1.ConfigMap))
	return nil
}

// TestPendingWrites_KeepNothing covers the ways in which the cache shows a write: of a large fleet nothing may
// stay in memory.
func TestPendingWrites_KeepNothing(t *testing.T) {
	t.Parallel()
	for sentence, show := range map[string]func(t *testing.T, p *PendingWrites, written *corev1.ConfigMap){
		"after a read of a later version": func(t *testing.T, p *PendingWrites, written *corev1.ConfigMap) {
			later := written.DeepCopy()
			later.ResourceVersion = "7"
			_, _ = p.Get(t.Context(), shows{object: later}, client.ObjectKeyFromObject(written), &corev1.ConfigMap{})
		},
		"after the event of the deletion": func(_ *testing.T, p *PendingWrites, written *corev1.ConfigMap) {
			p.RecordDelete(written)
			p.ObserveDelete(written)
		},
		"after the deletion by another client, without owner": func(_ *testing.T, p *PendingWrites, written *corev1.ConfigMap) {
			deleted := written.DeepCopy()
			deleted.OwnerReferences = nil
			p.ObserveDelete(deleted)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := NewPendingWrites(clientgoscheme.Scheme)
			for i := range 100 {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Namespace: "a", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i)), ResourceVersion: "6",
					OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprint("owner-", i/3)), Controller: new(true)}},
				}}
				_ = p.Write(object, func() (client.Object, error) { return object, nil })
				owned := p.Owned(object.OwnerReferences[0].UID, corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind())
				if len(owned) != 1 || owned[0] != client.Object(object) {
					t.Fatalf("the owner of %d has %v", i, owned)
				}
				show(t, p, object)
			}
			if objects, owned, deleted := len(p.objects.Keys()), len(p.owned.Keys()), len(p.deleted.Keys()); objects+owned+deleted > 0 {
				t.Errorf("%d objects, %d owners and %d deletions are left", objects, owned, deleted)
			}
		})
	}
}
