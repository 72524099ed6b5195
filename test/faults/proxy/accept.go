// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// jsonOnly removes the binary encodings of API objects from an Accept header, so that the API
// server answers in JSON. Schemas keep theirs, since clients ask for no other.
func jsonOnly(accept string) string {
	if accept == "" {
		return ""
	}
	var kept []string
	for part := range strings.SplitSeq(accept, ",") {
		if !strings.Contains(part, "vnd.kubernetes.protobuf") && !strings.Contains(part, "cbor") {
			kept = append(kept, strings.TrimSpace(part))
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// newBody returns a request body; an empty one is none.
func newBody(content []byte) io.Reader {
	if len(content) == 0 {
		return http.NoBody
	}
	return bytes.NewReader(content)
}
