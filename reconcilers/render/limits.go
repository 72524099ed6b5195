// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// maxSpecJSON is how long the spec of a Memcached may be as JSON, in bytes. The
	// CRD bounds each field; this bounds the sum.
	maxSpecJSON = 64 << 10
	// maxObjectJSON is how long a rendered object may be as JSON, in bytes. The API
	// server takes about 1.5 MB, etcd too, and the operator holds many.
	maxObjectJSON = 256 << 10
	// smallJSON is how long the objects of a Memcached may be together as JSON, in bytes, to
	// need no check of their sizes. They have the names of the templates then: a name of one
	// character, which takes 4 bytes with quotes and comma, becomes one of 54, so that they
	// grow to at most 57/4 of it, 228 KiB; other metadata takes less than 1 KiB an object.
	smallJSON = 16 << 10
	// maxObjectDepth is how deep maps and lists may be nested in a rendered object.
	maxObjectDepth = 64
)

// LimitError says that a spec, or what it renders to, exceeds a limit. Trying again
// does not help; the message says what to change.
type LimitError struct {
	Message string
}

func (e *LimitError) Error() string { return e.Message }

// checkSpec returns a LimitError when spec, the plain form of a Memcached's spec,
// exceeds the limit of the whole or a bound that the CRD sets on a field. Admission
// has checked the latter, but perhaps by an older CRD.
func checkSpec(spec map[string]any) error {
	if err := specBounds().check(spec); err != nil {
		return &LimitError{err.in("spec").Error()}
	}
	if size := jsonSize(spec); size > maxSpecJSON {
		return &LimitError{fmt.Sprintf("spec has %d bytes as JSON, which is more than the maximum of %d; shorten it", size, maxSpecJSON)}
	}
	return nil
}

// checkSizes returns a LimitError when one of the rendered objects is too large to be
// stored, or too deep.
func checkSizes(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if isSmall(object.Object) {
			continue
		}
		if size := jsonSize(object.Object); size > maxObjectJSON {
			return &LimitError{fmt.Sprintf("%s %s has %d bytes as JSON, which is more than the maximum of %d; shorten what the spec puts into it",
				object.GetKind(), object.GetName(), size, maxObjectJSON)}
		}
		if tooDeep(object.Object, maxObjectDepth) {
			return &LimitError{fmt.Sprintf("%s %s nests maps and lists more than %d deep; shorten what the spec puts into it",
				object.GetKind(), object.GetName(), maxObjectDepth)}
		}
	}
	return nil
}

// isSmall tells, in a third of the time, whether object certainly is within the limits:
// most are.
func isSmall(object map[string]any) bool {
	// A byte of text is at most six of JSON, and 24 hold any number and all punctuation.
	left := maxObjectJSON / 6
	return fits(object, &left, maxObjectDepth)
}

func fits(value any, left *int, levels int) bool {
	*left -= 4
	switch v := value.(type) {
	case string:
		*left -= len(v)
	case map[string]any:
		for key, item := range v {
			if *left -= len(key); levels == 0 || !fits(item, left, levels-1) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if levels == 0 || !fits(item, left, levels-1) {
				return false
			}
		}
	}
	return *left >= 0
}

// tooDeep tells whether maps and lists are nested in value more than levels deep.
func tooDeep(value any, levels int) bool {
	left := math.MaxInt
	return !fits(value, &left, levels)
}

// jsonSize is the length of value as JSON, without marshalling it: exact but for
// fractions, which count as 24 bytes.
func jsonSize(value any) int {
	switch v := value.(type) {
	case map[string]any:
		size := len("{}") + max(0, len(v)-1)
		for key, item := range v {
			size += jsonString(key) + len(":") + jsonSize(item)
		}
		return size
	case []any:
		size := len("[]") + max(0, len(v)-1)
		for _, item := range v {
			size += jsonSize(item)
		}
		return size
	case string:
		return jsonString(v)
	case int64:
		return decimals(v)
	case bool:
		if v {
			return len("true")
		}
		return len("false")
	case nil:
		return len("null")
	default:
		return 24
	}
}

// jsonString counts what encoding/json escapes: quotes, backslashes, control
// characters and, for browsers' sake, <, > and &.
func jsonString(s string) int {
	size := len(`""`) + len(s)
	for i := range len(s) {
		size += int(escaped[s[i]])
	}
	return size
}

// escaped has by how many bytes encoding/json lengthens each byte.
var escaped = func() (more [256]uint8) {
	for b := range byte(0x20) {
		more[b] = uint8(len(`\u0000`)) - 1
	}
	for _, b := range []byte("<>&") {
		more[b] = uint8(len(`\u003c`)) - 1
	}
	for _, b := range []byte("\"\\\b\f\n\r\t") {
		more[b] = 1
	}
	return more
}()

func decimals(n int64) int {
	size := 1
	if n < 0 {
		size++
	}
	for n /= 10; n != 0; n /= 10 {
		size++
	}
	return size
}
