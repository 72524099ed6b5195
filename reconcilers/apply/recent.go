// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// mu is held from a look at the maps to what follows from it.
	mu      sync.Mutex
	objects *cache.LRUExpireCache
	writes  map[writeKey]*write
}

// writeKey has the owner too: an event of somebody else's object of the name must not
// wait for a write that never was his.
type writeKey struct {
	recentKey
	owner ktypes.UID
}

// write is a write under way, or several of the same name.
type write struct {
	writers int
	// shown are the states that the cache showed meanwhile.
	shown []client.Object
}

type recentKey struct {
	kind string
	ktypes.NamespacedName
}

// NewRecent returns an empty Recent for objects of scheme.
func NewRecent(scheme *runtime.Scheme) *Recent {
	return &Recent{scheme: scheme, objects: cache.NewLRUExpireCache(maxRecent), writes: map[writeKey]*write{}}
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

// Write calls send, which writes object and returns the server's answer; that is
// remembered, and must not be changed after. Often the cache shows what was written before
// the answer is here. Such an event waits for send to return. overtaken says that
// the cache showed anything that is not part of the answer, so that somebody has to look
// again. The error is that of send.
func (r *Recent) Write(object client.Object, send func() (client.Object, error)) (overtaken bool, err error) {
	key := writeKey{r.key(object, client.ObjectKeyFromObject(object)), controllerOf(object)}
	w := r.begin(key)
	var answer client.Object
	// Also when send panics: nothing else would let the object's events pass again.
	defer func() { overtaken = r.end(w, key, answer) }()
	answer, err = send()
	if err != nil {
		answer = nil
	}
	return false, err
}

func (r *Recent) begin(key writeKey) *write {
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

// end returns whether w was overtaken. answer is nil when there is none.
func (r *Recent) end(w *write, key writeKey, answer client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.writers--; w.writers == 0 {
		delete(r.writes, key)
	}
	if answer == nil {
		return len(w.shown) > 0
	}
	shown, overtaken := false, false
	for _, state := range w.shown {
		newer := isOlder(answer, state)
		same := isSame(state, answer) || newer && IsSameButForVersion(answer, state)
		shown = shown || same
		overtaken = overtaken || state.GetUID() != answer.GetUID() || newer && !same
	}
	if !shown && !overtaken {
		r.objects.Add(key.recentKey, answer, RecentTTL)
	}
	return overtaken
}

// IsPending reports whether an answer about object is remembered that the cache has not shown.
func (r *Recent) IsPending(object client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.objects.Get(r.key(object, client.ObjectKeyFromObject(object)))
	return ok
}

// Confirm tells whether nobody need look at object, which the cache now shows: it is
// exactly what was written last, or a write of it is under way, which will look.
func (r *Recent) Confirm(object client.Object) bool {
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

func controllerOf(object client.Object) ktypes.UID {
	if controller := metav1.GetControllerOf(object); controller != nil {
		return controller.UID
	}
	return ""
}

// isSame tells whether a and b are one state of one object.
func isSame(a, b client.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// IsSameButForVersion reports whether two versions of an object are the same in all that the
// cache keeps. An object of one version, as a resync shows it, is not.
func IsSameButForVersion(before, after client.Object) bool {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return false
	}
	same, ok := before.DeepCopyObject().(client.Object)
	if !ok {
		return false
	}
	same.SetResourceVersion(after.GetResourceVersion())
	// Objects out of a cache have no kind.
	same.GetObjectKind().SetGroupVersionKind(after.GetObjectKind().GroupVersionKind())
	return equality.Semantic.DeepEqual(same, after)
}

// isOlder tells whether a is an earlier state than b. Versions that cannot be
// compared count as not older: the cache is right then.
func isOlder(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}
