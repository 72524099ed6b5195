// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/test/testenv"
)

var (
	widgetKind = schema.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: "Widget"}
	gadgetKind = schema.GroupVersionKind{Group: "loose.example.com", Version: "v1", Kind: "Gadget"}
	gizmoKind  = schema.GroupVersionKind{Group: "changing.example.com", Version: "v1", Kind: "Gizmo"}
)

// widgets are custom resources with a full schema: list-maps, sets, atomic lists
// and defaults.
var widgets = testenv.CustomResource(widgetKind.Group, "Widget", "Namespaced", `
type: object
properties:
  spec:
    type: object
    properties:
      size: {type: integer}
      share: {type: number}
      amount: {x-kubernetes-int-or-string: true}
      memory: {type: string}
      color: {type: string, default: red}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}, protocol: {type: string, default: TCP}}}
      rules:
        type: array
        items: {type: object, properties: {action: {type: string, default: allow}, path: {type: string}}}
      extra: {type: object, x-kubernetes-preserve-unknown-fields: true}
      selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
`)

// gadgets are custom resources whose schema says nothing.
var gadgets = testenv.CustomResource(gadgetKind.Group, "Gadget", "Namespaced", "{type: object, x-kubernetes-preserve-unknown-fields: true}")

// gizmos returns the definition of custom resources whose schema changes by more properties.
func gizmos(more string) string {
	return testenv.CustomResource(gizmoKind.Group, "Gizmo", "Namespaced",
		"{type: object, properties: {spec: {type: object, properties: {size: {type: integer}"+more+"}}}}")
}

// moreKinds grants the operator what the generated role would, had the templates
// these kinds.
const moreKinds = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: more-kinds}
rules:
- apiGroups: ["", apps, autoscaling, networking.k8s.io, rbac.authorization.k8s.io]
  resources: [configmaps, serviceaccounts, statefulsets, horizontalpodautoscalers, ingresses, networkpolicies, roles, rolebindings]
  verbs: &verbs [get, list, watch, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles]
  verbs: [bind]
- apiGroups: [test.example.com, loose.example.com, changing.example.com]
  resources: ["*"]
  verbs: *verbs
`

const moreKindsBinding = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: more-kinds}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: more-kinds}
subjects:
- kind: ServiceAccount
  namespace: memcached-operator-system
  name: memcached-operator-controller-manager
`
