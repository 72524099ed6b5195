// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/nodes"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

// readExample returns the input that tree contains as the example of every field, with the examples of
// parameters. The error joins those of both files.
func readExample(tree Tree, parameters parameters) (template.Input, error) {
	mc, errMemcached := readExampleMemcached(tree)
	var values struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Values     `json:",inline"`
	}
	errValues := template.In(template.ValuesFile, "", template.DecodeStrict(tree[template.ValuesFile], &values))
	if err := errors.Join(errMemcached, errValues); err != nil {
		return template.Input{}, err
	}
	mc.Spec.Parameters = parameters.examples()
	return newInput(mc, values.Values)
}

func readExampleMemcached(tree Tree) (*cachev1alpha1.Memcached, error) {
	mc := &cachev1alpha1.Memcached{}
	if len(tree[template.MemcachedFile]) == 0 {
		return nil, template.In(template.MemcachedFile, "", errors.New("no such file, or it is empty"))
	}
	if err := template.DecodeStrict(tree[template.MemcachedFile], mc); err != nil {
		return nil, template.In(template.MemcachedFile, "", err)
	}
	if mc.Name == "" {
		return nil, template.In(template.MemcachedFile, "", errors.New("metadata.name of the example Memcached is missing"))
	}
	return mc, nil
}

// check checks the files; the components of an empty Memcached, these with each component that
// differs from the shipped one, and all components. It sets the kinds of the objects that
// they build, and which of them are optional.
func (r *Renderer) check() template.Problems {
	var errParameters error
	r.parameters, errParameters = readParameters(r.tree)
	example, err := readExample(r.tree, r.parameters)
	problems := r.tree.Problems(errParameters, err)
	var found template.Problems
	r.templates, found = template.Parse(r.tree, example, r.validator)
	problems = append(problems, found...)
	if r.templates.CanBuild() {
		r.sets = newSets(r.templates, r.defaults.FullBuilds)
		problems = append(problems, r.checkSets()...)
	}
	return withoutConsequences(problems.Sorted(), r.tree, r.shipped)
}

// checkSets validates the sets of components. Of templates that tests have validated it builds the first only: the others would take
// most of the time of a start.
func (r *Renderer) checkSets() (problems template.Problems) {
	sets, err := r.setsToValidate()
	if err != nil {
		return r.tree.Problems(err)
	}
	kinds := map[schema.GroupVersionKind]bool{}
	r.optional = map[schema.GroupVersionKind]bool{}
	add := func(kind schema.GroupVersionKind, byComponent bool) {
		if !kinds[kind] {
			r.optional[kind] = byComponent && !clientgoscheme.Scheme.Recognizes(kind)
		}
		kinds[kind] = true
	}
	isValidated := r.tree.Digest() == strings.TrimSpace(manifests.Validated)
	if isValidated {
		sets = sets[:1]
	}
	for i, set := range sets {
		built, found := r.validate(set, i < len(sets)-1)
		problems = append(problems, found...)
		if built == nil {
			continue
		}
		if i == 0 {
			problems = append(problems, r.tree.Problems(r.readPlain(built, r.templates.Example(set.components)))...)
		}
		for _, id := range built.Names() {
			add(id.GroupVersionKind(), i > 0)
		}
	}
	if isValidated {
		for _, kind := range r.templates.Kinds() {
			add(kind, true)
		}
	}
	r.kinds = slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	return problems
}

// withoutConsequences returns problems without those in files that are as shipped, if there are
// others, of which they are consequences: a replacement no longer finds a field that was misspelt.
func withoutConsequences(problems template.Problems, tree, shipped Tree) template.Problems {
	isShipped := func(p template.Problem) bool {
		content, ok := shipped[p.File]
		return ok && bytes.Equal(content, tree[p.File])
	}
	if changed := slices.DeleteFunc(slices.Clone(problems), isShipped); len(changed) > 0 {
		return changed
	}
	return problems
}

// componentSet is a set of components to validate.
type componentSet struct {
	components []string
	// name says which, for messages; empty for those of an empty Memcached.
	name string
}

// file returns the file of the component that the set is about: the site's for those of an empty Memcached.
func (s componentSet) file() string {
	component, ok := strings.CutPrefix(s.name, "with component ")
	if !ok {
		component = "site"
	}
	return "components/" + component + "/kustomization.yaml"
}

func (r *Renderer) setsToValidate() ([]componentSet, error) {
	empty, err := r.input(&cachev1alpha1.Memcached{}, nodes.Layout{})
	if err != nil {
		return nil, err
	}
	all := r.templates.Components()
	least := empty.Active(all)
	sets := []componentSet{{components: least}}
	for _, name := range all {
		// Tests validate the shipped components; doing so at each start would take too long.
		if !r.templates.IsComponentOf(r.shipped, name) {
			set, err := r.leastWith(name, least)
			if err != nil {
				return nil, err
			}
			sets = append(sets, componentSet{set, "with component " + name})
		}
	}
	return append(sets, componentSet{all, "with all components"}), nil
}

// warnings returns what has no effect in the templates.
func (r *Renderer) warnings() (Problems, error) {
	empty, err := r.input(&cachev1alpha1.Memcached{}, nodes.Layout{})
	if err != nil {
		return nil, err
	}
	return r.templates.Warnings(r.shipped, empty.Active(r.templates.Components())), nil
}

// leastWith returns the least set of components that includes component, of those of the Memcacheds that set one or two
// fields of the example: tls, for example, comes with reloader, and metrics.tls with both of its fields. If none of them
// enables it, it is added to the set of the component that contains its field, or to least, that of a Memcached without
// fields.
func (r *Renderer) leastWith(component string, least []string) ([]string, error) {
	example, err := readExampleMemcached(r.tree)
	if err != nil {
		return nil, err
	}
	example.Spec.Parameters = r.parameters.examples()
	in, err := newInput(example, Values{})
	if err != nil {
		return nil, err
	}
	// The fields that enable other components may be needed: proxy.rules comes with metrics.rules.
	for _, in := range []template.Input{r.templates.WithoutOthers(in, component), in} {
		if best, err := r.leastOf(component, in.Memcached["spec"].(map[string]any)); best != nil || err != nil {
			return best, err
		}
	}
	if i := strings.LastIndex(component, "."); i >= 0 {
		if least, err = r.leastWith(component[:i], least); err != nil {
			return nil, err
		}
	}
	best := append(slices.Clone(least), component)
	slices.Sort(best)
	return slices.DeleteFunc(slices.Compact(best), func(name string) bool { return !slices.Contains(r.templates.Components(), name) }), nil
}

// leastOf returns the least set of components that includes component, of those of the Memcacheds that set one or two of fields; nil
// if none of them does.
func (r *Renderer) leastOf(component string, fields map[string]any) (best []string, err error) {
	names := slices.Sorted(maps.Keys(fields))
	for i, first := range names {
		for _, second := range names[i:] {
			mc := &cachev1alpha1.Memcached{}
			spec := map[string]any{first: fields[first], second: fields[second]}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &mc.Spec); err != nil {
				return nil, err
			}
			in, err := r.input(mc, nodes.Layout{})
			if err != nil {
				return nil, err
			}
			active := in.Active(r.templates.Components())
			if slices.Contains(active, component) && (best == nil || len(active) < len(best)) {
				best = active
			}
		}
	}
	return best, nil
}

// validate validates the objects of a set, and their names. mutated is that of [template.Templates.Validate].
func (r *Renderer) validate(set componentSet, mutated bool) (built *template.Set, problems template.Problems) {
	defer func() {
		if cause := recover(); cause != nil { // in kustomize, or in what prepares its templates
			built, problems = nil, r.tree.Problems(template.In(set.file(), "", fmt.Errorf("the build crashes: %v; undo the last edit, and report it", cause)))
		}
	}()
	built, problems = r.templates.Validate(set.components, mutated)
	if built != nil {
		example := r.templates.Example(set.components)
		objects, err := objectsNamed(built, example, exampleName)
		if err == nil {
			err = checkExample(r.templates, built, example, objects)
		}
		problems = r.tree.Problems(err)
	}
	for i := range problems {
		problems[i].Set = set.name
	}
	return built, problems
}

// readPlain reads what values depend on from the objects of set, that of a Memcached without fields, and fails if they would
// be refused.
func (r *Renderer) readPlain(set *template.Set, example template.Input) error {
	objects, err := objectsNamed(set, example, exampleName)
	if err != nil {
		return err
	}
	if err := checkServes(objects, exampleName); err != nil {
		return Problem{File: r.templates.FileOfKind(deployment), Message: fmt.Sprintf("no Memcached could be rendered: %v", err)}
	}
	_, container := memcachedPod(objects, exampleName)
	r.plain.capacity = capacityOf(container)
	r.plain.sleepSeconds = preStopOf(container)
	return nil
}
