// SPDX-License-Identifier: Apache-2.0

package features

import (
	"net/http"
	"slices"
	"strings"

	"github.com/example/memcached-operator/test/testenv"
)

// request is a request of the operator: its method, and its object as "deployments/cache" or
// "memcacheds/cache/status".
type request struct {
	method, object string
}

// objectOf returns the namespace of the object that a path names, and the object as in request;
// an empty object for other paths, such as those of lists and watches.
func objectOf(path string) (namespace, object string) {
	parts := strings.Split(path, "/")
	i := slices.Index(parts, "namespaces")
	if i < 0 || len(parts) <= i+3 {
		return "", ""
	}
	return parts[i+1], strings.Join(parts[i+2:], "/")
}

// take returns the requests about namespace since the last call, without events, the reads that
// verify a Memcached, and status writes that the server rejected as out of date.
func take(namespace string) []request {
	var sent []request
	for _, r := range suite.recorder.Take(func(r testenv.Request) bool {
		of, _ := objectOf(r.Path)
		return of == namespace
	}) {
		_, object := objectOf(r.Path)
		verification := r.Method == http.MethodGet && strings.HasPrefix(object, "memcacheds/")
		conflict := r.Status == http.StatusConflict && strings.HasSuffix(object, "/status")
		if !strings.HasPrefix(object, "events/") && !verification && !conflict {
			sent = append(sent, request{r.Method, object})
		}
	}
	return sent
}
