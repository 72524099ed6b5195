// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is one request of the operator.
type Request struct {
	// Verb is the API verb: get, list, watch, create, update, patch, delete.
	Verb, Path string
	// Resource is empty for requests that are not for a resource, such as discovery.
	Group, Resource, Subresource, Namespace, Name string
	// DryRun reports that nothing is to be stored.
	DryRun bool
	// Body is that of a write.
	Body []byte
	// Status is that of the API server's answer; 0 when there was none.
	Status int
	// Fault is what the proxy did instead of passing the request or its answer.
	Fault Fault
	// Received is when the request arrived, and Answered when its answer was complete.
	Received, Answered time.Time
}

// verbs are the API verbs of HTTP methods that write.
var verbs = map[string]string{
	http.MethodPost:   "create",
	http.MethodPut:    "update",
	http.MethodPatch:  "patch",
	http.MethodDelete: "delete",
}

// newRequest describes r, which arrives now.
func newRequest(r *http.Request, body []byte) *Request {
	request := &Request{Verb: verbs[r.Method], Path: r.URL.Path, DryRun: r.URL.Query().Has("dryRun"), Received: time.Now()}
	if request.Verb != "" {
		request.Body = body
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		request.Group = parts[1]
		parts = parts[3:]
	default:
		parts = nil
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		request.Namespace = parts[1]
		parts = parts[2:]
	}
	for i, part := range parts {
		switch i {
		case 0:
			request.Resource = part
		case 1:
			request.Name = part
		case 2:
			request.Subresource = part
		}
	}
	if request.Verb == "" {
		request.Verb = readVerb(r, request)
	}
	return request
}

func readVerb(r *http.Request, request *Request) string {
	watch := r.URL.Query().Get("watch")
	switch {
	case watch == "true" || watch == "1":
		return "watch"
	case request.Resource != "" && request.Name == "":
		return "list"
	default:
		return "get"
	}
}

// IsWrite reports whether the request changes an object. Reviews of permissions and tokens do
// not.
func (r *Request) IsWrite() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	default:
		return r.Group != "authorization.k8s.io" && r.Group != "authentication.k8s.io"
	}
}

// IsLease reports whether the request is for a lease.
func (r *Request) IsLease() bool { return r.Group == "coordination.k8s.io" }

// IsEvent reports whether the request is for an event object.
func (r *Request) IsEvent() bool { return r.Resource == "events" }

// Succeeded reports whether the API server did what the request says.
func (r *Request) Succeeded() bool {
	return r.Status >= http.StatusOK && r.Status < http.StatusMultipleChoices
}

// Object returns the metadata of the object that the body of a write holds; it is empty when
// the body holds none.
func (r *Request) Object() metav1.PartialObjectMetadata {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(r.Body, &object) != nil {
		return metav1.PartialObjectMetadata{}
	}
	return object
}

// String returns verb, resource, namespace and name.
func (r *Request) String() string {
	if r.Resource == "" {
		return r.Verb + " " + r.Path
	}
	text := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	return text + " " + strings.Trim(r.Namespace+"/"+r.Name, "/")
}
