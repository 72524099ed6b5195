// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"maps"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// What nobody has a reason to refuse comes to the plain templates and nothing else.
func TestTheRestComesToThePlainTemplates(t *testing.T) {
	t.Parallel()
	for sentence, content := range map[string]string{
		"the node's network, as a field":    "{spec: {hostNetwork: true, hostPID: true, hostIPC: true}}",
		"a privileged container":            "{spec: {securityContext: {privileged: true, runAsUser: 0}, podSecurityContext: {runAsUser: 0}}}",
		"the node's files":                  "{spec: {volumes: [{name: root, hostPath: {path: /}}], volumeMounts: [{name: root, mountPath: /host}]}}",
		"containers":                        "{spec: {containers: [{name: thief, image: thief}], initContainers: [{name: thief, image: thief}]}}",
		"a pod template":                    "{spec: {template: {spec: {hostNetwork: true}}, podTemplate: {spec: {hostNetwork: true}}}}",
		"a command and arguments":           "{spec: {command: [sh], args: [-U, '11211'], env: [{name: A, value: $(B)}], envFrom: [{secretRef: {name: database}}]}}",
		"a foreign service account":         "{spec: {serviceAccount: admin, automountServiceAccountToken: true}}",
		"a node":                            "{spec: {nodeName: control-plane, hostname: db, runtimeClassName: fast, schedulerName: mine}}",
		"another namespace, in the spec":    "{spec: {namespace: kube-system, name: checkout}}",
		"fields in another case":            "{spec: {Patches: [{target: {kind: Deployment}, patch: x}], ServiceAccountName: admin, TLS: {secretName: web}}}",
		"fields of another place":           "{patches: [{target: {kind: Deployment}, patch: x}], tls: {secretName: web}, spec: {}}",
		"a reach of the pods' metadata":     "{spec: {podMetadata: {name: x, namespace: kube-system, finalizers: [a/b], ownerReferences: [{name: x}]}}}",
		"a balancer of the cloud":           "{spec: {service: {type: LoadBalancer, externalIPs: [192.0.2.1], selector: {role: checkout}, ports: [{port: 53}]}}}",
		"a budget for other pods":           "{spec: {podDisruptionBudget: {selector: {matchLabels: {role: checkout}}, minAvailable: 0}}}",
		"Values of the templates":           "{spec: {values: {openShift: true}, openShift: true}, values: {image: thief}}",
		"kustomize's annotations":           "{metadata: {annotations: {config.kubernetes.io/local-config: 'false', config.kubernetes.io/function: 'exec: {path: /bin/sh}', internal.config.kubernetes.io/path: ../../x, kustomize.config.k8s.io/behavior: merge, config.k8s.io/id: '1', internal.config.kubernetes.io/previousNames: checkout}}, spec: {}}",
		"an injector's annotations":         "{metadata: {annotations: {sidecar.istio.io/inject: 'true', linkerd.io/inject: enabled}}, spec: {}}",
		"a DNS name":                        "{metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: bank.example.com}}, spec: {}}",
		"labels of the operator's":          "{metadata: {labels: {app: other, memcached_cr: other, app.kubernetes.io/managed-by: memcached-operator, pod-template-hash: a}}, spec: {}}",
		"labels that another Service wants": "{metadata: {labels: {role: checkout}}, spec: {}}",
		"a finalizer and an owner":          "{metadata: {finalizers: [example.com/stay], ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: x}]}, spec: {}}",
		"an identity of the author's":       "{metadata: {uid: 00000000-0000-0000-0000-000000000000, generation: 99, creationTimestamp: '2001-01-01T00:00:00Z'}, spec: {}}",
		"a status of the author's":          "{status: {selector: role=checkout, observedGeneration: 99, image: thief}, spec: {}}",
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			mc := memcached(namespace, victim, content)
			more := mc.Object["spec"].(map[string]any)
			delete(mc.Object, "spec")
			metadata, _ := more["metadata"].(map[string]any)
			maps.Copy(mc.Object["metadata"].(map[string]any), metadata)
			delete(more, "metadata")
			maps.Copy(mc.Object, more)
			c, err := as()
			fatal(t, err)
			fatal(t, c.Create(t.Context(), mc))
			wantVerdict(t, namespace, "")
			if got, want := children(t, namespace), plain(t); !maps.Equal(got, want) {
				t.Errorf("it comes to\n%v\nthe plain templates to\n%v", got, want)
			}
		})
	}
}

var plainOnce sync.Once
var plainChildren map[string]string

// plain are the children of a Memcached that says nothing.
func plain(t *testing.T) map[string]string {
	t.Helper()
	plainOnce.Do(func() {
		namespace := newNamespace(t)
		fatal(t, cluster.Client.Create(t.Context(), memcached(namespace, victim, "{}")))
		wantVerdict(t, namespace, "")
		plainChildren = children(t, namespace)
	})
	if len(plainChildren) != 3 {
		t.Fatalf("a plain Memcached has the children %v", plainChildren)
	}
	return plainChildren
}

// wantMore waits until the children in namespace are other than the plain ones: an
// author with the rights gets what he asked for.
func wantMore(t *testing.T, namespace string) {
	t.Helper()
	plain := plain(t)
	if err := eventually(t.Context(), func(context.Context) (bool, error) {
		return !maps.Equal(plain, children(t, namespace)), nil
	}); err != nil {
		t.Errorf("the children stay as those of a plain Memcached: %v", err)
	}
}

// children are all objects in namespace, by kind and name: what users decide of them.
func children(t *testing.T, namespace string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := cluster.Client.List(t.Context(), list, client.InNamespace(namespace)); !apierrors.IsNotFound(err) {
			fatal(t, err)
		}
		for _, item := range list.Items {
			content, err := yaml.Marshal(map[string]any{
				"labels": item.GetLabels(), "annotations": item.GetAnnotations(), "finalizers": item.GetFinalizers(), "spec": item.Object["spec"],
			})
			fatal(t, err)
			found[item.GetKind()+" "+item.GetName()] = string(content)
		}
	}
	return found
}
