// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/config/crd"
	"github.com/example/memcached-operator/reconcilers/render/patch"
)

// bounds holds the limits of the CRD on a field and on the fields below it. Patterns and
// rules are left to admission: they do not limit the cost of rendering.
type bounds struct {
	MaxLength     *int               `json:"maxLength"`
	MaxItems      *int               `json:"maxItems"`
	MaxProperties *int               `json:"maxProperties"`
	Minimum       *float64           `json:"minimum"`
	Maximum       *float64           `json:"maximum"`
	Properties    map[string]*bounds `json:"properties"`
	Items         *bounds            `json:"items"`
	Values        *bounds            `json:"additionalProperties"`
}

// specBounds returns the bounds of a Memcached's spec, from the CRD that is embedded in the
// binary. It is parsed once, in about 6 ms.
var specBounds = sync.OnceValue(loadSpecBounds)

func loadSpecBounds() *bounds {
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema bounds `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(crd.Memcacheds, &definition); err != nil {
		panic(fmt.Sprintf("the embedded CRD of Memcacheds cannot be read: %v", err))
	}
	for _, version := range definition.Spec.Versions {
		// All versions share one schema.
		if spec, ok := version.Schema.OpenAPIV3Schema.Properties["spec"]; ok {
			return spec
		}
	}
	panic("the embedded CRD of Memcacheds has no spec")
}

// check returns an error for the first field of value that exceeds its bounds.
func (b *bounds) check(value any, path *field.Path) error {
	switch v := value.(type) {
	case map[string]any:
		return b.checkMap(v, path)
	case []any:
		return b.checkList(v, path)
	case string:
		// A string has at most as many characters as bytes: count them only if necessary.
		if exceeds(b.MaxLength, len(v)) && exceeds(b.MaxLength, utf8.RuneCountInString(v)) {
			return fmt.Errorf("%s has %d characters, which is more than the maximum of %d; shorten it", path, utf8.RuneCountInString(v), *b.MaxLength)
		}
	case int64:
		return b.checkNumber(float64(v), path)
	case float64:
		return b.checkNumber(v, path)
	}
	return nil
}

func (b *bounds) checkMap(fields map[string]any, path *field.Path) error {
	if exceeds(b.MaxProperties, len(fields)) {
		return fmt.Errorf("%s has %d entries, which is more than the maximum of %d; remove some", path, len(fields), *b.MaxProperties)
	}
	// The error names the first field in the order of names, so that it is deterministic.
	var first error
	name := ""
	for key, value := range fields {
		inner, ok := b.Properties[key]
		if !ok {
			inner = b.Values
		}
		if inner == nil || first != nil && key > name {
			continue
		}
		if err := inner.check(value, patch.Child(path, key)); err != nil {
			first, name = err, key
		}
	}
	return first
}

func (b *bounds) checkList(items []any, path *field.Path) error {
	if exceeds(b.MaxItems, len(items)) {
		return fmt.Errorf("%s has %d items, which is more than the maximum of %d; remove some", path, len(items), *b.MaxItems)
	}
	if b.Items == nil {
		return nil
	}
	for i, item := range items {
		if err := b.Items.check(item, path.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bounds) checkNumber(number float64, path *field.Path) error {
	if b.Maximum != nil && number > *b.Maximum {
		return fmt.Errorf("%s is %s, which is more than the maximum of %s; lower it", path, decimal(number), decimal(*b.Maximum))
	}
	if b.Minimum != nil && number < *b.Minimum {
		return fmt.Errorf("%s is %s, which is less than the minimum of %s; raise it", path, decimal(number), decimal(*b.Minimum))
	}
	return nil
}

func exceeds(bound *int, length int) bool {
	return bound != nil && length > *bound
}

func decimal(number float64) string {
	return strconv.FormatFloat(number, 'f', -1, 64)
}
