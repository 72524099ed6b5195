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

// validateObjects validates the objects that s builds from example. On a mistake, a
// second build finds the file that contains it.
func (t *Templates) validateObjects(s *Set, example Input) Problems {
	objects, err := s.Objects(example, unchanged)
	if err != nil {
		return problemsIn(err)
	}
	var problems Problems
	for _, object := range objects {
		problems = append(problems, t.validateBuilt(object)...)
	}
	if len(problems) == 0 {
		return nil
	}
	inFiles, err := t.validateOrigins(s, example)
	if len(inFiles) > 0 && err == nil {
		return inFiles
	}
	for i, problem := range problems {
		problems[i] = Problem{Message: joined("filled in from "+MemcachedFile, problem.text())}
	}
	return problems
}

// validateBuilt validates object, and returns the problems that checkFiles has not reported.
func (t *Templates) validateBuilt(object map[string]any) Problems {
	u := &unstructured.Unstructured{Object: object}
	problems := problemsIn(t.validator.validateTemplate(u), OfObject(u.GetKind(), u.GetName(), checkTyped(u.GroupVersionKind(), object)...))
	return slices.DeleteFunc(problems, func(p Problem) bool { return t.reported[p] })
}

// validateOrigins validates the objects of a full build that records the file of each
// object, and names the file in its errors.
func (t *Templates) validateOrigins(s *Set, example Input) (problems Problems, err error) {
	tree := maps.Clone(s.tree)
	if err := example.addTo(tree); err != nil {
		return nil, err
	}
	built, err := build(tree, s.root+"buildMetadata: [originAnnotations, transformerAnnotations]\n")
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
			problems = append(problems, problemsIn(In(file, "", err))...)
			continue
		}
		for _, problem := range t.validateBuilt(objects[0]) {
			problems = append(problems, t.blame(problem, file, changedBy))
		}
	}
	return problems, nil
}

// blame returns p, a problem of the object of file, which was correct there, with the place of the mistake: the
// last of the kustomizations in changedBy that names the wrong field is probably at fault.
func (t *Templates) blame(p Problem, file string, changedBy []string) Problem {
	field := p.Path[strings.LastIndexAny(p.Path, ".]")+1:]
	files := append([]string{file}, changedBy...)
	for _, candidate := range slices.Backward(files) {
		for i, line := range strings.Split(string(t.tree[candidate]), "\n") {
			if field == "" || !strings.Contains(line, field) || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			if candidate != file {
				p.Message += " (in the object of " + file + ")"
			}
			p.File, p.Line = candidate, i+1
			return p
		}
	}
	p.File = strings.Join(files, ", changed by ")
	return p
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
