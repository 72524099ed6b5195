// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// RecentTTL is how long an answer is trusted over a cache that does not show it:
	// far longer than a healthy watch lags, and short enough that an object which was
	// made and deleted again unseen is soon looked for on the server.
	RecentTTL = 10 * time.Second
	// maxRecent bounds the memory: what falls out costs one needless apply.
	maxRecent = 8192
)

// Recent keeps what the server last answered to a write until the cache has caught
// up with it, so that a reconcile that comes in between does not see, and undo or
// repeat, an old state. It is safe for use by many goroutines.
type Recent struct {
	scheme *runtime.Scheme
	// mu is held from a look at objects to what follows from it.
	mu      sync.Mutex
	objects *cache.LRUExpireCache
}

type recentKey struct {
	kind string
	ktypes.NamespacedName
}

// NewRecent returns an empty Recent for objects of scheme.
func NewRecent(scheme *runtime.Scheme) *Recent {
	return &Recent{scheme: scheme, objects: cache.NewLRUExpireCache(maxRecent)}
}

// Wrote remembers object as the server answered it. It must not be changed after.
func (r *Recent) Wrote(object client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects.Add(r.key(object, client.ObjectKeyFromObject(object)), object, RecentTTL)
}

// Get reads the object of key through reader into object, and returns it or the
// newer one that was written. The returned object is not to be changed.
func (r *Recent) Get(ctx context.Context, reader client.Reader, key client.ObjectKey, object client.Object) (client.Object, error) {
	id := r.key(object, key)
	err := reader.Get(ctx, key, object)
	if err != nil && client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	written, ok := r.objects.Get(id)
	if !ok {
		return object, err
	}
	newest := written.(client.Object)
	if err == nil && !isOlder(object, newest) {
		r.objects.Remove(id)
		return object, nil
	}
	return newest, nil
}

// Confirm tells whether object, which the cache now shows, is exactly what was
// written last, and if so drops it.
func (r *Recent) Confirm(object client.Object) bool {
	id := r.key(object, client.ObjectKeyFromObject(object))
	r.mu.Lock()
	defer r.mu.Unlock()
	written, ok := r.objects.Get(id)
	if !ok {
		return false
	}
	newest := written.(client.Object)
	if newest.GetUID() != object.GetUID() || newest.GetResourceVersion() != object.GetResourceVersion() {
		return false
	}
	r.objects.Remove(id)
	return true
}

// Forget drops what is remembered of object, which the cache saw deleted.
func (r *Recent) Forget(object client.Object) {
	id := r.key(object, client.ObjectKeyFromObject(object))
	r.mu.Lock()
	defer r.mu.Unlock()
	if written, ok := r.objects.Get(id); ok && written.(client.Object).GetUID() == object.GetUID() {
		r.objects.Remove(id)
	}
}

func (r *Recent) key(object client.Object, key client.ObjectKey) recentKey {
	kind := object.GetObjectKind().GroupVersionKind()
	if kind.Empty() {
		// Objects out of a cache carry no kind; the scheme knows theirs.
		kind, _ = apiutil.GVKForObject(object, r.scheme)
	}
	return recentKey{kind.GroupKind().String(), key}
}

// isOlder tells whether a is an earlier state than b. Versions that cannot be
// compared count as not older: the cache is right then.
func isOlder(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
