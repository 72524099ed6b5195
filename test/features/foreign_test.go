// SPDX-License-Identifier: Apache-2.0

package features

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// ownershipConflicts are features that need the name of an object of the user.
var ownershipConflicts = map[string]struct {
	with, on string
	// theirs is the user's object, named in both ways.
	theirs, key, called string
	// made are the feature's other objects.
	made []string
}{
	"stalls on a user's NetworkPolicy": {
		on:     "networkPolicy: {from: [{podSelector: {matchLabels: {team: web}}}]}",
		theirs: "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: cache-clients}, spec: {podSelector: {}, policyTypes: [Egress]}}",
		key:    networkPolicy, called: "NetworkPolicy cache-clients",
	},
	"stalls on a user's Service named as the cluster IP's": {
		on:     "{service: {clusterIPService: true}, containerPort: 21211}",
		theirs: "{apiVersion: v1, kind: Service, metadata: {name: cache-clusterip}, spec: {selector: {app: web}, ports: [{port: 80}]}}",
		key:    clusterIP, called: "Service cache-clusterip", made: []string{deployment, service},
	},
	"stalls on a user's ServiceMonitor": {
		with:   "metrics: {}",
		on:     "metrics: {serviceMonitor: {}, rules: {}}",
		theirs: "{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: cache}, spec: {selector: {}, endpoints: [{port: web}]}}",
		key:    monitor, called: "ServiceMonitor cache", made: []string{rule},
	},
	"stalls on a user's PrometheusRule": {
		on:     "metrics: {serviceMonitor: {}, rules: {}}",
		theirs: "{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: cache}, spec: {groups: [{name: web, rules: [{alert: Down, expr: up == 0}]}]}}",
		key:    rule, called: "PrometheusRule cache", made: []string{deployment, monitor, service},
	},
}

func TestFeature_StallsOnOwnershipConflict(t *testing.T) {
	t.Parallel()
	for sentence, row := range ownershipConflicts {
		for labelled, labels := range map[string]map[string]string{
			"without labels":  nil,
			"with our labels": {"app": "memcached", "memcached_cr": "cache", "app.kubernetes.io/managed-by": "memcached-operator"},
		} {
			t.Run(sentence+" "+labelled, func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, "cache", row.with)
				theirs := s.create(row.theirs, labels)
				s.look()
				before := s.children

				mustBeStalled := func(when string) {
					t.Helper()
					s.set(row.with, row.on)
					s.stalled(when, cachev1alpha1.ReasonOwnershipConflict, row.called+" exists and is not owned by this Memcached")
					s.mustHaveChanged(when, row.made...)
					s.mustBeUntouched(when, row.key, theirs)
				}
				mustBeStalled("when the feature comes")

				s.set(row.with)
				s.settled("when the feature goes")
				s.mustHaveChanged("when the feature goes", row.made...)
				s.mustBeUntouched("when the feature goes", row.key, theirs)
				s.mustBeAs(before)

				mustBeStalled("when the feature comes again")
				suite.Delete(t, theirs)
				s.settled("when the user's object is gone")
				s.mustHaveChanged("when the user's object is gone", row.key)
				if ours := s.children[row.key]; ours == nil || !metav1.IsControlledBy(ours, s.mc) {
					t.Errorf("%s is not ours once the name is free", row.key)
				}
				take(s.namespace)
				s.atRest("with an object of ours")
			})
		}
	}
}

// create makes a user's object with labels.
func (s *subject) create(text string, labels map[string]string) *unstructured.Unstructured {
	s.Helper()
	object := testenv.Parse(s.T, text)
	object.SetNamespace(s.namespace)
	if labels != nil {
		object.SetLabels(labels)
	}
	suite.Create(s.T, object)
	return object
}

// mustBeUntouched checks that the child called key was not written since it was given.
func (s *subject) mustBeUntouched(when, key string, given *unstructured.Unstructured) {
	s.Helper()
	now := s.children[key]
	if now == nil {
		s.Fatalf("%s: %s is gone", when, key)
	}
	if now.GetUID() != given.GetUID() || now.GetResourceVersion() != given.GetResourceVersion() {
		s.Errorf("%s: %s was touched:\n%v\nwas\n%v", when, key, now.Object, given.Object)
	}
}
