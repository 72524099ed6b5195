// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// spec is short for what the stories change.
type spec = cachev1alpha1.MemcachedSpec

// story is a life of a Memcached: it is created, scaled, patched by a removal inside an atomic
// value, loses a child, and is deleted.
type story struct {
	name  string
	base  func(*spec)
	scale int32
	// patch removes a part of a list or map, and omit an object.
	patch, omit func(*spec)
}

// stories are the lives that crashes disturb; the short form has the first one only.
var stories = []story{
	{
		name: "tolerations and peers", scale: 2,
		base: func(s *spec) {
			s.Tolerations = []cachev1alpha1.Toleration{
				{Key: "cache", Operator: corev1.TolerationOpEqual, Value: "yes", Effect: corev1.TaintEffectNoSchedule},
				{Key: "spot", Operator: corev1.TolerationOpExists},
			}
			s.NetworkPolicy = &cachev1alpha1.NetworkPolicy{From: []cachev1alpha1.NetworkPolicyPeer{peer("web", true), peer("batch", false)}}
		},
		patch: func(s *spec) {
			s.Tolerations = s.Tolerations[:1]
			s.Tolerations[0].Effect = ""
			s.NetworkPolicy.From = []cachev1alpha1.NetworkPolicyPeer{peer("web", false)}
		},
		omit: func(s *spec) { s.NetworkPolicy = nil },
	},
	{
		name: "labels, annotations and a budget", scale: 1,
		base: func(s *spec) {
			s.PodMetadata = &cachev1alpha1.PodMetadata{
				Labels:      cachev1alpha1.Labels{"team": "web", "tier": "cache"},
				Annotations: cachev1alpha1.Annotations{"example.com/a": "1", "example.com/b": "2"},
			}
			s.Service = &cachev1alpha1.Service{Labels: cachev1alpha1.Labels{"team": "web"}, Annotations: cachev1alpha1.Annotations{"example.com/a": "1"}}
			s.PodDisruptionBudget = &cachev1alpha1.PodDisruptionBudget{MaxUnavailable: new(intstr.FromString("25%"))}
		},
		patch: func(s *spec) {
			delete(s.PodMetadata.Labels, "tier")
			delete(s.PodMetadata.Annotations, "example.com/b")
			s.Service = nil
		},
		omit: func(s *spec) {
			s.PodDisruptionBudget = &cachev1alpha1.PodDisruptionBudget{None: &cachev1alpha1.NoBudget{}}
		},
	},
	{
		name: "node selector and pull secrets", scale: 1,
		base: func(s *spec) {
			s.NodeSelector = map[string]cachev1alpha1.LabelValue{"example.com/disk": "", "example.com/zone": "a"}
			s.ImagePullSecrets = []cachev1alpha1.SecretReference{{Name: "one"}, {Name: "two"}}
			s.Size = new(int32(0)) // No node has these labels.
			s.NetworkPolicy = &cachev1alpha1.NetworkPolicy{From: []cachev1alpha1.NetworkPolicyPeer{peer("web", true)}}
		},
		patch: func(s *spec) {
			s.NodeSelector = nil
			s.ImagePullSecrets = s.ImagePullSecrets[1:]
		},
		omit: func(s *spec) { s.NetworkPolicy = nil },
	},
	{
		name: "spread constraints and arguments", scale: 2,
		base: func(s *spec) {
			s.TopologySpreadConstraints = []cachev1alpha1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.ScheduleAnyway},
				{MaxSkew: 2, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway},
			}
			s.ExtraArgs = []cachev1alpha1.ExtraArg{"--disable-evictions", "--disable-cas"}
			s.PreStop = &cachev1alpha1.PreStop{SleepSeconds: 1}
		},
		patch: func(s *spec) {
			s.TopologySpreadConstraints = s.TopologySpreadConstraints[:1]
			s.ExtraArgs = s.ExtraArgs[:1]
			s.PreStop = nil
		},
		omit: func(s *spec) {
			s.PodDisruptionBudget = &cachev1alpha1.PodDisruptionBudget{None: &cachev1alpha1.NoBudget{}}
		},
	},
	{
		name: "memory, resources and metrics", scale: 1,
		base: func(s *spec) {
			s.Memory = new(resource.MustParse("128Mi"))
			s.Metrics = &cachev1alpha1.Metrics{}
			s.Verbosity = new(int32(1))
			s.NetworkPolicy = &cachev1alpha1.NetworkPolicy{
				From: []cachev1alpha1.NetworkPolicyPeer{peer("web", true)}, MetricsFrom: []cachev1alpha1.NetworkPolicyPeer{peer("monitoring", true)},
			}
		},
		patch: func(s *spec) {
			s.Memory, s.Metrics, s.Verbosity = nil, nil, nil
			s.NetworkPolicy.MetricsFrom = nil
		},
		omit: func(s *spec) { s.NetworkPolicy = nil },
	},
}

// phases are the steps of a story, in their order; the last one deletes the Memcached.
var phases = []string{"create", "scale", "patch", "omit", "delete"}
