// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// checkTyped returns an error if object, of a kind that client-go knows, is of an API version that no supported
// Kubernetes serves; and for each value that the schema accepts and its Go type does not: a string that is no quantity, and a
// number that the API server would cut to 32 bits.
func checkTyped(kind schema.GroupVersionKind, object map[string]any) []error {
	typed, err := clientgoscheme.Scheme.New(kind)
	if err != nil {
		return nil
	}
	if removed, ok := typed.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
		major, minor := removed.APILifecycleRemoved()
		text := fmt.Sprintf("%s was removed in Kubernetes %d.%d", kind.GroupVersion(), major, minor)
		if replaced, ok := typed.(interface {
			APILifecycleReplacement() schema.GroupVersionKind
		}); ok {
			text += "; use " + replaced.APILifecycleReplacement().GroupVersion().String()
		}
		return []error{Problem{Path: "apiVersion", Message: text}}
	}
	problems := checkValues(object, reflect.TypeOf(typed))
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return []error{problems.Err()}
}

var (
	quantityType    = reflect.TypeFor[resource.Quantity]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
)

// checkValues returns a problem for each value in value that its type t does not accept. It names no value: that of a patch may
// be a secret. Paths are built for problems only: it runs for each Memcached with patches.
func checkValues(value any, t reflect.Type) (problems Problems) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	add := func(step string, inner Problems) {
		for _, problem := range inner {
			if problem.Path != "" && problem.Path[0] != '[' {
				problem.Path = "." + problem.Path
			}
			problem.Path = step + problem.Path
			problems = append(problems, problem)
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if inner := typeOfField(t, key); inner != nil {
				add(key, checkValues(item, inner))
			}
		}
	case []any:
		for i := range v {
			if t.Kind() == reflect.Slice {
				if inner := checkValues(v[i], t.Elem()); len(inner) > 0 {
					add(fmt.Sprintf("[%d]", i), inner)
				}
			}
		}
	default:
		if message := checkScalar(value, t); message != "" {
			return Problems{{Message: message}}
		}
	}
	return problems
}

// checkScalar says why t does not accept value; it is empty if it does.
func checkScalar(value any, t reflect.Type) string {
	switch v := value.(type) {
	case string:
		if t == quantityType {
			if _, err := resource.ParseQuantity(v); err != nil {
				return "not a quantity; write a number, optionally with a unit, such as 500m or 64Mi"
			}
		}
	case int64:
		if (t.Kind() == reflect.Int32 || t == intOrStringType) && v != int64(int32(v)) { // The latter has 32 bits too.
			return "the number exceeds a signed 32-bit integer"
		}
	}
	return ""
}

// typeOfField returns the type of the field of t called name in JSON, nil if there is none.
func typeOfField(t reflect.Type, name string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		fields, ok := fieldTypes.Load(t)
		if !ok {
			found := map[string]reflect.Type{}
			addFields(t, found)
			fields, _ = fieldTypes.LoadOrStore(t, found)
		}
		return fields.(map[string]reflect.Type)[name]
	default:
		return nil
	}
}

// fieldTypes holds the types of the fields of each struct type by their names in JSON.
var fieldTypes sync.Map

// addFields adds the types of the fields of t, and of those that it embeds, to fields.
func addFields(t reflect.Type, fields map[string]reflect.Type) {
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "" && field.Anonymous && field.Type.Kind() == reflect.Struct {
			addFields(field.Type, fields)
		} else if tag != "" {
			fields[tag] = field.Type
		}
	}
}
