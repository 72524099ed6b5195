// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// PendingWriteTTL bounds the time that a response takes precedence over a cache that does not
	// show it. It is far longer than the lag of a healthy watch, and short enough that an object which
	// was created and deleted before the watch saw it is soon read from the API server.
	PendingWriteTTL = 10 * time.Second
	// maxPendingWrites bounds the memory; losing an entry costs one needless apply.
	maxPendingWrites = 8192
)

// PendingWrites keeps the API server's response to a write until the cache shows it, so that a reconcile
// in between does not see an old state, and revert or repeat a write. Likewise it keeps which objects were
// deleted. It is safe for use by many goroutines.
type PendingWrites struct {
	scheme *runtime.Scheme
	// mu guards the fields below.
	mu sync.Mutex
	// objects holds responses by objectKey.
	objects *cache.LRUExpireCache
	// owned holds the keys of objects by the UID of their controller; of expired objects too.
	owned *cache.LRUExpireCache
	// deleted holds the UIDs of deleted objects.
	deleted *cache.LRUExpireCache
	writes  map[writeKey]*write
}

// writeKey identifies the writes of an object. It has the owner, so that an event of another owner's object
// with the same name does not wait for the write.
type writeKey struct {
	objectKey
	owner ktypes.UID
}

// write is a write in progress, or several of one object.
type write struct {
	writers int
	// shown are the states that the cache has shown since the write began.
	shown []client.Object
}

type objectKey struct {
	kind string
	ktypes.NamespacedName
}

// NewPendingWrites returns an empty PendingWrites for objects of scheme.
func NewPendingWrites(scheme *runtime.Scheme) *PendingWrites {
	return &PendingWrites{
		scheme:  scheme,
		objects: cache.NewLRUExpireCache(maxPendingWrites),
		owned:   cache.NewLRUExpireCache(maxPendingWrites),
		deleted: cache.NewLRUExpireCache(maxPendingWrites),
		writes:  map[writeKey]*write{},
	}
}

// Get reads the object of key through reader into object, and returns that or a newer response to a write.
// The error is NotFound also for an object that was deleted. The caller must not change the returned object.
func (r *PendingWrites) Get(ctx context.Context, reader client.Reader, key client.ObjectKey, object client.Object) (client.Object, error) {
	id := r.key(object, key)
	err := reader.Get(ctx, key, object)
	if err != nil && client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && r.isDeleted(object) {
		err = apierrors.NewNotFound(schema.ParseGroupResource(id.kind), key.Name)
	}
	written, ok := r.objects.Get(id)
	if !ok {
		return object, err
	}
	newest := written.(client.Object)
	if err == nil && !isOlder(object, newest) {
		r.remove(id, newest)
		return object, nil
	}
	return newest, nil
}

// Write calls send, which writes object and returns the API server's response. Write keeps the response,
// which must not be changed afterwards. The cache often shows a write before its response arrives;
// Observe reports such an event as handled. changed reports that the cache showed another state than the
// response, so that the object has to be reconciled again. The error is that of send.
func (r *PendingWrites) Write(object client.Object, send func() (client.Object, error)) (changed bool, err error) {
	key := writeKey{r.key(object, client.ObjectKeyFromObject(object)), controllerOf(object)}
	w := r.begin(key)
	var answer client.Object
	// Deferred, since the object's events would never pass again after a panic in send.
	defer func() { changed = r.end(w, key, answer) }()
	answer, err = send()
	if err != nil {
		answer = nil
	}
	return false, err
}

// begin adds a writer of key.
func (r *PendingWrites) begin(key writeKey) *write {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.writes[key]
	if w == nil {
		w = &write{}
		r.writes[key] = w
	}
	w.writers++
	return w
}

// end removes a writer of key and reports whether the object changed during the write. answer is nil when
// the write failed.
func (r *PendingWrites) end(w *write, key writeKey, answer client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.writers--; w.writers == 0 {
		delete(r.writes, key)
	}
	if answer == nil {
		return len(w.shown) > 0
	}
	shown, changed := false, false
	for _, state := range w.shown {
		newer := isOlder(answer, state)
		same := isSame(state, answer) || newer && EqualIgnoringVersion(answer, state)
		shown = shown || same
		changed = changed || state.GetUID() != answer.GetUID() || newer && !same
	}
	if !shown && !changed {
		r.add(key.objectKey, answer)
	}
	return changed
}

// add adds answer, the response to a write, which the cache does not show yet.
func (r *PendingWrites) add(key objectKey, answer client.Object) {
	r.objects.Add(key, answer, PendingWriteTTL)
	if owner := controllerOf(answer); owner != "" {
		r.owned.Add(owner, append(r.ownedExcept(owner, key), key), PendingWriteTTL)
	}
}

// remove removes written, the response to a write of key.
func (r *PendingWrites) remove(key objectKey, written client.Object) {
	r.objects.Remove(key)
	owner := controllerOf(written)
	if others := r.ownedExcept(owner, key); len(others) > 0 {
		r.owned.Add(owner, others, PendingWriteTTL)
	} else {
		r.owned.Remove(owner)
	}
}

// ownedExcept returns the keys of owner's objects without key.
func (r *PendingWrites) ownedExcept(owner ktypes.UID, key objectKey) []objectKey {
	known, _ := r.owned.Get(owner)
	keys, _ := known.([]objectKey)
	return slices.DeleteFunc(slices.Clone(keys), func(other objectKey) bool { return other == key })
}

// Owned returns the objects of kind with a pending write whose controller has the UID owner, in no order.
// The cache may show some of them by now.
func (r *PendingWrites) Owned(owner ktypes.UID, kind schema.GroupKind) []client.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	var objects []client.Object
	for _, key := range r.ownedExcept(owner, objectKey{}) {
		if key.kind != kind.String() {
			continue
		}
		if written, ok := r.objects.Get(key); ok && controllerOf(written.(client.Object)) == owner {
			objects = append(objects, written.(client.Object))
		}
	}
	return objects
}

// RecordDelete records that object was deleted, which the cache may not show yet.
func (r *PendingWrites) RecordDelete(object client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(object)
	r.deleted.Add(object.GetUID(), true, PendingWriteTTL)
}

// IsDeleted reports whether object, as the cache shows it, was deleted. It is false for an object that shows
// a deletion timestamp, which finalizers keep.
func (r *PendingWrites) IsDeleted(object client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isDeleted(object)
}

func (r *PendingWrites) isDeleted(object client.Object) bool {
	_, ok := r.deleted.Get(object.GetUID())
	return ok && object.GetDeletionTimestamp() == nil
}

// IsPending reports whether a write of object is not yet shown by the cache.
func (r *PendingWrites) IsPending(object client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.objects.Get(r.key(object, client.ObjectKeyFromObject(object)))
	return ok
}

// Observe records that the cache shows object. It reports whether the event needs no reconcile: object is
// the response to the last write, or a write is in progress that will compare it.
func (r *PendingWrites) Observe(object client.Object) bool {
	id := r.key(object, client.ObjectKeyFromObject(object))
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.writes[writeKey{id, controllerOf(object)}]; w != nil {
		w.shown = append(w.shown, object)
		return true
	}
	written, ok := r.objects.Get(id)
	if !ok || !isSame(written.(client.Object), object) {
		return false
	}
	r.remove(id, object)
	return true
}

// ObserveDelete records that the cache no longer shows object.
func (r *PendingWrites) ObserveDelete(object client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(object)
	r.deleted.Remove(object.GetUID())
}

// forget drops the response to a write of object.
func (r *PendingWrites) forget(object client.Object) {
	id := r.key(object, client.ObjectKeyFromObject(object))
	if written, ok := r.objects.Get(id); ok && written.(client.Object).GetUID() == object.GetUID() {
		r.remove(id, written.(client.Object))
	}
}

// key returns the key of the object of key, of the kind of object.
func (r *PendingWrites) key(object client.Object, key client.ObjectKey) objectKey {
	kind := object.GetObjectKind().GroupVersionKind()
	if kind.Empty() {
		// Objects from a cache have no kind.
		kind, _ = apiutil.GVKForObject(object, r.scheme)
	}
	return objectKey{kind.GroupKind().String(), key}
}

// controllerOf returns the UID of the controller of object, or "".
func controllerOf(object client.Object) ktypes.UID {
	if controller := metav1.GetControllerOf(object); controller != nil {
		return controller.UID
	}
	return ""
}
