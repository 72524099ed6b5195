// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// validateObjects validates the objects that p builds from example. On a mistake, a
// second build finds the file that contains it.
func (t *Templates) validateObjects(p *Prebuilt, example Input) []error {
	objects, _, err := p.Objects(example)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, object := range objects {
		errs = append(errs, t.validateBuilt(object)...)
	}
	if len(errs) == 0 {
		return nil
	}
	inFiles, err := t.validateOrigins(p, example)
	if len(inFiles) > 0 && err == nil {
		return inFiles
	}
	return prefixed("filled in from "+MemcachedFile, errs...)
}

// validateBuilt validates object, and returns the errors that checkFiles has not reported.
func (t *Templates) validateBuilt(object map[string]any) []error {
	errs := t.validator.validateTemplate(&unstructured.Unstructured{Object: object})
	return slices.DeleteFunc(errs, func(err error) bool { return t.reported[err.Error()] })
}

// validateOrigins validates the objects of a full build that records the file of each
// object, and names the file in its errors.
func (t *Templates) validateOrigins(p *Prebuilt, example Input) (errs []error, err error) {
	tree := maps.Clone(p.tree)
	if err := example.addTo(tree); err != nil {
		return nil, err
	}
	built, err := build(tree, p.root+"buildMetadata: [originAnnotations, transformerAnnotations]\n")
	if err != nil {
		return nil, err
	}
	for _, resource := range built.Resources() {
		file, changedBy, err := cutOrigin(resource)
		if err != nil {
			return nil, err
		}
		objects, err := toObjects([]*kyaml.RNode{&resource.RNode})
		if err != nil {
			errs = append(errs, prefixed(file, err)...)
			continue
		}
		for _, invalid := range t.validateBuilt(objects[0]) {
			errs = append(errs, t.blame(invalid.Error(), file, changedBy))
		}
	}
	return errs, nil
}

// blame returns the problem of text, an error of the object of file, which was correct there: the
// last of the kustomizations in changedBy that names the wrong field is probably at fault.
func (t *Templates) blame(text, file string, changedBy []string) Problem {
	path := strings.SplitN(text, ": ", 3)[1]
	field := path[strings.LastIndexAny(path, ".]")+1:]
	files := append([]string{file}, changedBy...)
	for _, candidate := range slices.Backward(files) {
		for i, line := range strings.Split(string(t.tree[candidate]), "\n") {
			if field == "" || !strings.Contains(line, field) || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			if candidate != file {
				text += " (in the object of " + file + ")"
			}
			return Problem{File: candidate, Line: i + 1, Text: withAdvice(text)}
		}
	}
	return Problem{File: strings.Join(files, ", changed by "), Text: withAdvice(text)}
}

// cutOrigin removes kustomize's annotations from a resource and returns its file, and the
// kustomizations that may have changed it.
func cutOrigin(r *resource.Resource) (file string, changedBy []string, err error) {
	file = "?"
	if origin, err := r.GetOrigin(); err == nil && origin != nil {
		file = cmp.Or(origin.Path, origin.ConfiguredIn)
	}
	transformations, err := r.GetTransformations()
	if err != nil {
		return "", nil, err
	}
	for _, transformation := range transformations {
		changedBy = append(changedBy, transformation.ConfiguredIn)
	}
	if err := r.SetOrigin(nil); err != nil {
		return "", nil, err
	}
	return file, changedBy, r.ClearTransformations()
}
