// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// serializers decode strictly: one for JSON, one for YAML.
type serializers struct {
	json, yaml *json.Serializer
}

func newSerializers() serializers {
	scheme := runtime.NewScheme()
	strict := func(isYAML bool) *json.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: isYAML, Strict: true})
	}
	return serializers{json: strict(false), yaml: strict(true)}
}

// decode decodes one Memcached and sets its defaults. The error is the API server's, and says what an unknown field may be meant to be.
func (v *Validator) decode(content []byte, isYAML bool) (*unstructured.Unstructured, error) {
	serializer := v.serializers.json
	if isYAML {
		serializer = v.serializers.yaml
	}
	object := &unstructured.Unstructured{}
	var problems []error
	_, _, err := serializer.Decode(content, nil, object)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		problems = strict.Errors()
	} else if err != nil {
		return nil, v.undecodable(err)
	}
	unknown, err := v.coerce(object)
	if err != nil {
		return nil, v.undecodable(err)
	}
	for _, path := range unknown {
		problems = append(problems, fmt.Errorf("unknown field %q%s", path, v.suggestion(path)))
	}
	if len(problems) > 0 {
		return nil, v.undecodable(runtime.NewStrictDecodingError(problems))
	}
	defaulting.Default(object.Object, v.structural)
	return object, nil
}

// undecodable returns err in the API server's words.
func (v *Validator) undecodable(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", v.kind.Kind, v.kind.Version, v.kind.Kind, err))
}

// coerce removes unknown fields from object and returns their paths. It is unstructuredSchemaCoercer of the API server,
// which is not exported.
func (v *Validator) coerce(object *unstructured.Unstructured) ([]string, error) {
	apiVersion, kind := object.GetAPIVersion(), object.GetKind()
	metadata, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, pruning.PruneWithOptions(object.Object, v.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, v.structural)
	invalid, paths := objectmeta.CoerceWithOptions(nil, object.Object, v.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if invalid != nil {
		return nil, invalid
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	if found {
		err = objectmeta.SetObjectMeta(object.Object, metadata)
	}
	return append(unknown, paths...), err
}

// suggestion returns a text with the field that the unknown field at path is most like, or nothing. The path is one of [pruning].
func (v *Validator) suggestion(path string) string {
	parents := strings.Split(path, ".")
	unknown := parents[len(parents)-1]
	parent := v.structural
	for _, name := range parents[:len(parents)-1] {
		name, _, isItem := strings.Cut(name, "[")
		next, found := parent.Properties[name]
		if parent = &next; !found {
			return ""
		}
		if isItem && parent.Items != nil {
			parent = parent.Items
		}
	}
	best, likeness := "", 0.7
	if unknown == "replicas" { // as in a Deployment
		unknown = "size"
	}
	for _, name := range slices.Sorted(maps.Keys(parent.Properties)) {
		letters := difflib.NewMatcher(strings.Split(strings.ToLower(unknown), ""), strings.Split(strings.ToLower(name), ""))
		if ratio := letters.Ratio(); ratio > likeness {
			best, likeness = name, ratio
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (is %s meant?)", best)
}
