// SPDX-License-Identifier: Apache-2.0

// Package largest has the largest Memcached that the API server accepts: every list, map
// and text is at its bound. Tests measure with it what a Memcached can cost.
package largest

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// name is a name of 253 characters, label a text of 63.
var (
	name  = cachev1alpha1.ObjectName(strings.Repeat("a", 253))
	label = strings.Repeat("a", 63)
)

// Spec returns the largest spec. It has metrics and no auth, which exclude each other.
func Spec() cachev1alpha1.MemcachedSpec {
	image := cachev1alpha1.Image("example.com/" + strings.Repeat("a", 500))
	quantity := resource.MustParse("1234567890123456789012Mi")
	amounts := &cachev1alpha1.ResourceAmounts{CPU: new(resource.MustParse("999999.999999")), Memory: &quantity, EphemeralStorage: &quantity}
	resources := &cachev1alpha1.Resources{Requests: amounts, Limits: amounts}
	return cachev1alpha1.MemcachedSpec{
		Size: new(int32(1000)), Image: &image, ContainerPort: new(int32(65535)),
		PodMetadata:    &cachev1alpha1.PodMetadata{Labels: labels("pod"), Annotations: annotations()},
		Memory:         new(resource.MustParse("1Ti")),
		MaxConnections: new(int32(500000)), Threads: new(int32(64)), MaxItemSize: new(resource.MustParse("1047553Ki")),
		IdleTimeoutSeconds: new(int32(31536000)), Verbosity: new(int32(3)),
		ExtraArgs:       repeat(16, func(int) cachev1alpha1.ExtraArg { return "--extended=slab_automove_freeratio=1234.1234" }),
		ImagePullPolicy: new(corev1.PullIfNotPresent),
		ImagePullSecrets: repeat(8, func(i int) cachev1alpha1.SecretReference {
			return cachev1alpha1.SecretReference{Name: name[:252] + cachev1alpha1.ObjectName(fmt.Sprint(i))}
		}),
		Resources:    resources,
		NodeSelector: labels("node"),
		Tolerations: repeat(16, func(int) cachev1alpha1.Toleration {
			return cachev1alpha1.Toleration{Key: key(317, 0), Operator: corev1.TolerationOpEqual, Value: cachev1alpha1.LabelValue(label),
				Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(31536000))}
		}),
		Affinity:                  affinity(),
		TopologySpreadConstraints: constraints(),
		PriorityClassName:         &name, ServiceAccountName: &name,
		TerminationGracePeriodSeconds: new(int64(3600)), MinReadySeconds: new(int32(540)), PreStop: &cachev1alpha1.PreStop{SleepSeconds: 3599},
		Service:             &cachev1alpha1.Service{Labels: labels("service"), Annotations: annotations(), ClusterIP: &cachev1alpha1.ClusterIPService{}},
		PodDisruptionBudget: &cachev1alpha1.PodDisruptionBudget{MaxUnavailable: new(intstr.FromString("100%"))},
		NetworkPolicy:       &cachev1alpha1.NetworkPolicy{From: peers(16), MetricsFrom: peers(4)},
		TLS:                 &cachev1alpha1.TLS{SecretName: name, ClientAuth: new(cachev1alpha1.ClientAuthRequire), PlaintextPort: new(int32(65534))},
		Metrics: &cachev1alpha1.Metrics{
			Port: new(int32(65533)), Image: &image, Resources: resources,
			ServiceMonitor: &cachev1alpha1.ServiceMonitor{IntervalSeconds: new(int32(86400)), Labels: labels("monitor")},
			Rules:          &cachev1alpha1.Rules{MemoryPercent: new(int32(100)), ConnectionsPercent: new(int32(100)), Labels: labels("rules")},
		},
		Paused: new(false),
	}
}

// Patches returns the largest patches, all of them on the Deployment.
func Patches() []cachev1alpha1.Patch {
	return repeat(8, func(i int) cachev1alpha1.Patch {
		prefix := fmt.Sprintf("metadata: {annotations: {example.com/patch-%d: ", i)
		return cachev1alpha1.Patch{
			Target: cachev1alpha1.PatchTarget{Kind: "Deployment", Group: new("apps")},
			Patch:  prefix + strings.Repeat("a", 4096-len(prefix)-2) + "}}",
		}
	})
}

// Parameters returns the largest parameters. The shipped templates declare none, so that only the API server accepts them.
func Parameters() cachev1alpha1.Parameters {
	parameters := cachev1alpha1.Parameters{}
	for i := range 32 { // 32 names of 63 characters with values of 193 are 8192 characters.
		parameters[fmt.Sprintf("%s%02d", label[:61], i)] = cachev1alpha1.ParameterValue(strings.Repeat("a", 193))
	}
	return parameters
}

// repeat returns n items.
func repeat[T any](n int, item func(i int) T) []T {
	items := make([]T, n)
	for i := range items {
		items[i] = item(i)
	}
	return items
}

// key returns a qualified name of n characters, more than 65, which ends with i.
func key(n, i int) cachev1alpha1.LabelKey {
	prefix := n - 64
	return cachev1alpha1.LabelKey(strings.Repeat("pppppppp.p", prefix/10) + strings.Repeat("p", prefix%10) + "/" + fmt.Sprintf("%s%02d", label[:61], i))
}

// labels returns 16 labels of 2048 characters together.
func labels(prefix string) map[string]cachev1alpha1.LabelValue {
	all := map[string]cachev1alpha1.LabelValue{}
	for i := range 16 {
		key := fmt.Sprintf("%s-%02d", prefix, i)
		all[key+strings.Repeat("k", 63-len(key))] = cachev1alpha1.LabelValue(label)
	}
	for key, value := range all { // 16 * 126 characters so far
		delete(all, key)
		all["example.com.example.com.example/"+key] = value
		break
	}
	return all
}

// annotations returns 16 annotations of 8192 characters together.
func annotations() map[string]cachev1alpha1.AnnotationValue {
	all := map[string]cachev1alpha1.AnnotationValue{}
	for i := range 16 {
		all[fmt.Sprintf("example.com/%02d", i)] = cachev1alpha1.AnnotationValue(strings.Repeat("a", 8192/16-14))
	}
	return all
}

// selector returns a selector with as many entries as there may be, of 512 characters
// together.
func selector() *cachev1alpha1.LabelSelector {
	s := &cachev1alpha1.LabelSelector{MatchLabels: map[string]cachev1alpha1.LabelValue{}}
	for i := range 8 { // 240 characters
		s.MatchLabels[fmt.Sprintf("k%d", i)] = cachev1alpha1.LabelValue(label[:28])
	}
	s.MatchExpressions = repeat(4, func(i int) cachev1alpha1.LabelSelectorRequirement { // 272 characters
		return cachev1alpha1.LabelSelectorRequirement{
			Key: cachev1alpha1.LabelKey(fmt.Sprintf("kkk%d", i)), Operator: metav1.LabelSelectorOpNotIn,
			Values: repeat(8, func(int) cachev1alpha1.LabelValue { return cachev1alpha1.LabelValue(label[:8]) }),
		}
	})
	return s
}

// podTerms returns 2 terms, a quarter of those that there may be, with 512 characters
// beside the selectors.
func podTerms() []cachev1alpha1.PodAffinityTerm {
	return repeat(2, func(int) cachev1alpha1.PodAffinityTerm {
		return cachev1alpha1.PodAffinityTerm{
			LabelSelector: selector(), NamespaceSelector: selector(), TopologyKey: cachev1alpha1.LabelKey(label[:8]),
			Namespaces:        repeat(8, func(int) cachev1alpha1.NamespaceName { return cachev1alpha1.NamespaceName(label[:31]) }),
			MatchLabelKeys:    repeat(4, func(i int) cachev1alpha1.LabelKey { return cachev1alpha1.LabelKey(label[:31] + string(rune('a'+i))) }),
			MismatchLabelKeys: repeat(4, func(i int) cachev1alpha1.LabelKey { return cachev1alpha1.LabelKey(label[:31] + string(rune('k'+i))) }),
		}
	})
}

func weightedPodTerms() []cachev1alpha1.WeightedPodAffinityTerm {
	terms := podTerms()
	return repeat(len(terms), func(i int) cachev1alpha1.WeightedPodAffinityTerm {
		return cachev1alpha1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: terms[i]}
	})
}

// nodeTerm returns a term with as many entries as there may be, of 1024 characters in its
// expressions.
func nodeTerm() cachev1alpha1.NodeSelectorTerm {
	return cachev1alpha1.NodeSelectorTerm{
		MatchExpressions: repeat(8, func(i int) cachev1alpha1.NodeSelectorRequirement { // 16 + 16 * 7 characters
			return cachev1alpha1.NodeSelectorRequirement{
				Key: cachev1alpha1.LabelKey(fmt.Sprintf("%s%d", label[:15], i)), Operator: corev1.NodeSelectorOpNotIn,
				Values: repeat(16, func(int) cachev1alpha1.LabelValue { return cachev1alpha1.LabelValue(label[:7]) }),
			}
		}),
		MatchFields: repeat(2, func(int) cachev1alpha1.NodeFieldRequirement {
			return cachev1alpha1.NodeFieldRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []cachev1alpha1.ObjectName{name}}
		}),
	}
}

func affinity() *cachev1alpha1.Affinity {
	return &cachev1alpha1.Affinity{
		NodeAffinity: &cachev1alpha1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &cachev1alpha1.NodeSelector{
				NodeSelectorTerms: repeat(4, func(int) cachev1alpha1.NodeSelectorTerm { return nodeTerm() }),
			},
			PreferredDuringSchedulingIgnoredDuringExecution: repeat(4, func(int) cachev1alpha1.PreferredSchedulingTerm {
				return cachev1alpha1.PreferredSchedulingTerm{Weight: 100, Preference: nodeTerm()}
			}),
		},
		PodAffinity: &cachev1alpha1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  podTerms(),
			PreferredDuringSchedulingIgnoredDuringExecution: weightedPodTerms(),
		},
		PodAntiAffinity: &cachev1alpha1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  podTerms(),
			PreferredDuringSchedulingIgnoredDuringExecution: weightedPodTerms(),
		},
	}
}

func constraints() []cachev1alpha1.TopologySpreadConstraint {
	return repeat(4, func(i int) cachev1alpha1.TopologySpreadConstraint {
		return cachev1alpha1.TopologySpreadConstraint{
			MaxSkew: 1000, TopologyKey: key(317, i), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector(), MinDomains: new(int32(1000)),
			NodeAffinityPolicy: new(corev1.NodeInclusionPolicyIgnore), NodeTaintsPolicy: new(corev1.NodeInclusionPolicyHonor),
			MatchLabelKeys: repeat(4, func(i int) cachev1alpha1.LabelKey { return key(317, i) }),
		}
	})
}

func peers(n int) []cachev1alpha1.NetworkPolicyPeer {
	return repeat(n, func(int) cachev1alpha1.NetworkPolicyPeer {
		return cachev1alpha1.NetworkPolicyPeer{PodSelector: selector(), NamespaceSelector: selector()}
	})
}
