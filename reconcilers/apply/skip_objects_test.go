// SPDX-License-Identifier: Apache-2.0

package apply_test

// podTemplate wraps the spec of a pod into a Deployment.
func podTemplate(spec string) string {
	return `
apiVersion: apps/v1
kind: Deployment
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: ` + spec
}

// skipped are objects whose stored form differs from the rendered one, or might.
var skipped = map[string]string{
	"an empty map that means something":         podTemplate(`{containers: [{name: a, image: a}], volumes: [{name: v, emptyDir: {}}]}`),
	"an empty map that means nothing":           podTemplate(`{containers: [{name: a, image: a}], nodeSelector: {}, securityContext: {}}`),
	"an empty list":                             podTemplate(`{containers: [{name: a, image: a, args: [], env: []}], tolerations: []}`),
	"quantities that have a shorter form":       podTemplate(`{containers: [{name: a, image: a, resources: {limits: {memory: 1024Mi, cpu: 1000m}, requests: {memory: 1048576Ki, cpu: "1.5e-1"}}}]}`),
	"a quantity with a fraction":                podTemplate(`{containers: [{name: a, image: a, resources: {limits: {cpu: "1.5"}}}]}`),
	"a quantity that is a number":               podTemplate(`{containers: [{name: a, image: a, resources: {limits: {cpu: 2}}}]}`),
	"a quantity in a volume":                    podTemplate(`{containers: [{name: a, image: a}], volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 2048Mi}}]}`),
	"an environment variable without a value":   podTemplate(`{containers: [{name: a, image: a, env: [{name: EMPTY, value: ""}, {name: NONE}]}]}`),
	"ports without a protocol":                  podTemplate(`{containers: [{name: a, image: a, ports: [{containerPort: 11211}]}]}`),
	"the same port by two protocols":            podTemplate(`{containers: [{name: a, image: a, ports: [{containerPort: 11211, protocol: TCP}, {containerPort: 11211, protocol: UDP}]}]}`),
	"zeros and falses that are the default":     podTemplate(`{hostNetwork: false, containers: [{name: a, image: a, stdin: false, readinessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: 0}}]}`),
	"zeros and falses that are not the default": podTemplate(`{enableServiceLinks: false, terminationGracePeriodSeconds: 0, containers: [{name: a, image: a}]}`),
	"defaults that are written out":             podTemplate(`{restartPolicy: Always, dnsPolicy: ClusterFirst, containers: [{name: a, image: a, imagePullPolicy: Always, terminationMessagePath: /dev/termination-log}]}`),
	"a toleration":                              podTemplate(`{containers: [{name: a, image: a}], tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}`),
	"an affinity":                               podTemplate(`{containers: [{name: a, image: a}], affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: a}}}}]}}}`),
	"a native sidecar":                          podTemplate(`{containers: [{name: a, image: a}], initContainers: [{name: b, image: b, restartPolicy: Always}]}`),
	"a probe by HTTP":                           podTemplate(`{containers: [{name: a, image: a, livenessProbe: {httpGet: {port: web, httpHeaders: [{name: Host, value: a}]}}}]}`),
	"a Deployment of size 0":                    `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}}`,
	"numbers or percents":                       `{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}}`,
	"no annotations":                            `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: null}}`,
	"annotations":                               `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {example.com/a: "", example.com/b: "true", example.com/c: "line\nline"}}}`,
	"a ConfigMap":                               `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "", c: "a\nb\n"}, binaryData: {d: AAEC}}`,
	"an immutable ConfigMap":                    `{apiVersion: v1, kind: ConfigMap, immutable: true, data: {a: "1"}}`,
	"an empty ConfigMap":                        `{apiVersion: v1, kind: ConfigMap, data: {}}`,
	"a PodDisruptionBudget in percent":          `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 50%, selector: {matchLabels: {app: a}}}}`,
	"a PodDisruptionBudget in pods":             `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 0, selector: {matchLabels: {app: a}}}}`,
	"a Service without a protocol":              `{apiVersion: v1, kind: Service, spec: {selector: {app: a}, ports: [{port: 11211}]}}`,
	"a Service that the server completes":       `{apiVersion: v1, kind: Service, spec: {type: NodePort, selector: {app: a}, ports: [{name: a, port: 11211, targetPort: 1}, {name: b, port: 2, protocol: UDP, targetPort: b}]}}`,
	"a NetworkPolicy":                           `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}], ports: [{port: 11211, protocol: TCP}]}]}}`,
	"a ServiceAccount":                          `{apiVersion: v1, kind: ServiceAccount, automountServiceAccountToken: false, imagePullSecrets: [{name: a}]}`,
	"a Role":                                    `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [list, watch]}]}`,
	"an Ingress":                                `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: a.b, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 1}}}}]}}]}}`,
	"a HorizontalPodAutoscaler":                 `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1000m}}}], behavior: {scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}}}}`,

	"a custom resource with a schema":      `{apiVersion: test.example.com/v1, kind: Widget, spec: {size: 1, share: 0.5, amount: 25%, tags: [b, a], ports: [{name: b, port: 2}, {name: a, port: 1}], selector: {a: b}, extra: {deep: [{a: 1}, {b: 1.5}], "true": null}}}`,
	"a custom resource with a whole float": `{apiVersion: test.example.com/v1, kind: Widget, spec: {share: 2, amount: 3, memory: 1024Mi}}`,
	"a custom resource with empty fields":  `{apiVersion: test.example.com/v1, kind: Widget, spec: {tags: [], ports: [], extra: {}, selector: {}, rules: []}}`,
	"a custom resource without a spec":     `{apiVersion: test.example.com/v1, kind: Widget}`,
	"a custom resource without a schema":   `{apiVersion: loose.example.com/v1, kind: Gadget, spec: {size: 1, share: 1.5, flag: false, text: "", list: [{name: a}, {name: b, more: [1, 2]}], empty: {}, none: []}, other: [1, two]}`,

	// The server adds defaults to a value that is written as a whole.
	"a variable from a field":                    podTemplate(`{containers: [{name: a, image: a, env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}]}`),
	"a projected volume, which gets defaults":    podTemplate(`{containers: [{name: a, image: a}], volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: token}}, {downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}}]}`),
	"a downward volume, which gets defaults":     podTemplate(`{containers: [{name: a, image: a}], volumes: [{name: v, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}`),
	"a NetworkPolicy without a protocol":         `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: a}}, ingress: [{ports: [{port: memcached}]}], egress: [{}]}}`,
	"a RoleBinding, whose subjects get defaults": `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: a, apiGroup: rbac.authorization.k8s.io}, subjects: [{kind: ServiceAccount, name: a, namespace: b}, {kind: User, name: b}]}`,
	"a StatefulSet with a claim":                 `{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: a, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}]}}`,
	"a custom resource with defaulted fields":    `{apiVersion: test.example.com/v1, kind: Widget, spec: {rules: [{path: /a}, {path: /b, action: deny}]}}`,
}
