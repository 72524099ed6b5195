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
// the answer, and wakes somebody only when it is more than that.
func TestWhatTheCacheShowsDuringAWriteWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	edited := configMap("1", "7")
	edited.Data = map[string]string{"edited": "yes"}
	for sentence, test := range map[string]struct {
		shown      []*corev1.ConfigMap
		answer     *corev1.ConfigMap
		overtaken  bool
		remembered bool
	}{
		"nothing is shown: the answer is remembered":             {nil, configMap("1", "6"), false, true},
		"the answer itself is shown: nothing to remember":        {[]*corev1.ConfigMap{configMap("1", "6")}, configMap("1", "6"), false, false},
		"an earlier state is part of the answer":                 {[]*corev1.ConfigMap{configMap("1", "5")}, configMap("1", "6"), false, true},
		"a later state wakes":                                    {[]*corev1.ConfigMap{configMap("1", "6"), edited}, configMap("1", "6"), true, false},
		"a later state that is the same is no news":              {[]*corev1.ConfigMap{configMap("1", "7")}, configMap("1", "6"), false, false},
		"another object of the name is news":                     {[]*corev1.ConfigMap{configMap("2", "4")}, configMap("1", "6"), true, false},
		"the write failed and something was shown: that is news": {[]*corev1.ConfigMap{configMap("1", "5")}, nil, true, false},
		"the write failed and nothing was shown":                 {nil, nil, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			recent := apply.NewRecent(env.scheme)
			failure := errors.New("refused")
			if test.answer != nil {
				failure = nil
			}
			overtaken, err := recent.Write(configMap("", ""), func() (client.Object, error) {
				for _, state := range test.shown {
					if !recent.Confirm(state) {
						t.Errorf("version %s did not wait", state.ResourceVersion)
					}
				}
				return test.answer, failure
			})
			if overtaken != test.overtaken || !errors.Is(err, failure) {
				t.Errorf("overtaken: %v, %v, want %v, %v", overtaken, err, test.overtaken, failure)
			}
			_, err = recent.Get(t.Context(), cached{}, client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.ConfigMap{})
			if remembered := err == nil; remembered != test.remembered {
				t.Errorf("remembered: %v, want %v", remembered, test.remembered)
			}
			if recent.Confirm(configMap("1", "9")) {
				t.Error("a later event still waits, though the write is over")
			}
		})
	}
}

func TestTwoWritesOfOneNameAreBothWaitedFor(t *testing.T) {
	t.Parallel()
	recent := apply.NewRecent(env.scheme)
	overtaken, _ := recent.Write(configMap("", ""), func() (client.Object, error) {
		wrote(recent, configMap("1", "6"))
		if !recent.Confirm(configMap("1", "7")) {
			t.Error("the second write is under way, and an event did not wait for it")
		}
		return nil, errors.New("refused")
	})
	if !overtaken {
		t.Error("the second write failed, and what was shown meanwhile is no news")
	}
}

func TestRecent_EventsPassAfterAPanicInAWrite(t *testing.T) {
	t.Parallel()
	recent := apply.NewRecent(env.scheme)
	func() {
		defer func() { _ = recover() }()
		_, _ = recent.Write(configMap("", ""), func() (client.Object, error) { panic("a fault of ours") })
	}()
	if recent.Confirm(configMap("1", "7")) {
		t.Error("an event waits for the write that panicked")
	}
}

func TestAnEventOfSomebodyElsesObjectDoesNotWait(t *testing.T) {
	t.Parallel()
	recent := apply.NewRecent(env.scheme)
	owned := func(owner types.UID) *corev1.ConfigMap {
		object := configMap("1", "6")
		object.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
		return object
	}
	_, _ = recent.Write(owned("mine"), func() (client.Object, error) {
		if recent.Confirm(owned("theirs")) {
			t.Error("their event waits for my write, and nobody will tell them")
		}
		if !recent.Confirm(owned("mine")) {
			t.Error("my event does not wait")
		}
		return owned("mine"), nil
	})
}
