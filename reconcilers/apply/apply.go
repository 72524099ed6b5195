// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Apply makes every one of desired so for owner, which each of them names as its controller. It
// goes on after a failure, so that one object that cannot be made does not keep the others from
// being made. The results are in the order of desired.
//
// What has to be written is written at the same moment, maxWrites objects at a time, once
// owner.Verify has read the owner. Its error, and that of a write which had to verify the owner
// again, is returned; then nothing more is written.
func (a *Applier) Apply(ctx context.Context, owner *Owner, desired []*unstructured.Unstructured) ([]Result, error) {
	results := make([]Result, len(desired))
	var writes []func()
	for i, rendered := range desired {
		write, result := a.compare(ctx, owner, rendered)
		results[i] = result
		if write != nil {
			writes = append(writes, func() { results[i] = write() })
		}
	}
	for batch := range slices.Chunk(writes, maxWrites) {
		if err := owner.Verify(ctx); err != nil {
			return nil, err
		}
		inParallel(batch)
		for _, result := range results {
			if stale, ok := errors.AsType[*StaleOwnerError](result.Err); ok {
				return nil, stale
			}
		}
	}
	return results, nil
}

// inParallel calls each of functions in a goroutine of its own and waits for all of them. When one
// panics, so does inParallel: in the goroutine of a reconcile, which survives that.
func inParallel(functions []func()) {
	panics := make([]any, len(functions))
	var group sync.WaitGroup
	for i, function := range functions {
		group.Go(func() {
			defer func() { panics[i] = recover() }()
			function()
		})
	}
	group.Wait()
	if i := slices.IndexFunc(panics, func(p any) bool { return p != nil }); i >= 0 {
		panic(panics[i])
	}
}

// compare compares rendered with its live counterpart. It returns the write that is needed,
// or the result when none is.
func (a *Applier) compare(ctx context.Context, owner *Owner, rendered *unstructured.Unstructured) (write func() Result, result Result) {
	cached, unconfirmed, err := a.cached(ctx, rendered)
	switch {
	case apierrors.IsNotFound(err):
		return func() Result { return a.create(ctx, owner, rendered) }, Result{}
	case err != nil:
		return nil, failed(rendered, fmt.Errorf("reading %s from the cache: %w", describe(rendered), err))
	case !isOwnedBy(cached, owner):
		return nil, a.conflict(rendered, cached, owner)
	case cached.GetDeletionTimestamp() != nil:
		return nil, Result{Object: rendered, Action: Waiting, Live: cached}
	}
	holds, drift, err := a.holds(owner, rendered, cached)
	switch {
	case err != nil:
		return nil, Result{Object: rendered, Action: Failed, Err: err, Live: cached}
	case holds:
		return nil, Result{Object: rendered, Action: Skipped, Live: cached, Unconfirmed: unconfirmed, Drift: drift}
	}
	want, _ := a.digest(rendered)
	if wait, count := a.reverts.wait(cached.GetUID(), want); wait > 0 {
		err := &ContentionError{Kind: rendered.GetKind(), Name: rendered.GetName(), Reverts: count, Wait: wait}
		return nil, Result{Object: rendered, Action: Failed, Err: err, Live: cached}
	}
	if !isApplied(cached) {
		return func() Result { return a.adopt(ctx, owner, rendered) }, Result{}
	}
	return func() Result { return a.update(ctx, owner, rendered, cached) }, Result{}
}

// create makes rendered if the name is free. The cache holds only what carries our
// label, so only the server can tell.
func (a *Applier) create(ctx context.Context, owner *Owner, rendered *unstructured.Unstructured) Result {
	object := withOwnMetadata(rendered)
	object.SetResourceVersion(createOnly)
	result := a.write(ctx, owner, rendered, object)
	switch {
	case apierrors.HasStatusCause(result.Err, corev1.NamespaceTerminatingCause):
		return Result{Object: rendered, Action: Waiting}
	case apierrors.IsConflict(result.Err):
		if err := owner.Verify(ctx); err != nil {
			return failed(rendered, err)
		}
		return a.adopt(ctx, owner, rendered)
	case result.Err != nil:
		result.Err = fmt.Errorf("creating %s: %w", describe(rendered), result.Err)
		return result
	}
	result.Action = Created
	return result
}

// withOwnMetadata returns a copy of object that shares all but the map of its metadata.
func withOwnMetadata(object *unstructured.Unstructured) *unstructured.Unstructured {
	content := maps.Clone(object.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		content["metadata"] = maps.Clone(metadata)
	}
	return &unstructured.Unstructured{Object: content}
}

// update applies rendered to live, and to no other object of its name.
func (a *Applier) update(ctx context.Context, owner *Owner, rendered *unstructured.Unstructured, live client.Object) Result {
	object := withOwnMetadata(rendered)
	object.SetUID(live.GetUID())
	result := a.write(ctx, owner, rendered, object)
	if apierrors.IsInvalid(result.Err) && !isReplaced(result.Err) {
		reclaimed, err := a.reclaim(ctx, rendered, result.Err)
		if reclaimed && err == nil {
			err = owner.Verify(ctx)
		}
		switch {
		case err != nil:
			result.Err = err
		case reclaimed:
			result = a.write(ctx, owner, rendered, object)
		}
	}
	if result.Err != nil {
		result.Err = fmt.Errorf("applying %s: %w", describe(rendered), result.Err)
		result.Live = live
		return result
	}
	want, _ := a.digest(rendered) // write has computed it.
	a.reverts.wrote(live.GetUID(), want)
	return result
}

// write sends object, which is rendered with a precondition, remembers the server's
// answer until the cache has caught up, and compares the two.
func (a *Applier) write(ctx context.Context, owner *Owner, rendered, object *unstructured.Unstructured) Result {
	wanted, err := a.comparer.desired(rendered)
	if err != nil {
		return failed(rendered, err)
	}
	a.digests.Add(digestOf(rendered.Object), wanted.digest)
	var live, reduced client.Object
	overtaken, err := a.recent.Write(object, func() (client.Object, error) {
		var err error
		if live, err = a.send(ctx, object); err != nil {
			return nil, err
		}
		reduced = a.options.Reduce(live)
		return reduced, nil
	})
	if err != nil {
		return Result{Object: rendered, Action: Failed, Err: err, Overtaken: overtaken}
	}
	result := Result{Object: rendered, Action: Configured, Live: reduced, Overtaken: overtaken}
	result.Drift, result.NewDrift, err = a.learn(templateOf(rendered, owner.GetName()), wanted, live, appliedTo(reduced))
	if err != nil {
		return failed(rendered, err)
	}
	return result
}

// send applies object on the server, and returns its answer in the form in which the cache has
// its objects. For kinds with a Go type that is read from protocol buffers, which client.Apply
// would read from JSON, several times as slowly.
func (a *Applier) send(ctx context.Context, object *unstructured.Unstructured) (client.Object, error) {
	live, err := NewObject(a.scheme, object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	live.SetNamespace(object.GetNamespace())
	live.SetName(object.GetName())
	content, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describe(object), err)
	}
	if err := a.client.Patch(ctx, live, client.RawPatch(types.ApplyPatchType, content), client.ForceOwnership, client.FieldOwner(FieldManager)); err != nil {
		return nil, err
	}
	live.GetObjectKind().SetGroupVersionKind(object.GroupVersionKind())
	return live, nil
}

// cached reads the live counterpart of rendered from the cache, or from what was
// written last where the cache has not seen that yet; unconfirmed says that it is
// the latter.
func (a *Applier) cached(ctx context.Context, rendered *unstructured.Unstructured) (live client.Object, unconfirmed bool, err error) {
	object, err := NewObject(a.scheme, rendered.GroupVersionKind())
	if err != nil {
		return nil, false, err
	}
	live, err = a.recent.Get(ctx, a.client, client.ObjectKeyFromObject(rendered), object)
	return live, live != object, err
}

// isOwnedBy tells whether live is owner's: it names owner as its controller, or it
// names none and we applied it, so that somebody took the reference away.
func isOwnedBy(live client.Object, owner *Owner) bool {
	controller := metav1.GetControllerOf(live)
	if controller != nil {
		return controller.UID == owner.GetUID()
	}
	return isApplied(live)
}

// isApplied tells whether we have ever applied live.
func isApplied(live client.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), isOurs)
}

// conflict refuses live, unless it was made for an earlier Memcached of owner's name
// and will be collected as garbage.
func (a *Applier) conflict(rendered *unstructured.Unstructured, live client.Object, owner *Owner) Result {
	err := &ForeignError{Kind: rendered.GetKind(), Name: rendered.GetName()}
	if controller := metav1.GetControllerOf(live); controller != nil {
		kind, _ := apiutil.GVKForObject(owner.Object, a.scheme)
		if IsOfKind(controller, kind.GroupKind()) && controller.Name == owner.GetName() {
			return Result{Object: rendered, Action: Waiting, Live: live}
		}
		err.Controller = controller.Kind + " " + controller.Name
	}
	return Result{Object: rendered, Action: Refused, Err: err}
}

func failed(rendered *unstructured.Unstructured, err error) Result {
	return Result{Object: rendered, Action: Failed, Err: err}
}

func describe(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}
