// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Templates is a checked tree of templates. It is safe for concurrent use.
type Templates struct {
	source
	validator Validator
	// example is the input from which all sets of components are built.
	example Input
	files   map[ObjectID]string
	sources map[schema.GroupVersionKind]string
	// shared holds the parts of the validated sets.
	shared *sharedValues
	// buildable is set unless Parse found what makes a build impossible.
	buildable bool
	// reported holds the messages about objects in files, without their files.
	reported map[string]bool
}

// Parse checks the files of tree without building them. example has a value for every
// field that replacements read; without one, the checks that need it are left out. The
// problems are those of all files.
func Parse(tree Tree, example Input, validator Validator) (*Templates, Problems) {
	s, errs := parseSource(tree)
	t := &Templates{source: s, validator: validator, example: example, shared: newSharedValues()}
	t.buildable = len(errs) == 0 && example.Memcached != nil
	invalid := s.checkFiles(validator)
	t.reported = messagesOf(invalid)
	errs = append(errs, invalid...)
	var err error
	t.files, t.sources, err = s.files()
	if err != nil && len(errs) == 0 {
		errs = append(errs, err)
	}
	if err != nil || !t.buildable {
		t.buildable = false
		return t, tree.Problems(errs...)
	}
	structural := append([]error{t.checkBase()}, t.checkComponents()...)
	structural = slices.Concat(structural, s.checkReplacements(example), s.checkTargets())
	t.buildable = errors.Join(structural...) == nil
	return t, tree.Problems(append(errs, structural...)...)
}

// messagesOf returns the messages of errs, without the file and without the patch at which they begin.
func messagesOf(errs []error) map[string]bool {
	messages := map[string]bool{}
	for _, err := range errs {
		_, message, _ := strings.Cut(err.Error(), ": ")
		messages[message] = true
		_, message, _ = strings.Cut(message, ": ")
		messages[message] = true
	}
	return messages
}

// CanBuild reports whether the files can be built: the others of their problems are known.
func (t *Templates) CanBuild() bool { return t.buildable }

func (t *Templates) checkBase() error {
	if t.kustomizations[baseDir] == nil {
		return fmt.Errorf("%s/%s: no such file", baseDir, kustomizationFile)
	}
	for _, file := range t.files {
		if strings.HasPrefix(file, baseDir+"/") && file != MemcachedFile && file != ValuesFile && file != ParametersFile {
			return nil
		}
	}
	return fmt.Errorf("%s/%s: builds no object; list the files under resources", baseDir, kustomizationFile)
}

func (t *Templates) checkComponents() (errs []error) {
	all := t.Components()
	active := t.example.Active(all)
	for _, name := range all {
		if !slices.Contains(active, name) {
			errs = append(errs, fmt.Errorf("%s/%s: no field enables this component: set spec.%s in %s or %s in %s",
				componentsDir, name, name, MemcachedFile, name, ValuesFile))
		}
	}
	return errs
}

// Components returns the names of all components, sorted, without site.
func (t *Templates) Components() []string { return t.tree.components() }

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
func (t *Templates) FileOfKind(kind schema.GroupVersionKind) string { return t.sources[kind] }

// Example returns the example with the fields that enable components, without those that
// enable others.
func (t *Templates) Example(components []string) Input {
	return t.example.without(t.inactive(components))
}

// inactive returns the components that are not among components.
func (t *Templates) inactive(components []string) []string {
	return slices.DeleteFunc(t.Components(), func(name string) bool { return slices.Contains(components, name) })
}

// Validate builds the example with components, validates the objects, and makes the parts
// of the result available to sets that are prebuilt later. It verifies the placeholders
// only if verify is set: [Templates.Prebuild] does so for every set.
func (t *Templates) Validate(components []string, verify bool) (*Prebuilt, Problems) {
	example := t.Example(components)
	p, err := compile(t.source, components, example)
	if err != nil {
		return nil, t.tree.Problems(err)
	}
	if verify {
		if err := p.verify(example); err != nil {
			return nil, t.tree.Problems(err)
		}
	}
	if problems := t.tree.Problems(t.validateObjects(p, example)...); len(problems) > 0 {
		return nil, problems
	}
	t.shared.add(p.placeholders)
	return p, nil
}

// Prebuild builds and verifies the set components from the example with overrides.
func (t *Templates) Prebuild(components []string, overrides []Override) (*Prebuilt, error) {
	defer HoldSchema()()
	example := t.example.copy()
	for _, o := range overrides {
		SetAt(example.fields(), o.Path, o.Value)
	}
	example = example.without(t.inactive(components))
	p, err := compile(t.source, components, example)
	if err != nil {
		return nil, err
	}
	if err := p.verify(example); err != nil {
		return nil, err
	}
	t.shared.share(p.placeholders)
	return p, nil
}
