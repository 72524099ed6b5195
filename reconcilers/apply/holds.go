// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answer is what the server made of an apply.
type answer struct {
	// desired was applied, and live is what it became.
	desired, live digest
	// drift names the fields that differ, less those that the server only adds defaults to.
	drift string
	at    time.Time
}

// holds reports whether an apply of rendered would not change live, as far as is known. drift
// names the fields that the server changes when rendered is applied: those are applied again
// after Options.Recheck, since whatever changes them may be gone.
func (a *Applier) holds(owner *Owner, rendered *unstructured.Unstructured, live client.Object) (holds bool, drift string, err error) {
	want, err := a.digest(rendered)
	have := appliedTo(live)
	if err != nil || want == have {
		return err == nil, "", err
	}
	last, known := a.answers.Get(live.GetUID())
	if known {
		last := last.(answer)
		if last.desired != want || last.live != have || last.drift != "" && a.options.Now().Sub(last.at) >= a.options.Recheck {
			return false, "", nil
		}
		return true, last.drift, nil
	}
	additions := a.defaults.of(templateOf(rendered, owner.GetName()))
	if len(additions) == 0 || have == "" {
		return false, "", nil
	}
	d, err := a.comparer.desired(rendered)
	if err != nil || d.with(additions) != have {
		return false, "", err
	}
	a.answers.Add(live.GetUID(), answer{desired: want, live: have})
	return true, "", nil
}

// digest returns the digest of the fields that rendered desires.
func (a *Applier) digest(rendered *unstructured.Unstructured) (digest, error) {
	key := digestOf(rendered.Object)
	if known, ok := a.digests.Get(key); ok {
		return known.(digest), nil
	}
	d, err := a.comparer.desired(rendered)
	if err != nil {
		return "", err
	}
	a.digests.Add(key, d.digest)
	return d.digest, nil
}

// learn notes what the server made of wanted, which was just applied: live, whose applied
// fields have the digest have. It returns the drift, and whether that was not known before.
func (a *Applier) learn(t template, wanted desired, live client.Object, have digest) (drift string, isNew bool, err error) {
	last, _ := a.answers.Get(live.GetUID())
	a.answers.Remove(live.GetUID())
	if have == wanted.digest {
		return "", false, nil
	}
	content, err := contentOf(live)
	if err != nil {
		return "", false, err
	}
	drift, differ, err := wanted.drift(live, content)
	if err != nil {
		return "", false, err
	}
	if differ != nil {
		typed, err := a.comparer.types.ObjectToTyped(live)
		if err != nil {
			return "", false, err
		}
		if added, ok := additions(typed, differ, wanted.content, content); ok {
			a.defaults.add(t, added)
			drift = ""
		}
	}
	a.answers.Add(live.GetUID(), answer{wanted.digest, have, drift, a.options.Now()})
	before, _ := last.(answer)
	return drift, drift != "" && drift != before.drift, nil
}
