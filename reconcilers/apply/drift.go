// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

const (
	// maxAnswers bounds the number of objects whose answer is kept; losing one costs an apply
	// that changes nothing.
	maxAnswers = 1 << 14
	// maxDigests bounds the memory of digests, at about 200 bytes per entry.
	maxDigests = 1 << 13
)

// comparer compares rendered objects with live ones. It is safe for use by many goroutines.
type comparer struct {
	scheme *runtime.Scheme
	types  managedfields.TypeConverter
	// recheck is Options.Recheck and now is Options.Now.
	recheck time.Duration
	now     func() time.Time
	// answers holds an answer by the UID of each object that the API server stored differently
	// from what was applied.
	answers *lru.Cache
	// digests holds the digest of the desired fields by the digest of the rendered object.
	digests  *lru.Cache
	defaults *serverDefaults
}

func newComparer(scheme *runtime.Scheme, types managedfields.TypeConverter, options Options) *comparer {
	return &comparer{
		scheme:   scheme,
		types:    types,
		recheck:  options.Recheck,
		now:      options.Now,
		answers:  lru.New(maxAnswers),
		digests:  lru.New(maxDigests),
		defaults: newServerDefaults(),
	}
}

// answer is the API server's response to an apply.
type answer struct {
	// desired is the digest of what was applied, and live that of what the API server stored.
	desired, live digest
	// drift names the fields that differ, except those that the API server only adds defaults to.
	drift string
	at    time.Time
}

// comparison is the result of comparing a rendered object with the live one.
type comparison struct {
	// needsApply reports that an apply would change the live object, as far as is known.
	needsApply bool
	// replacesPods reports that the apply would change the pod template.
	replacesPods bool
	// desired is the digest of the fields of the rendered object.
	desired digest
	// drift names the fields that the API server modifies whenever the object is applied. They are
	// applied again after Options.Recheck, since the policy that modifies them may be removed.
	drift string
}

// compare compares rendered, an object of owner, with live, which may be reduced.
func (c *comparer) compare(owner *Owner, rendered *unstructured.Unstructured, live client.Object) (comparison, error) {
	want, err := c.digest(rendered)
	if err != nil {
		return comparison{}, err
	}
	have := appliedTo(live)
	if want == have {
		return comparison{desired: want}, nil
	}
	differs := comparison{needsApply: true, replacesPods: want.podTemplate() != have.podTemplate(), desired: want}
	if last, ok := c.answers.Get(live.GetUID()); ok {
		last := last.(answer)
		if last.desired != want || last.live != have || last.drift != "" && c.now().Sub(last.at) >= c.recheck {
			return differs, nil
		}
		return comparison{desired: want, drift: last.drift}, nil
	}
	additions := c.defaults.of(templateOf(rendered, owner.GetName()))
	if len(additions) == 0 || have == "" {
		return differs, nil
	}
	d, err := c.desired(rendered)
	if err != nil {
		return comparison{}, err
	}
	if d.with(additions) != have {
		return differs, nil
	}
	c.answers.Add(live.GetUID(), answer{desired: want, live: have})
	return comparison{desired: want}, nil
}

// desiredOf returns desired(rendered) and caches its digest.
func (c *comparer) desiredOf(rendered *unstructured.Unstructured) (desired, error) {
	d, err := c.desired(rendered)
	if err == nil {
		c.digests.Add(digestOf(rendered.Object), d.digest)
	}
	return d, err
}

// digest returns the digest of the fields of rendered.
func (c *comparer) digest(rendered *unstructured.Unstructured) (digest, error) {
	if known, ok := c.digests.Get(digestOf(rendered.Object)); ok {
		return known.(digest), nil
	}
	d, err := c.desiredOf(rendered)
	return d.digest, err
}

// record records live, the API server's response to an apply of wanted, whose applied fields have the
// digest have. It returns the drift, and whether that was not known before.
func (c *comparer) record(t template, wanted desired, live client.Object, have digest) (drift string, isNew bool, err error) {
	last, _ := c.answers.Get(live.GetUID())
	c.answers.Remove(live.GetUID())
	if have == wanted.digest {
		return "", false, nil
	}
	content, err := valueOf(live)
	if err != nil {
		return "", false, err
	}
	drift, differ, err := wanted.drift(live, content)
	if err != nil {
		return "", false, err
	}
	if differ != nil {
		typed, err := c.types.ObjectToTyped(live)
		if err != nil {
			return "", false, err
		}
		if added, ok := additions(typed, differ, wanted.content, content); ok {
			c.defaults.add(t, added)
			drift = ""
		}
	}
	c.answers.Add(live.GetUID(), answer{wanted.digest, have, drift, c.now()})
	before, _ := last.(answer)
	return drift, drift != "" && drift != before.drift, nil
}

// drift returns, for messages, the fields in which live, the API server's response to an apply of d,
// differs from d. differ holds these fields if both have the same fields and only values differ.
func (d desired) drift(live client.Object, content value.Value) (drift string, differ *fieldpath.Set, err error) {
	applied, err := appliedFields(live)
	if err != nil {
		return "", nil, err
	}
	if !d.fields.Equals(applied) {
		return fmt.Sprintf("to apply: %v; to remove: %v", d.fields.Difference(applied), applied.Difference(d.fields)), nil, nil
	}
	differ = fieldpath.NewSet()
	compareFields(d.fields, d.content, content, nil, func(path fieldpath.Path) { differ.Insert(path.Copy()) })
	return differ.String(), differ, nil
}

// changes returns, for messages, the paths of the fields that differ between before and after, the object before and after
// an apply of d, among those that FieldManager applied to one of them.
func (d desired) changes(before, after client.Object) ([]string, error) {
	applied, err := appliedFields(before)
	if err != nil {
		return nil, err
	}
	old, err := valueOf(before)
	if err != nil {
		return nil, err
	}
	stored, err := valueOf(after)
	if err != nil {
		return nil, err
	}
	var paths []string
	compareFields(d.fields.Union(applied), stored, old, nil, func(path fieldpath.Path) {
		paths = append(paths, strings.TrimPrefix(path.String(), "."))
	})
	slices.Sort(paths)
	return paths, nil
}
