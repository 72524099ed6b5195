// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// FieldManager is the field manager of everything that the operator applies.
	// It must never change: a new name would orphan every field that the old one owns.
	FieldManager = "memcached-operator"

	// createOnly as resourceVersion makes an apply create the object, and answer 409
	// when one of that name exists: no live object has that version.
	createOnly = "1"

	// maxSurviving bounds the memory of differences that survive an apply.
	maxSurviving = 4096
	// maxChecked bounds the memory of objects that need nothing, at about 200 bytes
	// each; what falls out is compared anew.
	maxChecked = 1 << 16
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
	// Survived is the difference that remained after the object was just applied:
	// something on the server changes what we write. Empty otherwise.
	Survived string
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
	live      client.Reader
	scheme    *runtime.Scheme
	comparer  comparer
	recent    *Recent
	surviving *lru.Cache
	checked   *lru.Cache
}

// New returns an Applier that reads through c, whose cache must hold the kinds to
// apply, and through live where absence from that cache proves nothing. types knows
// the schema of every kind to apply; recent is shared with the other readers of c.
func New(c client.Client, live client.Reader, types managedfields.TypeConverter, recent *Recent) *Applier {
	return &Applier{
		client:    c,
		live:      live,
		scheme:    c.Scheme(),
		comparer:  comparer{scheme: c.Scheme(), types: types},
		recent:    recent,
		surviving: lru.New(maxSurviving),
		checked:   lru.New(maxChecked),
	}
}

// Apply makes every one of desired so, in order, for owner, which each of them names
// as its controller. It goes on after a failure, so that one object that cannot be
// made does not keep the others from being made. The error is that of owner.Verify, which
// comes before the first write; then nothing was written.
func (a *Applier) Apply(ctx context.Context, owner *Owner, desired []*unstructured.Unstructured) ([]Result, error) {
	results := make([]Result, 0, len(desired))
	for _, rendered := range desired {
		write, result := a.compare(ctx, owner, rendered)
		if write != nil {
			if err := owner.Verify(ctx); err != nil {
				return nil, err
			}
			result = write()
		}
		results = append(results, result)
	}
	return results, nil
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
	needed, err := a.needed(rendered, cached)
	switch {
	case err != nil:
		return nil, Result{Object: rendered, Action: Failed, Err: err, Live: cached}
	case !needed:
		return nil, Result{Object: rendered, Action: Skipped, Live: cached, Unconfirmed: unconfirmed}
	case !isApplied(cached):
		return func() Result { return a.adopt(ctx, owner, rendered) }, Result{}
	default:
		return func() Result { return a.update(ctx, rendered, cached) }, Result{}
	}
}

// needed tells whether applying rendered would change live, and remembers when it
// would not.
func (a *Applier) needed(rendered *unstructured.Unstructured, live client.Object) (bool, error) {
	state := checked{live.GetResourceVersion(), newDigest(rendered)}
	if last, ok := a.checked.Get(live.GetUID()); ok && last == state {
		return false, nil
	}
	differs, err := a.differs(rendered, live, state.rendered)
	if err == nil && !differs {
		a.checked.Add(live.GetUID(), state)
	}
	return differs, err
}

// differs compares live with rendered.
func (a *Applier) differs(rendered *unstructured.Unstructured, live client.Object, d digest) (bool, error) {
	fields, err := a.comparer.fields(rendered)
	if err != nil {
		return false, err
	}
	held, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, fmt.Errorf("converting the live %s: %w", describe(rendered), err)
	}
	gap, err := a.comparer.gap(rendered, fields, live, held)
	if err != nil || gap.fields == "" {
		return false, err
	}
	// An apply of this very object may have left this very gap; then another one would
	// change nothing.
	known, ok := a.surviving.Get(live.GetUID())
	return !ok || known != d.with(gap), nil
}

// create makes rendered if the name is free. The cache holds only what carries our
// label, so only the server can tell.
func (a *Applier) create(ctx context.Context, owner *Owner, rendered *unstructured.Unstructured) Result {
	object := rendered.DeepCopy()
	object.SetResourceVersion(createOnly)
	result := a.write(ctx, rendered, object)
	switch {
	case apierrors.HasStatusCause(result.Err, corev1.NamespaceTerminatingCause):
		return Result{Object: rendered, Action: Waiting}
	case apierrors.IsConflict(result.Err):
		return a.adopt(ctx, owner, rendered)
	case result.Err != nil:
		result.Err = fmt.Errorf("creating %s: %w", describe(rendered), result.Err)
		return result
	}
	result.Action = Created
	return result
}

// update applies rendered to live, and to no other object of its name.
func (a *Applier) update(ctx context.Context, rendered *unstructured.Unstructured, live client.Object) Result {
	object := rendered.DeepCopy()
	object.SetUID(live.GetUID())
	result := a.write(ctx, rendered, object.DeepCopy())
	if apierrors.IsInvalid(result.Err) {
		reclaimed, err := a.reclaim(ctx, rendered, result.Err)
		switch {
		case err != nil:
			result.Err = err
		case reclaimed:
			result = a.write(ctx, rendered, object)
		}
	}
	if result.Err != nil {
		result.Err = fmt.Errorf("applying %s: %w", describe(rendered), result.Err)
		result.Live = live
	}
	return result
}

// write sends object, which is rendered with a precondition, remembers the server's
// answer until the cache has caught up, and tells what did not survive the server.
func (a *Applier) write(ctx context.Context, rendered, object *unstructured.Unstructured) Result {
	fields, err := a.comparer.fields(rendered)
	if err != nil {
		return failed(rendered, err)
	}
	if _, err := a.comparer.fit(object); err != nil {
		return failed(rendered, err)
	}
	var live client.Object
	overtaken, err := a.recent.Write(object, func() (client.Object, error) {
		err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(FieldManager))
		if err != nil {
			return nil, err
		}
		if live, err = a.typed(object); err != nil {
			return nil, err
		}
		KeepOurManagedFields(live)
		return live, nil
	})
	if err != nil {
		return Result{Object: rendered, Action: Failed, Err: err, Overtaken: overtaken}
	}
	result := Result{Object: rendered, Action: Configured, Live: live, Overtaken: overtaken}
	gap, err := a.comparer.gap(rendered, fields, live, object.Object)
	if err != nil {
		return failed(rendered, err)
	}
	a.surviving.Remove(live.GetUID())
	if gap.fields != "" {
		a.surviving.Add(live.GetUID(), newDigest(rendered).with(gap))
	}
	result.Survived = gap.fields
	return result
}

// typed is the server's answer in the form in which the cache has its objects.
func (a *Applier) typed(answer *unstructured.Unstructured) (client.Object, error) {
	live, err := NewObject(a.scheme, answer.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, live); err != nil {
		return nil, fmt.Errorf("reading the answer to %s: %w", describe(answer), err)
	}
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
