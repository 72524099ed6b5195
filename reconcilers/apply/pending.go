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
	// mu guards writing, and that objects and owned fit together.
	mu sync.Mutex
	// objects holds responses by objectKey.
	objects *cache.LRUExpireCache
	// owned holds the keys of objects by the UID of their controller; of expired objects too.
	owned *cache.LRUExpireCache
	// deleted holds the UIDs of deleted objects.
	deleted *cache.LRUExpireCache
	// writing counts the writes in progress.
	writing map[objectKey]int
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
		writing: map[objectKey]int{},
	}
}

// Get reads the object of key through reader into object, and returns that or a newer response to a write.
// The error is NotFound also for an object that was deleted. The caller must not change the returned object.
//
// The response is read before the cache: one that the cache shows in between is older than what the cache returns.
func (r *PendingWrites) Get(ctx context.Context, reader client.Reader, key client.ObjectKey, object client.Object) (client.Object, error) {
	id := r.key(object, key)
	kept, _ := r.objects.Get(id)
	err := reader.Get(ctx, key, object)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err == nil && r.IsDeleted(object) {
		err = apierrors.NewNotFound(schema.ParseGroupResource(id.kind), key.Name)
	}
	newest, ok := kept.(client.Object)
	switch {
	case !ok || r.IsDeleted(newest):
		return object, err
	case err == nil && !isOlder(object, newest):
		r.forget(newest)
		return object, nil
	default:
		return newest, nil
	}
}

// Write calls send, which writes object and returns the API server's response, and keeps the response, which must not be changed
// afterwards. The error is that of send.
func (r *PendingWrites) Write(object client.Object, send func() (client.Object, error)) error {
	key := r.key(object, client.ObjectKeyFromObject(object))
	r.mu.Lock()
	r.writing[key]++
	r.mu.Unlock()
	var response client.Object
	// Deferred, since send may panic.
	defer func() { r.end(key, response) }()
	sent, err := send()
	if err == nil {
		response = sent
	}
	return err
}

// end ends a write of key. response is nil if the write failed.
func (r *PendingWrites) end(key objectKey, response client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writing[key]--; r.writing[key] == 0 {
		delete(r.writing, key)
	}
	if response == nil {
		return
	}
	r.objects.Add(key, response, PendingWriteTTL)
	if owner := controllerOf(response); owner != "" {
		r.owned.Add(owner, append(r.ownedExcept(owner, key), key), PendingWriteTTL)
	}
}

// IsPending reports whether a write of object is in progress, or is not yet shown by the cache.
func (r *PendingWrites) IsPending(object client.Object) bool {
	key := r.key(object, client.ObjectKeyFromObject(object))
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.objects.Get(key)
	return ok || r.writing[key] > 0
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
	r.deleted.Add(object.GetUID(), true, PendingWriteTTL)
	r.forget(object)
}

// IsDeleted reports whether object, as the cache shows it, was deleted. It is false for an object that shows
// a deletion timestamp, which finalizers keep.
func (r *PendingWrites) IsDeleted(object client.Object) bool {
	_, ok := r.deleted.Get(object.GetUID())
	return ok && object.GetDeletionTimestamp() == nil
}

// ObserveDelete records that the cache no longer shows object.
func (r *PendingWrites) ObserveDelete(object client.Object) {
	r.forget(object)
	r.deleted.Remove(object.GetUID())
}

// forget drops the response to a write of object, unless a later one has replaced it.
func (r *PendingWrites) forget(object client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.key(object, client.ObjectKeyFromObject(object))
	kept, ok := r.objects.Get(key)
	if !ok || kept.(client.Object).GetUID() != object.GetUID() || isOlder(object, kept.(client.Object)) {
		return
	}
	r.objects.Remove(key)
	owner := controllerOf(kept.(client.Object))
	if others := r.ownedExcept(owner, key); len(others) > 0 {
		r.owned.Add(owner, others, PendingWriteTTL)
	} else {
		r.owned.Remove(owner)
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
