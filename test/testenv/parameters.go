// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"strings"

	"github.com/example/memcached-operator/reconcilers/render"
)

const parameterComponent = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: memcached}
    spec: {template: {spec: {containers: [{name: memcached, env: [{name: %[1]s, value: ""}]}]}}}
replacements:
- source: {kind: Memcached, fieldPath: spec.parameters.%[1]s}
  targets:
  - select: {kind: Deployment, name: memcached}
    fieldPaths:
    - spec.template.spec.containers.[name=memcached].env.[name=%[1]s].value
  - select: {kind: Deployment, name: memcached}
    fieldPaths:
    - metadata.annotations.%[1]s
    options: {create: true}
`

// Parameters returns templates for ManagerOptions.Templates and Renderer, since the shipped ones declare no
// parameters. Each of the named parameters adds an item to a list and an entry to a map of the Deployment: an
// environment variable of memcached and an annotation, of the parameter's name and value.
func Parameters(names ...string) map[string]string {
	declarations := &strings.Builder{}
	declarations.WriteString("apiVersion: cache.example.com/v1alpha1\nkind: Parameters\nmetadata: {name: parameters}\nparameters:\n")
	templates := map[string]string{}
	for _, name := range names {
		fmt.Fprintf(declarations, "- {name: %[1]s, description: the variable %[1]s of memcached, example: a}\n", name)
		templates["components/parameters."+name+"/kustomization.yaml"] = fmt.Sprintf(parameterComponent, name)
	}
	templates[render.ParametersFile] = declarations.String()
	return templates
}
