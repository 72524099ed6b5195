// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/reconcilers/apply"
	"github.com/example/memcached-operator/test/testenv"
)

// cached is a cache that shows one ConfigMap, or an error when that is nil.
type cached struct {
	client.Reader
	shows *corev1.ConfigMap
	err   error
}

func (c cached) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch {
	case c.err != nil:
		return c.err
	case c.shows == nil || client.ObjectKeyFromObject(c.shows) != key:
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	c.shows.DeepCopyInto(object.(*corev1.ConfigMap))
	return nil
}

func configMap(uid, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: types.UID(uid), ResourceVersion: version}}
}

func TestPendingWrites_GetReturnsNewestState(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		cached, written *corev1.ConfigMap
		err             error
		// want is the version seen, now and (again, when not empty) at the next look.
		want, again string
		gone        bool
	}{
		"returns the cached object if nothing was written":                {cached: configMap("1", "5"), want: "5"},
		"returns not found if nothing was written":                        {gone: true},
		"returns the response before the cache shows the object":          {written: configMap("1", "5"), want: "5", again: "5"},
		"returns the response over a cached object of an earlier version": {cached: configMap("1", "5"), written: configMap("1", "6"), want: "6", again: "6"},
		"returns the cached object of the same version":                   {cached: configMap("1", "6"), written: configMap("1", "6"), want: "6"},
		"returns the cached object of a later version":                    {cached: configMap("1", "7"), written: configMap("1", "6"), want: "7"},
		"compares versions as numbers":                                    {cached: configMap("1", "9"), written: configMap("1", "10"), want: "10", again: "10"},
		"prefers the cache over an earlier object of the name":            {cached: configMap("2", "7"), written: configMap("1", "6"), want: "7"},
		"prefers the response over an earlier object of the name":         {cached: configMap("1", "6"), written: configMap("2", "7"), want: "7", again: "7"},
		"prefers the cache if a version is not a number":                  {cached: configMap("1", "x"), written: configMap("1", "6"), want: "x"},
		"returns the error of the cache":                                  {err: errors.New("not started"), written: configMap("1", "6")},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			pending := apply.NewPendingWrites(suite.scheme)
			if test.written != nil {
				wrote(pending, test.written)
			}
			look := func() (client.Object, error) {
				return pending.Get(t.Context(), cached{shows: test.cached, err: test.err}, client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.ConfigMap{})
			}
			for i, want := range []string{test.want, test.again} {
				if i > 0 && want == "" {
					want = test.want
				}
				object, err := look()
				switch {
				case test.err != nil:
					if !errors.Is(err, test.err) {
						t.Errorf("got %v, want %v", err, test.err)
					}
				case test.gone:
					if !apierrors.IsNotFound(err) {
						t.Errorf("got %v, want that it is not found", err)
					}
				case err != nil || object.GetResourceVersion() != want:
					t.Errorf("look %d: got version %v (%v), want %s", i, object.GetResourceVersion(), err, want)
				}
			}
		})
	}
}

// caughtUp is a cache that catches up with a write as it is read: it returns what it showed before.
type caughtUp struct {
	cached
	catchUp func()
}

func (c caughtUp) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := c.cached.Get(ctx, key, object, options...)
	c.catchUp()
	return err
}

// What another reader of the cache sees and confirms meanwhile does not make an old state the newest one.
func TestPendingWrites_GetReturnsNoStateFromBeforeAWrite(t *testing.T) {
	t.Parallel()
	pending := apply.NewPendingWrites(suite.scheme)
	wrote(pending, configMap("1", "6"))
	key := client.ObjectKey{Namespace: "a", Name: "b"}
	cache := caughtUp{cached{shows: configMap("1", "5")}, func() {
		_, err := pending.Get(t.Context(), cached{shows: configMap("1", "6")}, key, &corev1.ConfigMap{})
		testenv.NoError(t, err)
	}}
	object, err := pending.Get(t.Context(), cache, key, &corev1.ConfigMap{})
	if err != nil || object.GetResourceVersion() != "6" {
		t.Errorf("got version %v (%v), want 6, which was written before", object.GetResourceVersion(), err)
	}
}

// Once the cache has caught up, it is believed: also when it goes back to nothing.
func TestPendingWrites_ForgetsWhatCacheShows(t *testing.T) {
	t.Parallel()
	pending := apply.NewPendingWrites(suite.scheme)
	wrote(pending, configMap("1", "6"))
	key := client.ObjectKey{Namespace: "a", Name: "b"}
	if _, err := pending.Get(t.Context(), cached{shows: configMap("1", "6")}, key, &corev1.ConfigMap{}); err != nil {
		t.Error(err)
	}
	if _, err := pending.Get(t.Context(), cached{}, key, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want that it is not found", err)
	}
}

// An object that was made and deleted again before the cache saw it is not believed
// in for ever.
func TestPendingWrites_Expire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pending := apply.NewPendingWrites(suite.scheme)
		wrote(pending, configMap("1", "6"))
		look := func() error {
			_, err := pending.Get(t.Context(), cached{}, client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.ConfigMap{})
			return err
		}
		time.Sleep(apply.PendingWriteTTL - time.Millisecond)
		if err := look(); err != nil {
			t.Errorf("before it expires: %v", err)
		}
		time.Sleep(2 * time.Millisecond)
		if err := look(); !apierrors.IsNotFound(err) {
			t.Errorf("after it expired: %v, want that it is not found", err)
		}
	})
}

func TestPendingWrites_DeleteForgetsObject(t *testing.T) {
	t.Parallel()
	other := configMap("1", "6")
	other.Name = "other"
	// Objects of kinds without a Go type carry their kind; those out of a cache do not.
	loose := &unstructured.Unstructured{}
	loose.SetAPIVersion("v1")
	loose.SetKind("ConfigMap")
	loose.SetNamespace("a")
	loose.SetName("b")
	loose.SetUID("1")
	for sentence, test := range map[string]struct {
		deleted client.Object
		forgets bool
	}{
		"forgets it after the deletion of the written object":               {configMap("1", "9"), true},
		"forgets it after the deletion of the written object, unstructured": {loose, true},
		"keeps it after the deletion of an earlier object of the name":      {configMap("0", "5"), false},
		"keeps it after the deletion of another name":                       {other, false},
		"keeps it after the deletion of another kind":                       {&corev1.Secret{ObjectMeta: configMap("1", "6").ObjectMeta}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			pending := apply.NewPendingWrites(suite.scheme)
			wrote(pending, configMap("1", "6"))
			pending.ObserveDelete(test.deleted)
			_, err := pending.Get(t.Context(), cached{}, client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.ConfigMap{})
			if apierrors.IsNotFound(err) != test.forgets {
				t.Errorf("got %v, want it forgotten: %v", err, test.forgets)
			}
		})
	}
}

// Whoever wrote a state sees that one or a newer one, whatever others look at and
// however far behind the cache is.
func TestPendingWrites_ReadOwnWritesConcurrently(t *testing.T) {
	t.Parallel()
	const writers, readers, writes = 4, 2, 3000
	pending := apply.NewPendingWrites(suite.scheme)
	var wg, lookers sync.WaitGroup
	done := make(chan struct{})
	for i := range writers {
		name := fmt.Sprint("writer-", i)
		key := client.ObjectKey{Namespace: "a", Name: name}
		state := func(version int64) *corev1.ConfigMap {
			object := configMap(name, strconv.FormatInt(version, 10))
			object.Name = name
			return object
		}
		// seen is what the cache shows: at times what was written last, at times less.
		var seen atomic.Int64
		seen.Store(1)
		wg.Go(func() {
			for version := int64(2); version < writes; version++ {
				wrote(pending, state(version))
				behind := cached{shows: state(version - 1)}
				object, err := pending.Get(t.Context(), behind, key, &corev1.ConfigMap{})
				if want := strconv.FormatInt(version, 10); err != nil || object.GetResourceVersion() != want {
					t.Errorf("%s wrote version %s and sees %v (%v)", name, want, object.GetResourceVersion(), err)
				}
				seen.Store(version)
			}
		})
		for range readers {
			lookers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					version := seen.Load()
					if _, err := pending.Get(t.Context(), cached{shows: state(version)}, key, &corev1.ConfigMap{}); err != nil {
						t.Error(err)
					}
					stranger := state(version)
					stranger.UID = "another"
					pending.ObserveDelete(stranger)
				}
			})
		}
	}
	wg.Wait()
	close(done)
	lookers.Wait()
}

// wrote has pending remember object as the server's answer to a write.
func wrote(pending *apply.PendingWrites, object client.Object) {
	_ = pending.Write(object, func() (client.Object, error) { return object, nil })
}
