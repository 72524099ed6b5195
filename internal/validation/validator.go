// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/config/crd"
)

// Validator admits Memcacheds as an API server with the embedded CustomResourceDefinition does.
type Validator struct {
	kind        schema.GroupVersionKind
	serializers serializers
	structural  *structuralschema.Structural
	schema      schemavalidation.SchemaValidator
	rules       *cel.Validator
	// replicas is the path of the scale subresource's replicas; empty without one.
	replicas string
}

// New reads the embedded CustomResourceDefinition and compiles its rules.
func New() (*Validator, error) {
	v := &Validator{kind: cachev1alpha1.SchemeGroupVersion.WithKind("Memcached"), serializers: newSerializers()}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(crd.Memcacheds, definition); err != nil {
		return nil, fmt.Errorf("reading the embedded CustomResourceDefinition: %w", err)
	}
	i := slices.IndexFunc(definition.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return version.Name == v.kind.Version
	})
	if i < 0 {
		return nil, fmt.Errorf("the embedded CustomResourceDefinition lacks the version %s", v.kind.Version)
	}
	if err := v.load(definition.Spec.Versions[i]); err != nil {
		return nil, fmt.Errorf("the embedded CustomResourceDefinition: %w", err)
	}
	return v, nil
}

func (v *Validator) load(version apiextensionsv1.CustomResourceDefinitionVersion) error {
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil); err != nil {
		return err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return err
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		return err
	}
	if v.schema, _, err = schemavalidation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return err
	}
	v.structural = structural
	v.rules = cel.NewValidator(structural, true, celconfig.PerCallLimit)
	if version.Subresources != nil && version.Subresources.Scale != nil {
		v.replicas = version.Subresources.Scale.SpecReplicasPath
	}
	return nil
}

// Admit decodes one Memcached, of JSON or YAML, and returns it with the defaults that the API server would set. namespace is
// that of a Memcached without one. The error is the one with which the API server would reject the Memcached's creation. The
// UID of a live Memcached is kept; its status and resourceVersion, which a new object cannot have, are removed.
func (v *Validator) Admit(ctx context.Context, content []byte, isYAML bool, namespace string) (*cachev1alpha1.Memcached, error) {
	object, err := v.decode(content, isYAML)
	if err != nil {
		return nil, err
	}
	uid := object.GetUID()
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", name)
	}
	delete(object.Object, "status")
	object.SetGeneration(1)
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	if object.GetName() == "" && object.GetGenerateName() != "" {
		return nil, fmt.Errorf("the API server chooses a name that begins with metadata.generateName: set metadata.name")
	}
	if problems := v.validate(ctx, object); len(problems) > 0 {
		// The API server's order is random.
		slices.SortFunc(problems, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, apierrors.NewInvalid(v.kind.GroupKind(), object.GetName(), problems)
	}
	object.SetUID(uid)
	mc := &cachev1alpha1.Memcached{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, mc); err != nil {
		return nil, fmt.Errorf("decoding the Memcached: %w", err)
	}
	return mc, nil
}

// validate performs the checks of the API server's strategy for custom resources, in its order.
func (v *Validator) validate(ctx context.Context, object *unstructured.Unstructured) field.ErrorList {
	problems := apivalidation.ValidateObjectMetaAccessor(object, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	problems = append(problems, schemavalidation.ValidateCustomResource(nil, object.Object, v.schema)...)
	problems = append(problems, v.validateScale(object)...)
	problems = append(problems, objectmeta.Validate(ctx, nil, object.Object, v.structural, false)...)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, v.structural, object.Object)...)
	if slices.ContainsFunc(problems, blocksRules) {
		return append(problems, field.Invalid(nil, nil,
			"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	broken, _ := v.rules.Validate(ctx, nil, v.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
	return append(problems, broken...)
}

// blocksRules reports whether the rules cannot be checked because of problem.
func blocksRules(problem *field.Error) bool {
	switch problem.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}

// validateScale validates the field that the scale subresource writes.
func (v *Validator) validateScale(object *unstructured.Unstructured) field.ErrorList {
	if v.replicas == "" {
		return nil
	}
	path := field.NewPath(v.replicas)
	replicas, _, err := unstructured.NestedInt64(object.Object, strings.Split(strings.TrimPrefix(v.replicas, "."), ".")...)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, replicas, err.Error())}
	case replicas < 0:
		return field.ErrorList{field.Invalid(path, replicas, "should be a non-negative integer")}
	case replicas > math.MaxInt32:
		return field.ErrorList{field.Invalid(path, replicas, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	default:
		return nil
	}
}
