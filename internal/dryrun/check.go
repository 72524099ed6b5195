// SPDX-License-Identifier: Apache-2.0

package dryrun

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/templates"
	"github.com/example/memcached-operator/reconcilers/render"
)

// maxLive is how many Memcacheds of a namespace are tried: what is wrong for one is usually wrong
// for all.
const maxLive = 3

// Result is what an API server rejects.
type Result struct {
	// Invalid are the fields that the validation of a kind rejects, for any Memcached.
	Invalid render.Problems
	// Denied are the other refusals, such as those of admission webhooks and policies.
	Denied render.Problems
	// Skipped says which objects were not checked: permission is missing, or the objects are live and their requests failed.
	Skipped []error
}

// Check sends the objects of the examples of renderer to the API server of api, in namespace, and
// the objects of some Memcacheds of liveIn over the live ones, whose selectors are immutable. An
// error is one of a request for an example: what fails for live objects, which are those of their authors and may be too many
// for the time of ctx, is skipped.
func Check(ctx context.Context, api client.Client, renderer *render.Renderer, namespace string, liveIn ...string) (Result, error) {
	c := &check{api: api, renderer: renderer, sent: map[string]bool{}}
	examples, err := renderer.Examples(namespace)
	if err != nil {
		return Result{}, err
	}
	for _, example := range examples {
		if err := c.send(ctx, example); err != nil {
			return Result{}, err
		}
	}
	c.sendLive(ctx, liveIn)
	return Result{c.result.Invalid.Sorted(), c.result.Denied.Sorted(), c.result.Skipped}, nil
}

type check struct {
	api      client.Client
	renderer *render.Renderer
	// sent holds the objects that have been sent, as JSON.
	sent   map[string]bool
	result Result
}

// send sends the object of example, unless it has been sent or its kind is an optional one that the
// API server does not serve.
func (c *check) send(ctx context.Context, example render.Example) error {
	content, err := example.Object.MarshalJSON()
	if err != nil || c.sent[string(content)] {
		return err
	}
	c.sent[string(content)] = true
	refused, ok, err := c.refused(ctx, example.Object)
	if err != nil || !ok {
		return err
	}
	c.add(refused, example.Place)
	return nil
}

// refused reports whether the API server rejects object. The error is one of the request.
func (c *check) refused(ctx context.Context, object *unstructured.Unstructured) (refusal, bool, error) {
	_, err := Apply(ctx, c.api, object)
	if err == nil || meta.IsNoMatchError(err) && c.renderer.IsOptional(object.GroupVersionKind()) {
		return refusal{}, false, nil
	}
	if refused, ok := refusalOf(err); ok {
		return refused, true, nil
	}
	err = fmt.Errorf("dry-run of %s in namespace %s: %w", object.GetKind(), object.GetNamespace(), err)
	if apierrors.IsForbidden(err) {
		c.result.Skipped = append(c.result.Skipped, err)
		return refusal{}, false, nil
	}
	return refusal{}, false, err
}

// add adds the problems of refused, which are at place.
func (c *check) add(refused refusal, place render.Problem) {
	for _, cause := range refused.causes {
		place.Path, place.Message = cause.Field, "the API server rejects it: "+cause.Message
		if problem := c.renderer.Problem(place); refused.ofFields {
			c.result.Invalid = append(c.result.Invalid, problem)
		} else {
			c.result.Denied = append(c.result.Denied, problem)
		}
	}
}

// sendLive sends the objects of some Memcacheds of each of namespaces, until ctx is done.
func (c *check) sendLive(ctx context.Context, namespaces []string) {
	for _, namespace := range namespaces {
		if err := c.sendLiveOf(ctx, namespace); err != nil {
			c.result.Skipped = append(c.result.Skipped, err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// sendLiveOf sends the objects of some Memcacheds of namespace, all namespaces if it is empty. Their
// specs are reduced to the fields that are always set, so that no author of one can affect the result.
func (c *check) sendLiveOf(ctx context.Context, namespace string) error {
	list := &cachev1alpha1.MemcachedList{}
	if err := c.api.List(ctx, list, client.InNamespace(namespace), client.Limit(maxLive)); err != nil {
		return fmt.Errorf("listing Memcacheds: %w", err)
	}
	for i := range list.Items {
		mc := &list.Items[i]
		if mc.DeletionTimestamp != nil {
			continue
		}
		plain := &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name, UID: mc.UID},
			Spec:       cachev1alpha1.MemcachedSpec{Size: mc.Spec.Size, ContainerPort: mc.Spec.ContainerPort},
		}
		if err := c.sendOver(ctx, plain); err != nil {
			return err
		}
	}
	return nil
}

// sendOver sends the objects of mc. A refusal counts only if the objects of the embedded templates
// are accepted: a live object that others have changed may reject any.
func (c *check) sendOver(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	objects, err := c.renderer.Render(mc)
	if err != nil {
		return fmt.Errorf("rendering Memcached %s/%s: %w", mc.Namespace, mc.Name, err)
	}
	for _, object := range objects {
		object.SetOwnerReferences(nil)
		refused, ok, err := c.refused(ctx, object)
		if err != nil {
			return err
		}
		if !ok || !refused.ofFields {
			continue
		}
		accepted, err := c.acceptsShipped(ctx, mc, object)
		if err != nil {
			return err
		}
		if accepted {
			name := strings.TrimPrefix(strings.TrimPrefix(object.GetName(), mc.Name), "-")
			if name == "" {
				name = "memcached"
			}
			c.add(refused, render.Problem{File: c.renderer.FileOf(mc.Name, object), Object: object.GetKind() + " " + name, Set: "for a live Memcached"})
		}
	}
	return nil
}

// acceptsShipped reports whether the API server accepts the object of the embedded templates in the
// place of object, and true if these have none.
func (c *check) acceptsShipped(ctx context.Context, mc *cachev1alpha1.Memcached, object *unstructured.Unstructured) (bool, error) {
	shipped, err := (&templates.Options{}).Renderer()
	if err != nil {
		return false, err
	}
	objects, err := shipped.Render(mc)
	if err != nil {
		return false, err
	}
	for _, other := range objects {
		if other.GroupVersionKind() == object.GroupVersionKind() && other.GetName() == object.GetName() {
			other.SetOwnerReferences(nil)
			_, refused, err := c.refused(ctx, other)
			return !refused, err
		}
	}
	return true, nil
}
