// SPDX-License-Identifier: Apache-2.0

// Command bundle checks a generated OLM bundle for what operator-sdk does not: that every
// field of the API is described for the console, and, with --digests, that no image is
// named by a tag.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// module is where the types are whose fields can carry markers.
const module = "github.com/example/memcached-operator/"

// clusterServiceVersion is what is checked of one.
type clusterServiceVersion struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		CustomResourceDefinitions struct {
			Owned []ownedCRD `json:"owned"`
		} `json:"customresourcedefinitions"`
		RelatedImages []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		} `json:"relatedImages"`
		Install struct {
			Spec struct {
				Deployments []struct {
					Name string `json:"name"`
					Spec struct {
						Template struct {
							Spec struct {
								Containers []struct {
									Name  string `json:"name"`
									Image string `json:"image"`
								} `json:"containers"`
							} `json:"spec"`
						} `json:"template"`
					} `json:"spec"`
				} `json:"deployments"`
			} `json:"spec"`
		} `json:"install"`
	} `json:"spec"`
}

type ownedCRD struct {
	Name              string       `json:"name"`
	Version           string       `json:"version"`
	SpecDescriptors   []descriptor `json:"specDescriptors"`
	StatusDescriptors []descriptor `json:"statusDescriptors"`
}

type descriptor struct {
	Path        string `json:"path"`
	DisplayName string `json:"displayName"`
}

func main() {
	digests := flag.Bool("digests", false, "refuse images that are named by a tag")
	flag.Parse()
	if err := check(flag.Arg(0), *digests); err != nil {
		fmt.Fprintf(os.Stderr, "bundle: %v\n", err)
		os.Exit(1)
	}
}

// check returns everything that is wrong with the bundle's manifests in dir.
func check(dir string, digests bool) error {
	csv, crds, err := read(dir)
	if err != nil {
		return err
	}
	var problems []error
	for _, crd := range crds {
		problems = append(problems, described(crd, csv.Spec.CustomResourceDefinitions.Owned)...)
	}
	if digests {
		problems = append(problems, pinned(csv)...)
	}
	return errors.Join(problems...)
}

// read finds the ClusterServiceVersion and the CustomResourceDefinitions in dir.
func read(dir string) (*clusterServiceVersion, []apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, nil, err
	}
	var csv *clusterServiceVersion
	var crds []apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		var object clusterServiceVersion
		if err := yaml.Unmarshal(content, &object); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		switch object.Kind {
		case "ClusterServiceVersion":
			csv = &object
		case "CustomResourceDefinition":
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.UnmarshalStrict(content, &crd); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", file, err)
			}
			crds = append(crds, crd)
		}
	}
	if csv == nil || len(crds) == 0 {
		return nil, nil, fmt.Errorf("%s holds no ClusterServiceVersion, or no CustomResourceDefinition", dir)
	}
	return csv, crds, nil
}

// described returns an error for each field of a served version of crd without a
// descriptor, and for each descriptor without a field.
func described(crd apiextensionsv1.CustomResourceDefinition, owned []ownedCRD) []error {
	var problems []error
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		index := slices.IndexFunc(owned, func(o ownedCRD) bool { return o.Name == crd.Name && o.Version == version.Name })
		if index < 0 {
			problems = append(problems, fmt.Errorf("%s %s is served, and the ClusterServiceVersion does not own it: is it in PROJECT?", crd.Name, version.Name))
			continue
		}
		root := typeOf(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind})
		parts := version.Schema.OpenAPIV3Schema.Properties
		problems = append(problems, compare("spec", parts["spec"], fieldOf(root, "spec"), owned[index].SpecDescriptors)...)
		problems = append(problems, compare("status", parts["status"], fieldOf(root, "status"), owned[index].StatusDescriptors)...)
	}
	return problems
}

// typeOf is the Go type of a kind, or nil when this program does not know it.
func typeOf(kind schema.GroupVersionKind) reflect.Type {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		return nil
	}
	return scheme.AllKnownTypes()[kind]
}

// fieldOf is the type, without pointers, of the field of t that JSON calls name, or nil.
func fieldOf(t reflect.Type, name string) reflect.Type {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag != name {
			continue
		}
		if field.Type.Kind() == reflect.Pointer {
			return field.Type.Elem()
		}
		return field.Type
	}
	return nil
}

func compare(part string, schema apiextensionsv1.JSONSchemaProps, t reflect.Type, descriptors []descriptor) []error {
	fields, paths := map[string]bool{}, map[string]bool{}
	collect("", schema, t, fields)
	var problems []error
	for _, d := range descriptors {
		paths[d.Path] = true
		if !fields[d.Path] {
			problems = append(problems, fmt.Errorf("%s.%s has a descriptor and is no field of the CustomResourceDefinition: take its marker away", part, d.Path))
		}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !paths[field] {
			problems = append(problems, fmt.Errorf("%s.%s has no descriptor: give it a marker +operator-sdk:csv:customresourcedefinitions:type=%s,displayName=\"…\" in apis/", part, field, part))
		}
	}
	return problems
}

// asInCore are the types of the API that have the fields of a type of Kubernetes. Users
// know what is in them, so the field of that type alone is described.
var asInCore = []string{"Affinity", "ResourceAmounts"}

// collect adds the paths of all fields of schema, which is t's. What is inside of a list
// is described by the list. What is inside of a type of Kubernetes, or of one that has
// its fields, has no descriptor of its own.
func collect(prefix string, schema apiextensionsv1.JSONSchemaProps, t reflect.Type, fields map[string]bool) {
	if t != nil && t.PkgPath() != "" && (!strings.HasPrefix(t.PkgPath(), module) || slices.Contains(asInCore, t.Name())) {
		return
	}
	for name, property := range schema.Properties {
		fields[prefix+name] = true
		collect(prefix+name+".", property, fieldOf(t, name), fields)
	}
}

// pinned returns an error for each image of csv that is named by a tag.
func pinned(csv *clusterServiceVersion) []error {
	images := map[string]string{"annotation containerImage": csv.Metadata.Annotations["containerImage"]}
	for _, related := range csv.Spec.RelatedImages {
		images["relatedImages "+related.Name] = related.Image
	}
	for _, deployment := range csv.Spec.Install.Spec.Deployments {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			images["container "+container.Name+" of "+deployment.Name] = container.Image
		}
	}
	var problems []error
	for _, where := range slices.Sorted(maps.Keys(images)) {
		if !strings.Contains(images[where], "@sha256:") {
			problems = append(problems, fmt.Errorf("%s: %s is a tag, and digests were asked for (USE_IMAGE_DIGESTS)", where, images[where]))
		}
	}
	return problems
}
