// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// FieldManager is the field manager of everything that the operator applies.
	// It must never change: a new name would orphan every field that the old one owns.
	FieldManager = "memcached-operator"

	// createOnly as resourceVersion makes an apply create the object, and answer 409
	// when one of that name exists: no live object has that version.
	createOnly = "1"

	// maxWrites is how many objects of one owner are written at the same moment. The shipped
	// templates make at most 5; what is beyond needs another look at the owner.
	maxWrites = 8

	// maxAnswers bounds for how many objects it is kept what the server made of them; what
	// falls out costs an apply that changes nothing.
	maxAnswers = 1 << 14
	// maxDigests bounds the memory of digests, at about 200 bytes each; what falls out is
	// computed anew.
	maxDigests = 1 << 13
)

// Action is what was done about one rendered object.
type Action string

// The actions.
const (
	// Skipped: the live object already holds what was rendered.
	Skipped Action = "skipped"
	// Created: there was none.
	Created Action = "created"
	// Configured: it was changed, or taken over.
	Configured Action = "configured"
	// Refused: an object of that name belongs to somebody else and was left alone.
	Refused Action = "refused"
	// Waiting: an object of that name is still being deleted, or its namespace is.
	Waiting Action = "waiting"
	// Failed: the write failed; Result.Err says why.
	Failed Action = "failed"
)

// Result is what became of one rendered object.
type Result struct {
	Object *unstructured.Unstructured
	Action Action
	// Live is the object as it is now; nil when that is not known.
	Live client.Object
	// Err is set with Refused and Failed.
	Err error
	// Drift names the fields in which the object differs from the rendered one although it
	// was applied: something on the server changes what we write. Empty otherwise. NewDrift
	// says that it was not known before.
	Drift    string
	NewDrift bool
	// Unconfirmed says that Live is what the server last answered, which the cache
	// does not show yet.
	Unconfirmed bool
	// Overtaken says that the object changed again while it was written: look again.
	Overtaken bool
}

// Applier applies objects. It is safe for use by many goroutines.
type Applier struct {
	// client reads from the cache and writes to the server.
	client client.Client
	// live reads from the server.
	live     client.Reader
	scheme   *runtime.Scheme
	comparer comparer
	recent   *Recent
	options  Options
	// answers holds, by UID, what the server made of the last apply where that is not what
	// was applied.
	answers *lru.Cache
	// digests holds the digest of the desired fields by that of the rendered object.
	digests  *lru.Cache
	defaults *serverDefaults
	reverts  *reverts
}

// Options are what an Applier may be told.
type Options struct {
	// Reduce cuts a live object down to what is kept of it; the cache must do the same. The
	// zero value means the function Reduce.
	Reduce func(client.Object) client.Object
	// Recheck is how long an object that the server changes when it is applied is left as it
	// is before it is applied again. The zero value means a minute.
	Recheck time.Duration
	// Now returns the time. The zero value means time.Now.
	Now func() time.Time
}

// New returns an Applier that reads through c, whose cache must hold the kinds to
// apply, and through live where absence from that cache proves nothing. types knows
// the schema of every kind to apply; recent is shared with the other readers of c.
func New(c client.Client, live client.Reader, types managedfields.TypeConverter, recent *Recent, options Options) *Applier {
	if options.Reduce == nil {
		options.Reduce = Reduce
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	options.Recheck = cmp.Or(options.Recheck, time.Minute)
	return &Applier{
		client:   c,
		live:     live,
		scheme:   c.Scheme(),
		comparer: comparer{scheme: c.Scheme(), types: types},
		recent:   recent,
		options:  options,
		answers:  lru.New(maxAnswers),
		digests:  lru.New(maxDigests),
		defaults: newServerDefaults(),
		reverts:  newReverts(options.Now),
	}
}
