// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// FieldManager is the field manager of every object that the operator applies. It must never
	// change: fields of the old name would never be removed again.
	FieldManager = "memcached-operator"

	// createOnly is a resourceVersion with which an apply creates the object, or fails with a
	// conflict if it exists: no live object has this version.
	createOnly = "1"
)

// EndpointSliceKind is the kind of the objects that are rendered from observed pods.
var EndpointSliceKind = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")

// maxAnswers bounds the number of objects whose answer is kept, 400 bytes each. Losing one costs an apply that changes nothing, if
// the API server does not store each field.
const maxAnswers = 1 << 12

// Action is the action that was taken for one rendered object.
type Action string

// The actions.
const (
	// Unchanged means that the live object matches the rendered one.
	Unchanged Action = "unchanged"
	// Created means that the object did not exist.
	Created Action = "created"
	// Configured means that the object was changed or adopted.
	Configured Action = "configured"
	// Conflict means that the object has another owner and was not changed.
	Conflict Action = "conflict"
	// Waiting means that the object or its namespace is still being deleted.
	Waiting Action = "waiting"
	// Failed means that the write failed with Result.Err.
	Failed Action = "failed"
	// Deferred means that the object differs and was not changed, since Owner.MayReplacePods returned false.
	Deferred Action = "deferred"
)

// Result is the result of applying one rendered object.
type Result struct {
	Object *unstructured.Unstructured
	Action Action
	// Live is the live object, which may be reduced; nil when it is not known.
	Live client.Object
	// Err is set for Conflict and Failed.
	Err error
	// Fields are the paths, sorted, of the applied fields that a Configured write changed, added or removed, such as
	// spec.template.spec.containers[name="memcached"].image; none if the object could not be read before the write.
	Fields []string
	// Mutation names the fields that an admission policy or webhook modified when the object was last
	// applied; empty when there are none. NewMutation reports that they were not known before, and
	// UnknownMutation that this process has not applied the object.
	Mutation                     string
	NewMutation, UnknownMutation bool
	// NotYetCached reports that Live is the API server's response to the last write, which the
	// cache does not show yet.
	NotYetCached bool
	// InPlace is how far a change of images in place is; the zero value if there is none.
	InPlace InPlace
	// replacesPods reports that the write would change the template of running pods.
	replacesPods bool
}

// Applier applies objects. It is safe for use by many goroutines.
type Applier struct {
	// client reads from the cache and writes to the API server.
	client client.Client
	// live reads from the API server.
	live     client.Reader
	scheme   *runtime.Scheme
	comparer *comparer
	// answers holds the answer to the last apply of each object by its UID.
	answers       *lru.Cache
	pendingWrites *PendingWrites
	reduce        func(client.Object) client.Object
	contention    *Contention
}

// answer is the API server's response to an apply.
type answer struct {
	// wanted is the digest of what was applied, and stored that of what the API server stored: they differ if it does
	// not store each field, such as one of a feature that is disabled.
	wanted, stored digest
	mutation       string
	// before is the digest of an object that was scaled alone, and scaled the one that it has had since.
	before, scaled digest
}

// Options configure an Applier.
type Options struct {
	// Reduce reduces a live object to what is kept of it, as the cache does. The zero value means
	// the function Reduce.
	Reduce func(client.Object) client.Object
	// Contention is shared with the other writers for the same owners. The zero value means one of its own.
	Contention *Contention
}

// New returns an Applier that reads through c, whose cache must hold the kinds to apply, and through
// live, the API server, what the cache may not hold. types must know the schema of every kind to apply.
// pendingWrites is shared with the other readers of c.
func New(c client.Client, live client.Reader, types managedfields.TypeConverter, pendingWrites *PendingWrites, options Options) *Applier {
	if options.Reduce == nil {
		options.Reduce = Reduce
	}
	if options.Contention == nil {
		options.Contention = NewContention(time.Now)
	}
	return &Applier{
		client:        c,
		live:          live,
		scheme:        c.Scheme(),
		comparer:      &comparer{c.Scheme(), types},
		answers:       lru.New(maxAnswers),
		pendingWrites: pendingWrites,
		reduce:        options.Reduce,
		contention:    options.Contention,
	}
}
