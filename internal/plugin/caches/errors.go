// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// memcacheds is the resource of Memcacheds.
const memcacheds = "memcacheds.cache.example.com"

// need is a permission and what a command needs it for.
type need struct {
	verb, resource string
	// name is that of the object, empty for a list.
	name string
	// namespace is empty for all.
	namespace string
	purpose   string
}

// PermissionError says that the user lacks a permission.
type PermissionError struct{ need need }

// Error implements error. It is one line.
func (e *PermissionError) Error() string {
	resource := e.need.resource
	if e.need.name != "" {
		resource += " " + e.need.name
	}
	in := "in namespace " + e.need.namespace
	if e.need.namespace == "" {
		in = "in all namespaces"
	}
	return fmt.Sprintf("missing permission to %s %s %s, needed to %s: ask an administrator for a role with verb %s on %s",
		e.need.verb, resource, in, e.need.purpose, e.need.verb, e.need.resource)
}

// PortForwardError returns err, an error of a port-forward to a pod of namespace, as a PermissionError if it is one.
func PortForwardError(err error, namespace string) error {
	if apierrors.IsForbidden(err) {
		return &PermissionError{need{verb: "create", resource: "pods/portforward", namespace: namespace, purpose: "ask memcached for its statistics"}}
	}
	return err
}

// explain returns err, the answer to a request that needs n, in words that say what to do.
func (c *Client) explain(err error, n need) error {
	_, isURL := errors.AsType[*url.Error](err)
	switch {
	case apierrors.IsForbidden(err):
		return &PermissionError{n}
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server %s rejects the credentials: log in again, or choose a context by --context", c.host)
	case meta.IsNoMatchError(err):
		return c.explainNoMatch(err)
	case isURL || utilnet.IsTimeout(err) || utilnet.IsConnectionRefused(err):
		return fmt.Errorf("cannot reach the API server: %w: check the network, --kubeconfig and --context", err)
	default:
		return fmt.Errorf("to %s: %w", n.purpose, err)
	}
}

// explainNoMatch says which versions of Memcached the API server serves instead.
func (c *Client) explainNoMatch(err error) error {
	kind := cachev1alpha1.MemcachedKind
	mappings, _ := c.api.RESTMapper().RESTMappings(kind.GroupKind())
	var versions []string
	for _, mapping := range mappings {
		versions = append(versions, mapping.GroupVersionKind.Version)
	}
	if len(versions) == 0 {
		return fmt.Errorf("the API server %s does not serve Memcacheds (%s): install the operator, or choose another cluster by --context", c.host, kind.GroupVersion())
	}
	if len(versions) == 1 && versions[0] == kind.Version {
		return err
	}
	return fmt.Errorf("the API server %s serves Memcacheds in version %s, and this program needs %s: use the kubectl-memcached of the operator's release",
		c.host, strings.Join(versions, ", "), kind.Version)
}
