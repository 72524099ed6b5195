// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/reconcilers/preflight"
)

// openShiftGroup is an API group that every OpenShift serves and no other distribution does.
const openShiftGroup = "security.openshift.io"

// Unavailability is the reason why objects of a kind cannot be applied, in the words of the
// Ready condition's message. It is Available when they can be.
type Unavailability string

// The reasons for which a kind is unavailable.
const (
	Available     Unavailability = ""
	NotServed     Unavailability = "not served by the API server"
	NotPublished  Unavailability = "schema not published by the API server yet"
	NotPermitted  Unavailability = "the operator lacks permission"
	NotNamespaced Unavailability = "cluster-scoped"
)

// client asks the API server about optional kinds.
type client struct {
	*preflight.Result
}

// resources returns the resources that the API server serves in version, by kind, and nil when
// it does not serve version. It makes one request.
func (c client) resources(ctx context.Context, version schema.GroupVersion) (map[string]metav1.APIResource, error) {
	list, err := c.Discovery.ServerResourcesForGroupVersionWithContext(ctx, version.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("discovering the resources of %s: %w", version, err)
	}
	resources := map[string]metav1.APIResource{}
	for _, resource := range list.APIResources {
		if !strings.Contains(resource.Name, "/") {
			resources[resource.Kind] = resource
		}
	}
	return resources, nil
}

// check reports whether the operator can apply objects of kind, which the API server serves as
// resource, and loads the schema of kind if so. The remedy says how to make the kind available;
// it may be empty.
func (c client) check(ctx context.Context, kind schema.GroupVersionKind, resource metav1.APIResource, denied map[string]string) (reason Unavailability, remedy string, err error) {
	if !resource.Namespaced {
		return NotNamespaced, "remove the object from the templates: a Memcached can own only namespaced objects", nil
	}
	rules, err := c.Access.MissingRules(ctx, kind.Group, resource.Name, c.Access.Namespaces(denied))
	if err != nil {
		return NotPermitted, "", err
	}
	if rules != "" {
		return NotPermitted, rules, nil
	}
	published, err := c.Types.LoadSchema(kind)
	if err != nil || !published {
		return NotPublished, "", err
	}
	return Available, "", nil
}

// IsOpenShift reports whether the API server is OpenShift's.
func IsOpenShift(ctx context.Context, api rest.Interface) (bool, error) {
	err := api.Get().AbsPath("/apis", openShiftGroup).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("detecting OpenShift by the API group %s: %w", openShiftGroup, err)
	}
	return true, nil
}
