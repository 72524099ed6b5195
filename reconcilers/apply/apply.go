// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxWrites is how many objects of one owner are written at the same time. The shipped templates render at
// most 5; for more than maxWrites the owner is verified again.
const maxWrites = 8

// Apply server-side applies the desired objects for owner, which is the controller of each. It continues
// after a failure. The results have the order of desired.
//
// Apply verifies owner and then writes up to maxWrites objects concurrently, until all that differ are
// written. The returned error is that of owner.Verify, after which nothing is written.
//
// If owner.MayReplacePods returns false, Apply only creates the objects that do not exist, which running pods
// are not affected by and new ones may need, changes EndpointSlices, which follow the pods, and what has FollowsSizeAnnotation, and
// scales Deployments. All others that differ are Deferred.
func (a *Applier) Apply(ctx context.Context, owner *Owner, desired Desired) ([]Result, error) {
	results, writes := a.plan(ctx, owner, desired)
	for batch := range slices.Chunk(writes, maxWrites) {
		if err := owner.Verify(ctx); err != nil {
			return nil, err
		}
		runConcurrently(batch)
		for _, result := range results {
			if stale, ok := errors.AsType[*StaleOwnerError](result.Err); ok {
				return nil, stale
			}
		}
	}
	return results, nil
}

// plan compares desired with the live objects. It returns the results, and the writes that are needed for those
// of the results that are still empty, which they set.
func (a *Applier) plan(ctx context.Context, owner *Owner, desired Desired) (results []Result, writes []func()) {
	results = make([]Result, len(desired))
	planned := make([]func() Result, len(desired))
	replacesPods := false
	var outdated []byte
	for i, object := range desired {
		results[i], planned[i] = a.compare(ctx, owner, object)
		replacesPods = replacesPods || results[i].replacesPods
		if planned[i] != nil && results[i].Live != nil && !mayPrecedePods(results[i].Object) {
			outdated = append(outdated, a.unscaled(results[i].Live)...)
		}
	}
	mayUpdate := !replacesPods || owner.MayReplacePods == nil || owner.MayReplacePods(sum(outdated))
	for i, write := range planned {
		switch {
		case write == nil:
		case mayUpdate || results[i].Live == nil || mayPrecedePods(results[i].Object) && !results[i].replacesPods:
			writes = append(writes, func() { results[i] = write() })
		default:
			results[i].Action = Deferred
			if replicas, ok := a.scaled(owner, results[i]); ok {
				writes = append(writes, func() { results[i] = a.scale(ctx, owner, results[i], replicas) })
			}
		}
	}
	return results, writes
}

// compare compares rendered with its live object. It returns the result, or the write that is needed to get
// one.
func (a *Applier) compare(ctx context.Context, owner *Owner, rendered *prepared) (result Result, write func() Result) {
	if rendered.err != nil {
		return failed(rendered, rendered.err), nil
	}
	want := rendered.digest
	live, notYetCached, err := a.cached(ctx, rendered)
	switch {
	case apierrors.IsNotFound(err):
		if err := a.contention.Check(contendedObject(owner, rendered), string(want)); err != nil {
			return failed(rendered, err), nil
		}
		return Result{}, func() Result { return a.create(ctx, owner, rendered.whole()) }
	case err != nil:
		return failed(rendered, fmt.Errorf("reading %s from the cache: %w", describe(rendered), err)), nil
	case !isOwnedBy(live, owner):
		return a.conflict(rendered, live, owner), nil
	case live.GetDeletionTimestamp() != nil:
		return Result{Object: rendered.Unstructured, Action: Waiting, Live: live}, nil
	}
	have := appliedTo(live)
	last, known := a.lastAnswer(live)
	if known = known && last.wanted == want; !known {
		last = answer{}
	}
	if want == have || known && last.stored == have {
		return Result{Object: rendered.Unstructured, Action: Unchanged, Live: live, NotYetCached: notYetCached, Mutation: last.mutation, UnknownMutation: !known}, nil
	}
	if err := a.contention.Check(contendedObject(owner, rendered), string(want)); err != nil {
		return Result{Object: rendered.Unstructured, Action: Failed, Err: err, Live: live}, nil
	}
	rendered = rendered.whole()
	result = Result{Object: rendered.Unstructured, Live: live, replacesPods: hasPods(live) && rendered.digest.podTemplate() != have.podTemplate()}
	if !isApplied(live) {
		return result, func() Result { return a.adopt(ctx, owner, rendered) }
	}
	return result, func() Result { return a.updateOf(owner, result)(ctx, owner, rendered, live) }
}

// lastAnswer returns the answer to the last apply of live, and whether it is known.
func (a *Applier) lastAnswer(live client.Object) (last answer, known bool) {
	kept, known := a.answers.Get(live.GetUID())
	last, _ = kept.(answer)
	return last, known
}

// hasPods reports whether live is a Deployment with pods. The pods of other kinds are not considered, since the
// Memcached's condition Ready does not depend on them.
func hasPods(live client.Object) bool {
	deployment, ok := live.(*appsv1.Deployment)
	return ok && deployment.Status.Replicas > 0
}

// runConcurrently calls functions, at least one, concurrently and waits for them. The first is called in
// this goroutine, whose stack has grown already. If one of them panics, runConcurrently panics with the same
// value: controller-runtime recovers panics in the goroutine of a reconcile only.
func runConcurrently(functions []func()) {
	panics := make([]any, len(functions))
	call := func(i int) {
		defer func() { panics[i] = recover() }()
		functions[i]()
	}
	var group sync.WaitGroup
	for i := 1; i < len(functions); i++ {
		group.Go(func() { call(i) })
	}
	call(0)
	group.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

// create creates rendered. If an object of its name exists, which the cache does not hold unless it
// has our label, create adopts that.
func (a *Applier) create(ctx context.Context, owner *Owner, rendered *prepared) Result {
	object := copyMetadata(rendered.Unstructured)
	object.SetResourceVersion(createOnly)
	result := a.write(ctx, owner, rendered, object, nil)
	switch {
	case apierrors.HasStatusCause(result.Err, corev1.NamespaceTerminatingCause):
		return Result{Object: rendered.Unstructured, Action: Waiting}
	case apierrors.IsConflict(result.Err):
		if err := owner.Verify(ctx); err != nil {
			return failed(rendered, err)
		}
		if followsPods(rendered) {
			return a.refetch(ctx, owner, rendered, result.Err)
		}
		return a.adopt(ctx, owner, rendered)
	case result.Err != nil:
		result.Err = fmt.Errorf("creating %s: %w", describe(rendered), result.Err)
		return result
	}
	result.Action = Created
	return result
}

// update applies rendered to live, as the cache has it. It reads the object from the API server before, since the
// cache does not hold the values that the apply changes.
func (a *Applier) update(ctx context.Context, owner *Owner, rendered *prepared, live client.Object) Result {
	if followsPods(rendered) { // Which of the endpoints changed is no news.
		return a.updateFrom(ctx, owner, rendered, live, nil)
	}
	before, err := NewObject(a.scheme, rendered.GroupVersionKind())
	if err != nil {
		return failed(rendered, err)
	}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(rendered), before); err != nil {
		before = nil // The write has the error to report, if it lasts.
	}
	return a.updateFrom(ctx, owner, rendered, live, before)
}

// updateFrom applies rendered to live. The UID keeps it from changing another object of the name. before is the object
// on the API server, or nil.
func (a *Applier) updateFrom(ctx context.Context, owner *Owner, rendered *prepared, live, before client.Object) Result {
	object := copyMetadata(rendered.Unstructured)
	object.SetUID(live.GetUID())
	if followsPods(rendered) {
		object.SetResourceVersion(live.GetResourceVersion())
	}
	result := a.write(ctx, owner, rendered, object, before)
	if apierrors.IsInvalid(result.Err) && !isReplaced(result.Err) {
		transferred, err := a.takeAlternatives(ctx, rendered, result.Err)
		if transferred && err == nil {
			err = owner.Verify(ctx)
		}
		switch {
		case err != nil:
			result.Err = err
		case transferred:
			result = a.write(ctx, owner, rendered, object, before)
		}
	}
	if result.Err != nil {
		result.Err = fmt.Errorf("applying %s: %w", describe(rendered), result.Err)
		result.Live = live
	}
	return result
}

// copyMetadata returns a copy of object with metadata of its own, which shares all other fields.
func copyMetadata(object *unstructured.Unstructured) *unstructured.Unstructured {
	content := maps.Clone(object.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		content["metadata"] = maps.Clone(metadata)
	}
	return &unstructured.Unstructured{Object: content}
}

// write applies object, which is rendered with a precondition, keeps the API server's response until
// the cache shows it, and compares the response with rendered, and with before unless that is nil.
func (a *Applier) write(ctx context.Context, owner *Owner, rendered *prepared, object *unstructured.Unstructured, before client.Object) Result {
	result := Result{Object: rendered.Unstructured, Action: Configured}
	var live client.Object
	err := a.pendingWrites.Write(object, func() (client.Object, error) {
		var err error
		if live, err = a.send(ctx, object); err != nil {
			return nil, err
		}
		result.Live = a.reduce(live)
		return result.Live, nil
	})
	if err != nil {
		return failed(rendered, err)
	}
	a.contention.Record(contendedObject(owner, rendered), string(rendered.digest))
	// The object is applied, also if its schema, which may have changed since it was read, does not allow to compare it.
	result.Mutation, _ = a.comparer.mutation(rendered, live)
	if before != nil {
		result.Fields, _ = a.comparer.changes(rendered, before, live)
	}
	last, _ := a.lastAnswer(live)
	result.NewMutation = result.Mutation != "" && result.Mutation != last.mutation
	a.answers.Add(live.GetUID(), answer{wanted: rendered.digest, stored: appliedTo(result.Live), mutation: result.Mutation})
	return result
}

// send sends the apply of object and returns the response. Objects with a Go type are decoded from protocol buffers, which is
// several times as fast as the JSON that client.Apply uses.
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

// cached returns the live object of rendered from the cache, or the response to the last write if the
// cache does not show that yet, which notYetCached reports. If it is being deleted, the API server is asked.
func (a *Applier) cached(ctx context.Context, rendered *prepared) (live client.Object, notYetCached bool, err error) {
	object, err := NewCached(a.scheme, rendered.GroupVersionKind())
	if err != nil {
		return nil, false, err
	}
	live, err = a.pendingWrites.Get(ctx, a.client, client.ObjectKeyFromObject(rendered), object)
	if err != nil || live.GetDeletionTimestamp() == nil {
		return live, live != object, err
	}
	// An API server that lags behind may list an object of before a re-creation, for as long as it does.
	current, err := NewCached(a.scheme, rendered.GroupVersionKind())
	if err != nil {
		return nil, false, err
	}
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(rendered), current); err != nil {
		return nil, false, err
	}
	return a.reduce(current), true, nil
}

// failed returns the result of a failure before the write.
func failed(rendered *prepared, err error) Result {
	return Result{Object: rendered.Unstructured, Action: Failed, Err: err}
}

// describe returns the kind and the name of object, for messages.
func describe(object client.Object) string {
	return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
}
