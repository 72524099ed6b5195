// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func TestReconcile_RevertsDrift(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "drifting", 1)
	ready(t, mc)

	t.Run("a Deployment scaled by hand", func(t *testing.T) {
		patch(t, deployment(namespace, "drifting"), `{"spec":{"replicas":4}}`)
		eventually(t, deployment(namespace, "drifting"), "one replica", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 1 })
	})
	t.Run("the label that the cache selects by", func(t *testing.T) {
		patch(t, service(namespace, "drifting"), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		eventually(t, service(namespace, "drifting"), "the label", func(s *corev1.Service) bool {
			return s.Labels["app.kubernetes.io/managed-by"] == "memcached-operator"
		})
	})
	t.Run("the owner reference", func(t *testing.T) {
		patch(t, service(namespace, "drifting"), `{"metadata":{"ownerReferences":null}}`)
		// No watch tells whose the Service was: the next look at the Memcached does.
		patch(t, mc, `{"spec":{"size":2}}`)
		eventually(t, service(namespace, "drifting"), "the owner", func(s *corev1.Service) bool { return metav1.IsControlledBy(s, mc) })
	})
	t.Run("a child that a user deleted", func(t *testing.T) {
		before := service(namespace, "drifting")
		fatal(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(before), before))
		fatal(t, suite.Client.Delete(t.Context(), service(namespace, "drifting")))
		eventually(t, service(namespace, "drifting"), "a new Service", func(s *corev1.Service) bool { return s.UID != before.UID })
	})
	t.Run("a sidecar and an annotation of another client stay", func(t *testing.T) {
		sidecar := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "drifting", "namespace": namespace, "annotations": map[string]any{"example.com/note": "mine"}},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "sidecar", "image": "example.com/sidecar:1"},
			}}}},
		}}
		fatal(t, suite.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(sidecar), client.FieldOwner("injector")))
		patch(t, mc, `{"spec":{"size":3}}`)
		d := eventually(t, deployment(namespace, "drifting"), "three replicas", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 3 })
		if len(d.Spec.Template.Spec.Containers) != 2 || d.Annotations["example.com/note"] != "mine" {
			t.Errorf("what another client set is gone: %v, %d containers", d.Annotations, len(d.Spec.Template.Spec.Containers))
		}
	})
}

func TestReconcile_AppliesOtherObjectsOnOwnershipConflict(t *testing.T) {
	t.Parallel()
	for name, labels := range map[string]map[string]string{
		"without labels":  nil,
		"with our labels": {"app.kubernetes.io/managed-by": "memcached-operator", "memcached_cr": "taken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			startOperator(t, suite.operator, namespace, nil)
			foreign := service(namespace, "taken")
			foreign.Labels = labels
			foreign.Spec.Ports = []corev1.ServicePort{{Port: 80}}
			fatal(t, suite.Client.Create(t.Context(), foreign))

			mc := newMemcached(t, namespace, "taken", 0)
			eventually(t, mc, "stalled", func(mc *cachev1alpha1.Memcached) bool {
				return is(mc, cachev1alpha1.ConditionStalled, metav1.ConditionTrue, cachev1alpha1.ReasonOwnershipConflict)
			})
			if message := mc.Status.Conditions[0].Message; !strings.Contains(message, "Service taken") {
				t.Errorf("the message does not name the object: %s", message)
			}
			eventually(t, deployment(namespace, "taken"), "the Deployment is made all the same", func(*appsv1.Deployment) bool { return true })
			version := foreign.ResourceVersion
			fatal(t, suite.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
			if foreign.ResourceVersion != version {
				t.Error("the foreign Service was written")
			}
			fatal(t, suite.Client.Delete(t.Context(), foreign))
			ready(t, mc)
			eventually(t, service(namespace, "taken"), "our Service", func(s *corev1.Service) bool { return metav1.IsControlledBy(s, mc) })
		})
	}
}

func TestReconcile_AdoptsDeploymentOfTutorial(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mc := newMemcached(t, namespace, "memcached-sample", 2)
	selector := map[string]string{"app": "memcached", "memcached_cr": "memcached-sample"}
	made := deployment(namespace, "memcached-sample")
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(mc, cachev1alpha1.MemcachedKind)}
	made.Spec = appsv1.DeploymentSpec{
		Replicas:        new(int32(2)),
		Selector:        &metav1.LabelSelector{MatchLabels: selector},
		MinReadySeconds: 1,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector},
			Spec: corev1.PodSpec{
				HostAliases: []corev1.HostAlias{{IP: "127.0.0.9", Hostnames: []string{"old"}}},
				Containers: []corev1.Container{{
					Name: "memcached", Image: "memcached:1.4.36-alpine",
					Command: []string{"memcached", "-m=64", "-o", "modern", "-v"},
					Ports:   []corev1.ContainerPort{{ContainerPort: 11211, Name: "memcached"}},
				}},
			},
		},
	}
	fatal(t, suite.Client.Create(t.Context(), made, client.FieldOwner("manager")))
	fatal(t, suite.Client.Patch(t.Context(), deployment(namespace, "memcached-sample"),
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"example.com/note":"mine"}}}`)), client.FieldOwner("kubectl-annotate")))

	o := startOperator(t, suite.operator, namespace, nil)
	ready(t, mc)
	now := deploymentNow(t, namespace, "memcached-sample")
	switch container := now.Spec.Template.Spec.Containers[0]; {
	case now.UID != made.UID:
		t.Error("the Deployment was made anew")
	case now.Annotations["example.com/note"] != "mine":
		t.Errorf("the user's annotation is gone: %v", now.Annotations)
	case len(now.Spec.Template.Spec.HostAliases) != 0:
		t.Error("a field that the tutorial's operator set and we do not render is still there")
	case container.Image != "memcached:1.6.45" || len(container.Command) != 1:
		t.Errorf("the container is still the tutorial's: %s %v", container.Image, container.Command)
	case now.Labels["app.kubernetes.io/managed-by"] != "memcached-operator":
		t.Errorf("the labels are %v", now.Labels)
	}
	before := len(o.matching("PATCH", "/deployments/"))
	patch(t, mc, `{"spec":{"size":3}}`)
	eventually(t, mc, "three", func(mc *cachev1alpha1.Memcached) bool { return isReady(mc) && len(mc.Status.Nodes) == 3 })
	if after := len(o.matching("PATCH", "/deployments/")); after != before+1 {
		t.Errorf("%d writes of the Deployment for one change", after-before)
	}
}

func TestReconcile_ReportsModificationByAdmission(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "example.com/mutated", "true")
	mutatingPolicy(t, namespace, "example.com/mutated")
	o := setUp{recheck: time.Hour}.start(t, suite.operator, namespace)
	mc := newMemcached(t, namespace, "mutated", 1)
	ready(t, mc)
	if got := deploymentNow(t, namespace, "mutated").Spec.Template.Spec.Containers[0].Image; got != "example.com/mirror/memcached:1" {
		t.Fatalf("the policy does not work: the image is %s", got)
	}
	// Two more rounds of the loop, by changes that are another owner's and ours.
	patch(t, deployment(namespace, "mutated"), `{"metadata":{"labels":{"example.com/n":"x"}}}`)
	patch(t, mc, `{"spec":{"size":2}}`)
	eventually(t, mc, "two", func(mc *cachev1alpha1.Memcached) bool { return isReady(mc) && len(mc.Status.Nodes) == 2 })
	if got := o.matching("PATCH", "/deployments/mutated"); len(got) != 2 {
		t.Errorf("%d writes of the Deployment: one made it, one scaled it", len(got))
	}
	message := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady).Message
	if !strings.Contains(message, "an admission policy or webhook modifies Deployment mutated (") || !strings.Contains(message, "image") {
		t.Errorf("the message of Ready is %q", message)
	}
	poll(t, "an event should say so", func(ctx context.Context) (bool, error) {
		events := &eventsv1.EventList{}
		err := suite.Client.List(ctx, events, client.InNamespace(namespace))
		for _, event := range events.Items {
			if event.Reason == "ModifiedByAdmission" && strings.Contains(event.Note, "image") {
				return true, nil
			}
		}
		return false, err
	})
}

func TestReconcile_RevertsMutationAfterPolicyRemoved(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "example.com/mutated", "true")
	mutatingPolicy(t, namespace, "example.com/mutated")
	startOperator(t, suite.operator, namespace, nil)
	mc := newMemcached(t, namespace, "mutated", 0)
	ready(t, mc)
	// No policy is bound to the namespace any more.
	patch(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"example.com/mutated":null}}}`)
	eventually(t, deployment(namespace, "mutated"), "the image of the template", func(d *appsv1.Deployment) bool {
		return !strings.Contains(d.Spec.Template.Spec.Containers[0].Image, "mirror")
	})
	eventually(t, mc, "nothing is said of the policy", func(mc *cachev1alpha1.Memcached) bool {
		return isReady(mc) && !strings.Contains(meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady).Message, "policy")
	})
}

// mutatingPolicy makes the server change the image of every Deployment in namespaces
// with label, and waits until it does.
func mutatingPolicy(t *testing.T, namespace, label string) {
	t.Helper()
	suite.SkipUnlessServed(t, "MutatingAdmissionPolicy.v1.admissionregistration.k8s.io")
	for _, object := range []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
			"metadata": map[string]any{"name": namespace},
			"spec": map[string]any{
				"matchConstraints": map[string]any{
					"namespaceSelector": map[string]any{"matchLabels": map[string]any{label: "true"}},
					"resourceRules": []any{map[string]any{
						"apiGroups": []any{"apps"}, "apiVersions": []any{"v1"}, "resources": []any{"deployments"}, "operations": []any{"CREATE", "UPDATE"},
					}},
				},
				"failurePolicy":      "Fail",
				"reinvocationPolicy": "Never",
				"mutations": []any{map[string]any{
					"patchType": "JSONPatch",
					"jsonPatch": map[string]any{"expression": `[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "example.com/mirror/memcached:1"}]`},
				}},
			},
		}},
		{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
			"metadata": map[string]any{"name": namespace},
			"spec":     map[string]any{"policyName": namespace},
		}},
	} {
		fatal(t, suite.Apply(t.Context(), object))
		t.Cleanup(func() {
			if err := suite.Client.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Error(err)
			}
		})
	}
	probe := deployment(namespace, "probe")
	labels := map[string]string{"app": "probe"}
	probe.Spec = appsv1.DeploymentSpec{
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "example.com/probe"}}},
		},
	}
	poll(t, "the policy should be at work", func(ctx context.Context) (bool, error) {
		tried := probe.DeepCopy()
		err := suite.Client.Create(ctx, tried, client.DryRunAll)
		return err == nil && tried.Spec.Template.Spec.Containers[0].Image != "example.com/probe", err
	})
}
