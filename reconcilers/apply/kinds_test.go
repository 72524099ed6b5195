// SPDX-License-Identifier: Apache-2.0

package apply_test

import "k8s.io/apimachinery/pkg/runtime/schema"

var (
	widgetKind = schema.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: "Widget"}
	gadgetKind = schema.GroupVersionKind{Group: "loose.example.com", Version: "v1", Kind: "Gadget"}
	gizmoKind  = schema.GroupVersionKind{Group: "changing.example.com", Version: "v1", Kind: "Gizmo"}
)

// widgets are custom resources with a full schema: list-maps, sets, atomic lists
// and defaults.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.example.com}
spec:
  group: test.example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
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
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    port: {type: integer}
                    protocol: {type: string, default: TCP}
              rules:
                type: array
                items:
                  type: object
                  properties:
                    action: {type: string, default: allow}
                    path: {type: string}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true}
              selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
`

// gadgets are custom resources whose schema says nothing.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.loose.example.com}
spec:
  group: loose.example.com
  scope: Namespaced
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// gizmos are custom resources whose schema changes.
const gizmos = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.changing.example.com}
spec:
  group: changing.example.com
  scope: Namespaced
  names: {kind: Gizmo, listKind: GizmoList, plural: gizmos, singular: gizmo}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
`

// moreKinds grants the operator what the generated role would, had the templates
// these kinds.
const moreKinds = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: more-kinds}
rules:
- apiGroups: [""]
  resources: [configmaps, serviceaccounts]
  verbs: &verbs [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: *verbs
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: *verbs
- apiGroups: [networking.k8s.io]
  resources: [ingresses, networkpolicies]
  verbs: *verbs
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: *verbs
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
