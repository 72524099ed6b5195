// SPDX-License-Identifier: Apache-2.0

package reconcilers_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

func TestReconcile_RevertsDrift(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	startOperator(t, namespace)
	mc := suite.NewMemcached(t, namespace, "drifting", 1)
	suite.EventuallyReady(t, mc)

	t.Run("a Deployment scaled by hand", func(t *testing.T) {
		suite.Patch(t, deployment(namespace, "drifting"), `{"spec":{"replicas":4}}`)
		eventually(t, deployment(namespace, "drifting"), "one replica", hasReplicas(1))
	})
	t.Run("the label that the cache selects by", func(t *testing.T) {
		suite.Patch(t, service(namespace, "drifting"), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		eventually(t, service(namespace, "drifting"), "the label", func(s *corev1.Service) bool {
			return s.Labels["app.kubernetes.io/managed-by"] == "memcached-operator"
		})
	})
	t.Run("the owner reference", func(t *testing.T) {
		suite.Patch(t, service(namespace, "drifting"), `{"metadata":{"ownerReferences":null}}`)
		// No watch tells whose the Service was: the next look at the Memcached does.
		suite.Patch(t, mc, `{"spec":{"size":2}}`)
		eventually(t, service(namespace, "drifting"), "the owner", isControlledBy(mc))
	})
	t.Run("a child that a user deleted", func(t *testing.T) {
		before := service(namespace, "drifting")
		suite.Get(t, before)
		suite.Delete(t, service(namespace, "drifting"))
		eventually(t, service(namespace, "drifting"), "a new Service", func(s *corev1.Service) bool { return s.UID != before.UID })
	})
	t.Run("a sidecar and an annotation of another client stay", func(t *testing.T) {
		sidecar := testenv.Parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: drifting, annotations: {example.com/note: mine}}
spec: {template: {spec: {containers: [{name: sidecar, image: example.com/sidecar:1}]}}}
`)
		sidecar.SetNamespace(namespace)
		testenv.NoError(t, suite.Apply(t.Context(), sidecar))
		suite.Patch(t, mc, `{"spec":{"size":3}}`)
		d := eventually(t, deployment(namespace, "drifting"), "three replicas", hasReplicas(3))
		if len(d.Spec.Template.Spec.Containers) != 2 || d.Annotations["example.com/note"] != "mine" {
			t.Errorf("what another client set is gone: %v, %d containers", d.Annotations, len(d.Spec.Template.Spec.Containers))
		}
	})
}

func hasReplicas(count int32) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == count }
}

func isControlledBy(mc *cachev1alpha1.Memcached) func(*corev1.Service) bool {
	return func(s *corev1.Service) bool { return metav1.IsControlledBy(s, mc) }
}

func TestReconcile_AppliesOtherObjectsOnOwnershipConflict(t *testing.T) {
	t.Parallel()
	for name, labels := range map[string]map[string]string{
		"without labels":  nil,
		"with our labels": {"app.kubernetes.io/managed-by": "memcached-operator", "memcached_cr": "taken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := suite.NewNamespace(t)
			startOperator(t, namespace)
			foreign := service(namespace, "taken")
			foreign.Labels = labels
			foreign.Spec.Ports = []corev1.ServicePort{{Port: 80}}
			suite.Create(t, foreign)

			mc := suite.NewMemcached(t, namespace, "taken", 0)
			eventuallyIs(t, mc, cachev1alpha1.ConditionStalled, cachev1alpha1.ReasonOwnershipConflict)
			if message := mc.Status.Conditions[0].Message; !strings.Contains(message, "Service taken") {
				t.Errorf("the message does not name the object: %s", message)
			}
			eventually(t, deployment(namespace, "taken"), "the Deployment is created all the same", func(*appsv1.Deployment) bool { return true })
			// What is no longer rendered is kept as long as not everything rendered is there.
			policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "taken-clients"}}
			suite.Patch(t, mc, `{"spec": {"networkPolicy": {"from": [{"podSelector": {}}]}}}`)
			eventually(t, policy, "the NetworkPolicy is created", func(*networkingv1.NetworkPolicy) bool { return true })
			suite.Patch(t, mc, `{"spec": {"networkPolicy": null}}`)
			eventually(t, mc, "its last generation is observed", func(now *cachev1alpha1.Memcached) bool { return now.Status.ObservedGeneration == now.Generation })
			suite.Get(t, policy)
			version := foreign.ResourceVersion
			suite.Get(t, foreign)
			if foreign.ResourceVersion != version {
				t.Error("the foreign Service was written")
			}
			suite.Delete(t, foreign)
			suite.EventuallyReady(t, mc)
			eventually(t, service(namespace, "taken"), "our Service", isControlledBy(mc))
			suite.EventuallyGone(t, policy)
		})
	}
}

// tutorialDeployment is the Deployment that the operator of the Operator SDK's tutorial creates.
const tutorialDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: memcached-sample}
spec:
  replicas: 2
  minReadySeconds: 1
  selector: {matchLabels: {app: memcached, memcached_cr: memcached-sample}}
  template:
    metadata: {labels: {app: memcached, memcached_cr: memcached-sample}}
    spec:
      hostAliases: [{ip: 127.0.0.9, hostnames: [old]}]
      containers:
      - name: memcached
        image: memcached:1.4.36-alpine
        command: [memcached, -m=64, -o, modern, -v]
        ports: [{containerPort: 11211, name: memcached}]
`

func TestReconcile_AdoptsDeploymentOfTutorial(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	mc := suite.NewMemcached(t, namespace, "memcached-sample", 2)
	made := testenv.Parse(t, tutorialDeployment)
	made.SetNamespace(namespace)
	made.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(mc, cachev1alpha1.MemcachedKind)})
	testenv.NoError(t, suite.Client.Create(t.Context(), made, client.FieldOwner("manager")))

	o := newOperator()
	// The user writes while the operator adopts: a race.
	o.OnFirst(func(r testenv.Request) bool {
		return r.Method == http.MethodPatch && !r.IsApply && strings.HasSuffix(r.Path, "/deployments/memcached-sample")
	}, func(context.Context) {
		suite.Patch(t, deployment(namespace, "memcached-sample"), `{"metadata":{"annotations":{"example.com/note":"mine"}}}`)
	})
	o.start(t, &suite, namespace, testenv.ManagerOptions{})
	suite.EventuallyReady(t, mc)
	if !slices.Contains(o.statuses("/deployments/memcached-sample"), http.StatusConflict) {
		t.Errorf("the answers are %v", o.statuses("/deployments/memcached-sample"))
	}
	if events := warnings(t, namespace, cachev1alpha1.ReasonApplyFailed); len(events) > 0 {
		t.Errorf("warned of the race: %v", events)
	}
	now := suite.Deployment(t, namespace, "memcached-sample")
	switch container := now.Spec.Template.Spec.Containers[0]; {
	case now.UID != made.GetUID():
		t.Error("the Deployment was made anew")
	case now.Annotations["example.com/note"] != "mine":
		t.Errorf("the user's annotation is gone: %v", now.Annotations)
	case len(now.Spec.Template.Spec.HostAliases) != 0:
		t.Error("a field that the tutorial's operator set and we do not render is still there")
	case container.Image != "docker.io/library/memcached:1.6.45" || len(container.Command) != 1:
		t.Errorf("the container is still the tutorial's: %s %v", container.Image, container.Command)
	case now.Labels["app.kubernetes.io/managed-by"] != "memcached-operator":
		t.Errorf("the labels are %v", now.Labels)
	}
	before := len(o.Matching("PATCH", "/deployments/"))
	suite.Patch(t, mc, `{"spec":{"size":3}}`)
	eventuallyReadyWith(t, mc, 3)
	if after := len(o.Matching("PATCH", "/deployments/")); after != before+1 {
		t.Errorf("%d writes of the Deployment for one change", after-before)
	}
}
