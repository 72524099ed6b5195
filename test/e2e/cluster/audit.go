// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/test/testenv"
)

// Request is one request that the API server answered.
type Request struct {
	// Permission is what it needs: "verb group/resource", where the core group is "".
	Permission string
	// Forbidden is true when the account lacked it.
	Forbidden bool
	// URI is where it went.
	URI string
	// At is when it came.
	At time.Time
}

// ReadAudit returns user's requests in an audit log of the API server. An apply that made
// its object is two: it needs the permission to create as well.
func ReadAudit(file, user string) ([]Request, error) {
	content, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading E2E_AUDIT_LOG: %w", err)
	}
	defer content.Close()
	var requests []Request
	lines := bufio.NewScanner(content)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var event struct {
			Stage, Verb, RequestURI  string
			User                     struct{ Username string }
			ObjectRef                *struct{ APIGroup, Resource, Subresource string }
			ResponseStatus           struct{ Code int }
			RequestReceivedTimestamp time.Time
			Annotations              map[string]string
		}
		// The line that is just being written may be half there.
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.User.Username != user || event.Stage == "RequestReceived" {
			continue
		}
		request := Request{URI: event.RequestURI, At: event.RequestReceivedTimestamp, Permission: event.Verb + " " + event.RequestURI}
		if ref := event.ObjectRef; ref != nil {
			resource := strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/")
			request.Permission = permission(event.Verb, ref.APIGroup, resource)
			if event.Verb == "patch" && event.ResponseStatus.Code == http.StatusCreated {
				create := request
				create.Permission = permission("create", ref.APIGroup, resource)
				requests = append(requests, create)
			}
		}
		// A quota's refusal is a 403 as well; this is authorization's.
		request.Forbidden = event.Annotations["authorization.k8s.io/decision"] == "forbid"
		requests = append(requests, request)
	}
	return requests, lines.Err()
}

// Requests returns the operator's requests, as far as the API server's audit log can be read.
func (o *Operator) Requests(t testing.TB) []Request {
	t.Helper()
	if o.AuditLog == "" {
		t.Log("E2E_AUDIT_LOG is not set: the operator's requests are not looked at")
		return nil
	}
	requests, err := ReadAudit(o.AuditLog, o.User())
	testenv.NoError(t, err)
	return requests
}

// WantRequestsIn fails if the operator has asked for anything in other namespaces.
func (o *Operator) WantRequestsIn(t testing.TB, namespaces ...string) {
	t.Helper()
	for _, request := range o.Requests(t) {
		if in := namespaceOf.FindStringSubmatch(request.URI); in != nil && !slices.Contains(namespaces, in[1]) {
			t.Errorf("the operator, which is for %v, asks for %s", namespaces, request.URI)
		}
	}
}

var namespaceOf = regexp.MustCompile(`/namespaces/([^/?]+)`)

func permission(verb, group, resource string) string { return verb + " " + group + "/" + resource }

// unused are permissions that the tests give the operator no cause to use, and why
// it has them.
var unused = map[string]string{
	"list /services":                                    streamed,
	"list /configmaps":                                  streamed,
	"list apps/deployments":                             streamed,
	"list policy/poddisruptionbudgets":                  streamed,
	"list discovery.k8s.io/endpointslices":              streamed,
	"list networking.k8s.io/networkpolicies":            streamed,
	"list monitoring.coreos.com/servicemonitors":        streamed,
	"list monitoring.coreos.com/prometheusrules":        streamed,
	"list cache.example.com/memcacheds":                 streamed,
	"patch /events":                                     "for an event of the leader election that repeats within minutes",
	"update cache.example.com/memcacheds/finalizers":    "no request: the server asks for it where an object names an owner that blocks (OwnerReferencesPermissionEnforcement)",
	"create discovery.k8s.io/endpointslices/restricted": "no request: OpenShift asks for it where endpoints have addresses of pods",
}

// streamed: client-go fills a cache by a watch where the server can, and so asks for no list.
const streamed = "for API servers that cannot send a list by a watch (WatchList)"

// JudgeAudit compares what the operator was granted with what it asked for, by the API
// server's audit log: nothing may have been refused, and every permission must have been used, but
// for those in unused. Without an audit log it judges nothing.
func (o *Operator) JudgeAudit(ctx context.Context) error {
	if o.AuditLog == "" {
		fmt.Println("E2E_AUDIT_LOG is not set: not comparing the operator's permissions with its requests")
		return nil
	}
	requests, err := ReadAudit(o.AuditLog, o.User())
	if err != nil {
		return err
	}
	requests = slices.DeleteFunc(requests, func(request Request) bool { return request.At.Before(o.installed) })
	used, wrong := map[string]bool{}, map[string]bool{}
	for _, request := range requests {
		used[request.Permission] = true
		if request.Forbidden {
			wrong[fmt.Sprintf("refused: %s (%s)", request.Permission, request.URI)] = true
		}
	}
	granted, err := o.Granted(ctx)
	if err != nil {
		return err
	}
	if len(granted) == 0 {
		wrong["no role is bound to "+o.User()] = true
	}
	for _, permission := range granted {
		if reason := unused[permission]; !used[permission] && reason == "" {
			wrong["granted, never used: "+permission] = true
		} else if used[permission] && reason != "" {
			wrong["used, though the table of exceptions says it is not: "+permission] = true
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("permissions of %s, over %d requests:\n  %s", o.User(), len(requests), strings.Join(slices.Sorted(maps.Keys(wrong)), "\n  "))
	}
	return nil
}

// Granted are the permissions that roles give to the operator's service account, as "verb group/resource".
func (o *Operator) Granted(ctx context.Context) ([]string, error) {
	bindings, err := o.bindings(ctx)
	if err != nil {
		return nil, err
	}
	granted := map[string]bool{}
	for _, binding := range bindings {
		rules, err := o.rules(ctx, binding)
		if err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", binding.RoleRef.Kind, binding.RoleRef.Name, err)
		}
		for _, rule := range rules {
			for _, verb := range rule.Verbs {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						granted[permission(verb, group, resource)] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(granted)), nil
}

// bindings are those of the operator's service account; those without a namespace are cluster-wide.
func (o *Operator) bindings(ctx context.Context) ([]rbacv1.RoleBinding, error) {
	all, namespaced := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	if err := errors.Join(o.Client.List(ctx, all), o.Client.List(ctx, namespaced)); err != nil {
		return nil, err
	}
	bindings := namespaced.Items
	for _, binding := range all.Items {
		bindings = append(bindings, rbacv1.RoleBinding{RoleRef: binding.RoleRef, Subjects: binding.Subjects})
	}
	return slices.DeleteFunc(bindings, func(binding rbacv1.RoleBinding) bool {
		return !slices.ContainsFunc(binding.Subjects, func(subject rbacv1.Subject) bool {
			return subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == o.Namespace && subject.Name == o.Name
		})
	}), nil
}

func (o *Operator) rules(ctx context.Context, binding rbacv1.RoleBinding) ([]rbacv1.PolicyRule, error) {
	if binding.RoleRef.Kind == "Role" {
		role := &rbacv1.Role{}
		err := o.Client.Get(ctx, types.NamespacedName{Namespace: binding.Namespace, Name: binding.RoleRef.Name}, role)
		return role.Rules, err
	}
	role := &rbacv1.ClusterRole{}
	err := o.Client.Get(ctx, types.NamespacedName{Name: binding.RoleRef.Name}, role)
	return role.Rules, err
}
