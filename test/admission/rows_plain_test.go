// SPDX-License-Identifier: Apache-2.0

package admission

func plainRow(name, raw string) row { return row{name: name, raw: raw} }

// plainRows are accepted from everybody and come to the plain templates.
var plainRows = []row{
	plainRow("uses the node's network by a field", "{spec: {hostNetwork: true, hostPID: true, hostIPC: true}}"),
	plainRow("runs a privileged container by a field", "{spec: {securityContext: {privileged: true, runAsUser: 0}, podSecurityContext: {runAsUser: 0}}}"),
	plainRow("mounts the node's files by a field", "{spec: {volumes: [{name: root, hostPath: {path: /}}], volumeMounts: [{name: root, mountPath: /host}]}}"),
	plainRow("adds containers by a field", "{spec: {containers: [{name: thief, image: thief}], initContainers: [{name: thief, image: thief}]}}"),
	plainRow("writes a pod template", "{spec: {template: {spec: {hostNetwork: true}}, podTemplate: {spec: {hostNetwork: true}}}}"),
	plainRow("writes command, arguments and environment", "{spec: {command: [sh], args: [-U, '11211'], env: [{name: A, value: $(B)}], envFrom: [{secretRef: {name: database}}]}}"),
	plainRow("writes a service account under its old name", "{spec: {serviceAccount: admin, automountServiceAccountToken: true}}"),
	plainRow("writes a node", "{spec: {nodeName: control-plane, hostname: db, runtimeClassName: fast, schedulerName: mine}}"),
	plainRow("writes another namespace into the spec", "{spec: {namespace: kube-system, name: checkout}}"),
	plainRow("writes fields in another case", "{spec: {Patches: [{target: {kind: Deployment}, patch: x}], ServiceAccountName: admin, TLS: {secretName: web}}}"),
	plainRow("writes fields in another place", "{patches: [{target: {kind: Deployment}, patch: x}], tls: {secretName: web}, spec: {}}"),
	plainRow("writes other metadata of the pods", "{spec: {podMetadata: {name: x, namespace: kube-system, finalizers: [a/b], ownerReferences: [{name: x}]}}}"),
	plainRow("writes the type of the Service", "{spec: {service: {type: LoadBalancer, externalIPs: [192.0.2.1], selector: {role: checkout}, ports: [{port: 53}]}}}"),
	plainRow("writes the selector of the budget", "{spec: {podDisruptionBudget: {selector: {matchLabels: {role: checkout}}, minAvailable: 0}}}"),
	plainRow("requests an extended resource", "{spec: {resources: {limits: {nvidia.com/gpu: 8}}}}"),
	plainRow("requests huge pages", "{spec: {resources: {limits: {hugepages-2Mi: 1Gi}}}}"),
	plainRow("writes Values of the templates", "{spec: {values: {openShift: true}, openShift: true}, values: {image: thief}}"),
	plainRow("writes guarded fields that are empty", "{spec: {tolerations: [], imagePullSecrets: [], patches: [], podMetadata: {labels: {}, annotations: {}}, service: {labels: {}, annotations: {}}, affinity: {podAntiAffinity: {}}}}"),
	plainRow("writes guarded fields that are null", "{spec: {tls: null, auth: null, image: null, serviceAccountName: null, tolerations: null, networkPolicy: null, affinity: null, metrics: null}}"),
	plainRow("writes annotations of kustomize", "{metadata: {annotations: {config.kubernetes.io/local-config: 'false', config.kubernetes.io/function: 'exec: {path: /bin/sh}', internal.config.kubernetes.io/path: ../../x, kustomize.config.k8s.io/behavior: merge, config.k8s.io/id: '1', internal.config.kubernetes.io/previousNames: checkout}}, spec: {}}"),
	plainRow("writes annotations of injectors on itself", "{metadata: {annotations: {sidecar.istio.io/inject: 'true', linkerd.io/inject: enabled}}, spec: {}}"),
	plainRow("writes a DNS name on itself", "{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}, spec: {}}"),
	plainRow("writes labels of the operator on itself", "{metadata: {labels: {app: other, memcached_cr: other, app.kubernetes.io/managed-by: memcached-operator, pod-template-hash: a}}, spec: {}}"),
	plainRow("writes a label that another Service selects on itself", "{metadata: {labels: {role: checkout}}, spec: {}}"),
	plainRow("writes a finalizer and an owner", "{metadata: {finalizers: [example.com/stay], ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: x}]}, spec: {}}"),
	plainRow("writes an identity of its own", "{metadata: {generation: 99, selfLink: /api, creationTimestamp: '2001-01-01T00:00:00Z'}, spec: {}}"),
	plainRow("writes a status of its own", "{status: {selector: role=checkout, observedGeneration: 99, image: thief}, spec: {}}"),
}
