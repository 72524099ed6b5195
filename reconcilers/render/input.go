// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// newInput returns the input of the build for mc: its name, namespace, uid and spec, and
// values.
func newInput(mc *cachev1alpha1.Memcached, values Values) (template.Input, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&mc.Spec)
	if err != nil {
		return template.Input{}, fmt.Errorf("converting spec: %w", err)
	}
	computed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&values)
	if err != nil {
		return template.Input{}, fmt.Errorf("converting values: %w", err)
	}
	if err := checkKeys(spec, []any{"spec"}); err != nil {
		return template.Input{}, err
	}
	return template.NewInput(mc.Name, mc.Namespace, string(mc.UID), spec, computed), nil
}

const (
	// maxKeyLength is the maximum number of characters in the key of a label or an
	// annotation: 253 of the prefix, the slash and 63 of the name.
	maxKeyLength = 253 + 1 + 63
	// quotedKeyLength is the number of characters of an invalid key that an error quotes.
	quotedKeyLength = 63
)

// kustomizeKeys lists the prefixes of annotations that control kustomize.
var kustomizeKeys = []string{"config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/", "kustomize.config.k8s.io/"}

// checkKeys returns an error for keys of maps that are invalid for labels and annotations,
// and for those that kustomize interprets or removes. Admission rejects them as well, but
// not in objects that an older CRD accepted.
func checkKeys(value any, path []any) error {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if len(key) > maxKeyLength || strings.ContainsFunc(key, isInvalidInKey) {
				return fmt.Errorf("%s: invalid key %.*q: it must be a qualified name of at most %d characters, such as example.com/team", template.Dotted(path), quotedKeyLength, key, maxKeyLength)
			}
			for _, prefix := range kustomizeKeys {
				if strings.HasPrefix(key, prefix) {
					return fmt.Errorf("%s: keys that begin with %s are reserved for kustomize; remove %s", template.Dotted(path), prefix, key)
				}
			}
			if err := checkKeys(v[key], append(path, key)); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := checkKeys(item, append(path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isInvalidInKey reports whether r is invalid in the key of a label or an annotation.
func isInvalidInKey(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/", r)
}
