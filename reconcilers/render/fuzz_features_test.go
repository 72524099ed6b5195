// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// features lists what FuzzFeatures sets, one per bit: name is valid as the name of an object,
// value is any text, n a number from 1024 to 65535.
var features = []func(s *cachev1alpha1.MemcachedSpec, name, value string, n int32){
	func(s *cachev1alpha1.MemcachedSpec, _, _ string, n int32) {
		s.Memory = resource.NewQuantity(int64(n)<<12, resource.BinarySI)
	},
	func(s *cachev1alpha1.MemcachedSpec, _, _ string, n int32) {
		s.MaxItemSize = resource.NewQuantity(int64(n)<<9, resource.BinarySI)
	},
	func(s *cachev1alpha1.MemcachedSpec, _, _ string, n int32) {
		s.Threads, s.MaxConnections, s.Verbosity = new(n%64+1), &n, new(n%4)
	},
	func(s *cachev1alpha1.MemcachedSpec, name, _ string, _ int32) {
		object := cachev1alpha1.ObjectName(name)
		s.PriorityClassName, s.ServiceAccountName = &object, &object
	},
	func(s *cachev1alpha1.MemcachedSpec, name, value string, n int32) {
		s.NodeSelector = map[string]cachev1alpha1.LabelValue{"key": cachev1alpha1.LabelValue(name)}
		s.Tolerations = []cachev1alpha1.Toleration{{Key: "key", Value: cachev1alpha1.LabelValue(value), TolerationSeconds: new(int64(n))}}
	},
	func(s *cachev1alpha1.MemcachedSpec, name, value string, _ int32) {
		s.Service = &cachev1alpha1.Service{
			Labels:      map[string]cachev1alpha1.LabelValue{"key": cachev1alpha1.LabelValue(name)},
			Annotations: map[string]cachev1alpha1.AnnotationValue{"key": cachev1alpha1.AnnotationValue(value)},
			ClusterIP:   &cachev1alpha1.ClusterIPService{},
		}
	},
	func(s *cachev1alpha1.MemcachedSpec, _, _ string, n int32) {
		s.PodDisruptionBudget = &cachev1alpha1.PodDisruptionBudget{MaxUnavailable: new(intstr.FromInt32(n))}
	},
	func(s *cachev1alpha1.MemcachedSpec, _, _ string, n int32) {
		s.PodDisruptionBudget = &cachev1alpha1.PodDisruptionBudget{MaxUnavailable: new(intstr.FromString("25%"))}
		s.PreStop, s.TerminationGracePeriodSeconds = &cachev1alpha1.PreStop{SleepSeconds: n % 3600}, new(int64(3600))
	},
	func(s *cachev1alpha1.MemcachedSpec, name, _ string, _ int32) {
		s.NetworkPolicy = &cachev1alpha1.NetworkPolicy{From: []cachev1alpha1.NetworkPolicyPeer{
			{PodSelector: &cachev1alpha1.LabelSelector{}}, {PodSelector: &cachev1alpha1.LabelSelector{MatchLabels: map[string]cachev1alpha1.LabelValue{"key": cachev1alpha1.LabelValue(name)}}},
		}}
	},
	func(s *cachev1alpha1.MemcachedSpec, name, _ string, n int32) {
		s.TLS = &cachev1alpha1.TLS{SecretName: cachev1alpha1.ObjectName(name), ClientAuth: new(cachev1alpha1.ClientAuthRequire), PlaintextPort: &n}
	},
	func(s *cachev1alpha1.MemcachedSpec, name, _ string, _ int32) {
		s.Auth = &cachev1alpha1.Auth{SecretName: cachev1alpha1.ObjectName(name), Key: &name}
	},
	func(s *cachev1alpha1.MemcachedSpec, name, _ string, n int32) {
		s.Metrics = &cachev1alpha1.Metrics{
			Port: &n, Image: new(cachev1alpha1.Image(name)),
			ServiceMonitor: &cachev1alpha1.ServiceMonitor{IntervalSeconds: new(n), Labels: map[string]cachev1alpha1.LabelValue{"key": cachev1alpha1.LabelValue(name)}},
			Rules:          &cachev1alpha1.Rules{MemoryPercent: new(1 + n%99), ConnectionsPercent: new(1 + n%98)},
		}
	},
	func(s *cachev1alpha1.MemcachedSpec, name, value string, _ int32) {
		s.PodMetadata = &cachev1alpha1.PodMetadata{
			Labels:      map[string]cachev1alpha1.LabelValue{"key": cachev1alpha1.LabelValue(name)},
			Annotations: map[string]cachev1alpha1.AnnotationValue{"key": cachev1alpha1.AnnotationValue(value)},
		}
	},
}

// FuzzFeatures does for sets of features what FuzzRender does for names and texts.
func FuzzFeatures(f *testing.F) {
	buildsTemplates(f)
	for i, text := range []string{"a", "true", "null", "123", "1e3", "placeholder-0001", "placeholder-0000x", "918273000", "$(X)", "a: b", "\"", "\u2028", "> 1"} {
		f.Add("cache", text, text, int32(1024+i), uint16(1)<<i)
		f.Add("true", text, text, int32(65535-i), ^(uint16(1) << i))
	}
	r := mustNew(f, shipped(f), Defaults{AllowPrivilegedFields: true})
	f.Fuzz(func(t *testing.T, cr, name, value string, n int32, set uint16) {
		if len(cr) > 52 || !crName.MatchString(cr) || !utf8.ValidString(value) || len(validation.IsDNS1123Subdomain(name)) > 0 ||
			len(validation.IsValidLabelValue(name)) > 0 || n < 1024 || n > 65535 {
			return // Admission rejects it.
		}
		mc := named(cr)
		for i, feature := range features {
			if set&(1<<i) != 0 {
				feature(&mc.Spec, name, value, n)
			}
		}
		objects, ok := renderLikeKustomize(t, r, mc)
		if !ok {
			t.Fatal("nothing is rendered")
		}
		mustBelongTo(t, objects, mc, r)
	})
}
