// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Templates is a checked tree of templates. It is safe for concurrent use.
type Templates struct {
	parsed
	validator Validator
	// example is the input from which all sets of components are built.
	example    Input
	files      map[ObjectID]string
	kindFiles  map[schema.GroupVersionKind]string
	components []string
	// bare returns the tree without replacements.
	bare func() (Tree, error)
	// buildable is set unless Parse found what makes a build impossible.
	buildable bool
	// reported holds the problems of the objects in the files, without their files.
	reported map[Problem]bool
}

// Parse checks the files of tree without building them. example has a value for every
// field that replacements read; without one, the checks that need it are left out. The
// problems are those of all files.
func Parse(tree Tree, example Input, validator Validator) (*Templates, Problems) {
	p, errs := parse(tree)
	t := &Templates{parsed: p, validator: validator, example: example, components: tree.components(), bare: sync.OnceValues(tree.withoutReplacements)}
	t.buildable = errors.Join(errs...) == nil && example.Memcached != nil
	invalid := problemsIn(p.checkFiles(validator)...)
	t.reported = map[Problem]bool{}
	for _, problem := range invalid {
		t.reported[Problem{Object: problem.Object, Path: problem.Path, Message: problem.Message}] = true
	}
	errs = append(errs, invalid.Err())
	var err error
	t.files, t.kindFiles, err = p.files()
	if err != nil && errors.Join(errs...) == nil {
		errs = append(errs, err)
	}
	if err != nil || !t.buildable {
		t.buildable = false
		return t, tree.Problems(errs...)
	}
	structural := append([]error{t.checkBase()}, t.checkComponents()...)
	structural = slices.Concat(structural, p.checkReplacements(example), p.checkTargets())
	t.buildable = errors.Join(structural...) == nil
	return t, tree.Problems(append(errs, structural...)...)
}

// CanBuild reports whether the files can be built: the others of their problems are known.
func (t *Templates) CanBuild() bool { return t.buildable }

func (t *Templates) checkBase() error {
	if t.kustomizations[baseDir] == nil {
		return In(baseDir+"/"+kustomizationFile, "", errors.New("no such file"))
	}
	for _, file := range t.files {
		if strings.HasPrefix(file, baseDir+"/") && file != MemcachedFile && file != ValuesFile && file != ParametersFile {
			return nil
		}
	}
	return In(baseDir+"/"+kustomizationFile, "", errors.New("builds no object; list the files under resources"))
}

func (t *Templates) checkComponents() (errs []error) {
	all := t.Components()
	active := t.example.Active(all)
	for _, name := range all {
		if first, _, _ := strings.Cut(name, "."); slices.Contains([]string{"apiVersion", "kind", "metadata"}, first) {
			errs = append(errs, Problem{File: componentsDir + "/" + name, Message: fmt.Sprintf(
				"every Memcached has the field %s, so this component would always be active; rename it, or move it to %s/%s", first, componentsDir, siteComponent)})
			continue
		}
		if !slices.Contains(active, name) {
			errs = append(errs, Problem{File: componentsDir + "/" + name, Message: fmt.Sprintf(
				"no field enables this component: set spec.%s in %s or %s in %s", name, MemcachedFile, name, ValuesFile)})
		}
	}
	return errs
}

// Components returns the names of all components, sorted, without site.
func (t *Templates) Components() []string { return slices.Clone(t.components) }

// IsComponentOf reports whether a component is the same in other, byte for byte.
func (t *Templates) IsComponentOf(other Tree, component string) bool {
	return t.tree.sameIn(componentsDir+"/"+component, other)
}

// File returns the file of an object, or the base if it has none. A generated object has
// a hash in its name.
func (t *Templates) File(id ObjectID) string {
	if file, ok := t.files[id]; ok {
		return file
	}
	if i := strings.LastIndex(id.Name, "-"); i >= 0 {
		id.Name = id.Name[:i]
	}
	return cmp.Or(t.files[id], baseDir)
}

// FileOfKind returns the file of the first object of kind.
func (t *Templates) FileOfKind(kind schema.GroupVersionKind) string { return t.kindFiles[kind] }

// Kinds returns the kinds of the objects in the files, those included that a component may remove.
func (t *Templates) Kinds() []schema.GroupVersionKind { return slices.Collect(maps.Keys(t.kindFiles)) }

// Example returns the example with the fields that enable components, without those that
// enable others.
func (t *Templates) Example(components []string) Input {
	return t.example.without(t.inactive(components))
}

// WithoutOthers returns in without the fields that enable components within another field, except for component.
func (t *Templates) WithoutOthers(in Input, component string) Input {
	return in.without(slices.DeleteFunc(t.Components(), func(name string) bool {
		return !strings.Contains(name, ".") || name == component || strings.HasPrefix(component, name+".")
	}))
}

// inactive returns the components that are not among components.
func (t *Templates) inactive(components []string) []string {
	return slices.DeleteFunc(t.Components(), func(name string) bool { return slices.Contains(components, name) })
}

// Validate builds the set components and validates the objects of its example. It verifies late replacements with the
// example, and only if mutated is set also with a mutated one, as [Templates.Set] does: that takes another full build.
func (t *Templates) Validate(components []string, mutated bool) (*Set, Problems) {
	example := t.Example(components)
	s, err := t.newSet(components, example)
	if err != nil {
		return nil, t.tree.Problems(err)
	}
	errs := s.checkShapes(example)
	inputs := []Input{example, example.Mutated()}
	if !mutated {
		inputs = inputs[:1]
	}
	if err := s.verify(inputs...); err != nil {
		return nil, t.tree.Problems(append(errs, err)...)
	}
	if problems := t.tree.Problems(append(errs, t.validateObjects(s, example).Err())...); len(problems) > 0 {
		return nil, problems
	}
	return s, nil
}

// Set builds and verifies the set components.
func (t *Templates) Set(components []string) (*Set, error) {
	example := t.Example(components)
	s, err := t.newSet(components, example)
	if err != nil {
		return nil, err
	}
	return s, s.verify(example, example.Mutated())
}
