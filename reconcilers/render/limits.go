// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

const (
	// maxSpecJSON is the maximum length of the spec of a Memcached as JSON, in bytes. The CRD
	// limits each field; this limits their sum.
	maxSpecJSON = 64 << 10
	// maxObjectJSON is the maximum length of a rendered object as JSON, in bytes. The API
	// server and etcd accept about 1.5 MB; the operator holds many objects in memory.
	maxObjectJSON = 256 << 10
	// smallJSON is the maximum length of the objects of a Memcached together as JSON, in
	// bytes, with the names of the templates, below which their sizes are not checked. A
	// template name of one character takes 4 bytes with quotes and comma and becomes a name
	// of 54, so that the objects grow to at most 57/4 of it, 228 KiB; other metadata takes
	// less than 1 KiB per object.
	smallJSON = 16 << 10
	// maxObjectDepth is the maximum nesting of maps and lists in a rendered object.
	maxObjectDepth = 64
)

// LimitError says that a spec, or an object rendered from it, exceeds a limit. Retrying
// does not help; the message says what to change.
type LimitError struct {
	Message string
}

func (e *LimitError) Error() string { return e.Message }

// checkSpec returns a LimitError when spec, the spec of a Memcached, exceeds maxSpecJSON or
// a limit of the CRD on a field. Admission checks the latter as well, but it may have used
// an older CRD.
func checkSpec(spec map[string]any) error {
	if err := specBounds().check(spec); err != nil {
		return &LimitError{err.in("spec").Error()}
	}
	if size := template.JSONSize(spec); size > maxSpecJSON {
		return &LimitError{fmt.Sprintf("spec has %d bytes as JSON, which is more than the maximum of %d; shorten it", size, maxSpecJSON)}
	}
	return nil
}

// checkSizes returns a LimitError when one of the rendered objects is too large or nested
// too deeply.
func checkSizes(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if isSmall(object.Object) {
			continue
		}
		if size := template.JSONSize(object.Object); size > maxObjectJSON {
			return &LimitError{fmt.Sprintf("%s %s has %d bytes as JSON, which is more than the maximum of %d; shorten the fields of the spec that it is rendered from",
				object.GetKind(), object.GetName(), size, maxObjectJSON)}
		}
		if tooDeep(object.Object, maxObjectDepth) {
			return &LimitError{fmt.Sprintf("%s %s nests maps and lists more than %d levels deep; shorten the fields of the spec that it is rendered from",
				object.GetKind(), object.GetName(), maxObjectDepth)}
		}
	}
	return nil
}

// checkExampleSizes returns an error for each object of the example that no Memcached could have.
func checkExampleSizes(templates *template.Templates, p *template.Prebuilt, example template.Input) error {
	objects, err := objectsNamed(p, example, exampleName)
	if err != nil {
		return err
	}
	var errs []error
	for i, object := range objects {
		if err := checkSizes([]*unstructured.Unstructured{object}); err != nil {
			id := p.Names().Objects[i]
			errs = append(errs, fmt.Errorf("%s: %s %s: every Memcached would exceed a limit: %w", templates.File(id), id.Kind, id.Name, err))
		}
	}
	return errors.Join(errs...)
}

// isSmall reports whether object is certainly within the limits, as most are, in a third of
// the time of an exact check.
func isSmall(object map[string]any) bool {
	// A byte of text takes at most six as JSON; 24 bytes cover any number and its punctuation.
	left := maxObjectJSON / 6
	return fits(object, &left, maxObjectDepth)
}

// fits subtracts the approximate size of value from left, and reports whether it fits and
// is nested at most levels deep.
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

// tooDeep reports whether maps and lists are nested in value more than levels deep.
func tooDeep(value any, levels int) bool {
	left := math.MaxInt
	return !fits(value, &left, levels)
}
