// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// withWebhook returns what `make deploy WEBHOOK=true` applies, for all namespaces or for namespaces.
func withWebhook(t *testing.T, namespaces string) overlay {
	t.Helper()
	testenv.NoError(t, controlplane.DependOn("config", "hack/installer.sh"))
	command := exec.CommandContext(t.Context(), filepath.Join(controlplane.Root(), "hack", "installer.sh"), "memcached-operator:1", namespaces)
	command.Env, command.Stderr = append(os.Environ(), "WEBHOOK=true"), os.Stderr
	output, err := command.Output()
	testenv.NoError(t, err)
	return decode(t, string(output))
}

func TestWebhook_ReachesTheManagerAndBlocksNoWrite(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		namespaces string
		reviewed   []string
	}{
		"all namespaces":  {"", nil},
		"one namespace":   {"shop", []string{"shop"}},
		"some namespaces": {"shop,web", []string{"shop", "web"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			o := withWebhook(t, test.namespaces)
			manager := all[*appsv1.Deployment](o)[0].Spec.Template
			webhook := all[*admissionregistrationv1.ValidatingWebhookConfiguration](o)[0].Webhooks[0]
			if *webhook.FailurePolicy != admissionregistrationv1.Ignore || *webhook.TimeoutSeconds != 2 || *webhook.SideEffects != admissionregistrationv1.SideEffectClassNone {
				t.Errorf("writes depend on the webhook: %+v", webhook)
			}
			var reviewed []string
			if webhook.NamespaceSelector != nil {
				reviewed = webhook.NamespaceSelector.MatchExpressions[0].Values
			}
			if !slices.Equal(reviewed, test.reviewed) {
				t.Errorf("it reviews the Memcacheds in %q, want %q", reviewed, test.reviewed)
			}
			reference := webhook.ClientConfig.Service
			index := slices.IndexFunc(all[*corev1.Service](o), func(s *corev1.Service) bool { return s.Name == reference.Name && s.Namespace == reference.Namespace })
			if index < 0 {
				t.Fatalf("there is no Service %s/%s", reference.Namespace, reference.Name)
			}
			service := all[*corev1.Service](o)[index]
			wantPort(t, manager, service.Spec.Ports[0].TargetPort.String())
			if !selected(service.Spec.Selector, manager.Labels) {
				t.Errorf("the Service selects %v", service.Spec.Selector)
			}
			certificate := o.other[slices.IndexFunc(o.other, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Certificate" })]
			names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
			if want := service.Name + "." + service.Namespace + ".svc"; !slices.Equal(names, []string{want}) {
				t.Errorf("the certificate is for %q, want %q", names, want)
			}
			secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
			if volume := manager.Spec.Volumes[0].Secret; volume == nil || volume.SecretName != secret || !*volume.Optional {
				t.Errorf("the volume is %+v, want the Secret %s, if it exists", volume, secret)
			}
		})
	}
	policy := all[*networkingv1.NetworkPolicy](build(t, "network-policy"))[0]
	manager := all[*appsv1.Deployment](withWebhook(t, ""))[0].Spec.Template
	wantPort(t, manager, policy.Spec.Ingress[1].Ports[0].Port.String())
}

// wantPort fails unless the manager has a port called name, on which it serves the webhook.
func wantPort(t *testing.T, manager corev1.PodTemplateSpec, name string) {
	t.Helper()
	container := manager.Spec.Containers[0]
	index := slices.IndexFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.Name == name })
	if index < 0 || container.Ports[index].ContainerPort != 9443 || !slices.Contains(container.Args, "--webhook-bind-address=:9443") {
		t.Errorf("the port %s is not where the manager serves the webhook: %v, %v", name, container.Ports, container.Args)
	}
}

func TestWebhook_IsOffByDefault(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"default", "namespaced"} {
		o := build(t, directory)
		if found := all[*admissionregistrationv1.ValidatingWebhookConfiguration](o); len(found) > 0 {
			t.Errorf("config/%s has a webhook", directory)
		}
		if args := strings.Join(all[*appsv1.Deployment](o)[0].Spec.Template.Spec.Containers[0].Args, " "); strings.Contains(args, "webhook") {
			t.Errorf("config/%s: the manager is started with %s", directory, args)
		}
	}
}
