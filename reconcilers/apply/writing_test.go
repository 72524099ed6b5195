// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// The cache often shows a write before its answer is here. What it shows waits for
// the answer, and passes the event only when it shows another state.
func TestPendingWrites_HoldEventsDuringWrite(t *testing.T) {
	t.Parallel()
	edited := configMap("1", "7")
	edited.Data = map[string]string{"edited": "yes"}
	for sentence, test := range map[string]struct {
		shown      []*corev1.ConfigMap
		answer     *corev1.ConfigMap
		changed    bool
		remembered bool
	}{
		"remembers the response if the cache showed nothing": {nil, configMap("1", "6"), false, true},
		"remembers nothing if the cache showed the response": {[]*corev1.ConfigMap{configMap("1", "6")}, configMap("1", "6"), false, false},
		"ignores an earlier version":                         {[]*corev1.ConfigMap{configMap("1", "5")}, configMap("1", "6"), false, true},
		"reports a later version with other content":         {[]*corev1.ConfigMap{configMap("1", "6"), edited}, configMap("1", "6"), true, false},
		"ignores a later version with equal content":         {[]*corev1.ConfigMap{configMap("1", "7")}, configMap("1", "6"), false, false},
		"reports another object of the name":                 {[]*corev1.ConfigMap{configMap("2", "4")}, configMap("1", "6"), true, false},
		"reports an event during a write that failed":        {[]*corev1.ConfigMap{configMap("1", "5")}, nil, true, false},
		"reports nothing if the write failed":                {nil, nil, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			pending := apply.NewPendingWrites(suite.scheme)
			failure := errors.New("refused")
			if test.answer != nil {
				failure = nil
			}
			changed, err := pending.Write(configMap("", ""), func() (client.Object, error) {
				for _, state := range test.shown {
					if !pending.Observe(state) {
						t.Errorf("version %s did not wait", state.ResourceVersion)
					}
				}
				return test.answer, failure
			})
			if changed != test.changed || !errors.Is(err, failure) {
				t.Errorf("changed: %v, %v, want %v, %v", changed, err, test.changed, failure)
			}
			_, err = pending.Get(t.Context(), cached{}, client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.ConfigMap{})
			if remembered := err == nil; remembered != test.remembered {
				t.Errorf("remembered: %v, want %v", remembered, test.remembered)
			}
			if pending.Observe(configMap("1", "9")) {
				t.Error("a later event still waits, though the write is over")
			}
		})
	}
}

func TestPendingWrites_HoldEventsDuringConcurrentWrites(t *testing.T) {
	t.Parallel()
	pending := apply.NewPendingWrites(suite.scheme)
	changed, _ := pending.Write(configMap("", ""), func() (client.Object, error) {
		wrote(pending, configMap("1", "6"))
		if !pending.Observe(configMap("1", "7")) {
			t.Error("the second write is under way, and an event did not wait for it")
		}
		return nil, errors.New("refused")
	})
	if !changed {
		t.Error("the second write failed, and what was shown meanwhile is no news")
	}
}

func TestPendingWrites_PassEventsAfterPanic(t *testing.T) {
	t.Parallel()
	pending := apply.NewPendingWrites(suite.scheme)
	func() {
		defer func() { _ = recover() }()
		_, _ = pending.Write(configMap("", ""), func() (client.Object, error) { panic("a fault of ours") })
	}()
	if pending.Observe(configMap("1", "7")) {
		t.Error("an event waits for the write that panicked")
	}
}

func TestPendingWrites_PassEventsOfOtherOwners(t *testing.T) {
	t.Parallel()
	pending := apply.NewPendingWrites(suite.scheme)
	owned := func(owner types.UID) *corev1.ConfigMap {
		object := configMap("1", "6")
		object.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
		return object
	}
	_, _ = pending.Write(owned("mine"), func() (client.Object, error) {
		if pending.Observe(owned("theirs")) {
			t.Error("their event waits for my write, and nobody will tell them")
		}
		if !pending.Observe(owned("mine")) {
			t.Error("my event does not wait")
		}
		return owned("mine"), nil
	})
}
