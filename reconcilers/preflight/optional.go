// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/example/memcached-operator/reconcilers/apply"
)

// openShiftGroup is an API group that every OpenShift serves and nobody else does.
const openShiftGroup = "security.openshift.io"

// Absence is why no objects of a kind can be made now, in words that follow "left
// out, since"; Present says that they can.
type Absence string

// The absences.
const (
	Present       Absence = ""
	NotServed     Absence = "this API server does not serve them"
	NotPublished  Absence = "this API server has not published their schema yet"
	NotPermitted  Absence = "the operator lacks permission for them"
	NotNamespaced Absence = "they are cluster-scoped"
)

// Optional asks the API server for what the operator uses where it is there and does
// without where it is not.
type Optional struct {
	discovery  *discovery.DiscoveryClient
	reviews    authorizationclient.AuthorizationV1Interface
	types      *apply.Types
	namespaces []string
}

// Resources are what the API server serves of version, by kind: nothing when it does
// not know it. It costs one request.
func (o *Optional) Resources(ctx context.Context, version schema.GroupVersion) (map[string]metav1.APIResource, error) {
	list, err := o.discovery.ServerResourcesForGroupVersionWithContext(ctx, version.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking the API server for %s: %w", version, err)
	}
	resources := map[string]metav1.APIResource{}
	for _, resource := range list.APIResources {
		if !strings.Contains(resource.Name, "/") {
			resources[resource.Kind] = resource
		}
	}
	return resources, nil
}

// Admit tells whether objects of kind, which the API server serves as resource, can be
// made, and learns its schema if so. The remedy says what to do about it, where
// something can be done.
func (o *Optional) Admit(ctx context.Context, kind schema.GroupVersionKind, resource metav1.APIResource) (absence Absence, remedy string, err error) {
	if !resource.Namespaced {
		return NotNamespaced, "a Memcached can own namespaced objects only: take the object out of the templates", nil
	}
	needs := []need{{kind.Group, resource.Name, "", Verbs}}
	rules, err := missing(ctx, o.reviews, needs, o.namespaces)
	if err != nil {
		return NotPermitted, "", err
	}
	if rules != "" {
		return NotPermitted, rules, nil
	}
	published, err := o.types.Learn(kind)
	if err != nil || !published {
		return NotPublished, "", err
	}
	return Present, "", nil
}

// OpenShift tells whether the API server is OpenShift's.
func (o *Optional) OpenShift(ctx context.Context) (bool, error) {
	err := o.discovery.RESTClient().Get().AbsPath("/apis", openShiftGroup).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking the API server whether it is OpenShift's (group %s): %w", openShiftGroup, err)
	}
	return true, nil
}
