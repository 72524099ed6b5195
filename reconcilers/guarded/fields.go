// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Field is a privileged field of a Memcached.
type Field struct {
	// Path is the path of the field, such as spec.tls.secretName.
	Path string
	// When describes the values that are privileged, following Path; empty for all.
	When string
	// Verb and Resource are the permission that the author of a Memcached with the field must have in
	// its namespace. Resource is followed by a dot and its group.
	Verb, Resource string
	// And names further resources for Verb, where they depend on the value.
	And string
	// Why describes what an author without the permission would gain, in Markdown.
	Why string

	isSet func(mc *cachev1alpha1.Memcached, images Images) bool
}

// Fields are all privileged fields.
var Fields = []Field{
	{
		Path: "spec.tls.secretName", Verb: "get", Resource: "secrets",
		Why:   "the pods mount the Secret, and serve with it",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return mc.Spec.TLS != nil },
	},
	{
		Path: "spec.auth.secretName", Verb: "get", Resource: "secrets",
		Why:   "the pods mount the Secret, and ask for its passwords",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return mc.Spec.Auth != nil },
	},
	{
		Path: "spec.imagePullSecrets", Verb: "get", Resource: "secrets",
		Why:   "nodes pull images with the Secrets",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return len(mc.Spec.ImagePullSecrets) > 0 },
	},
	{
		Path: "spec.image", When: "outside `--operand-images`", Verb: "create", Resource: "deployments.apps",
		Why:   "any program could run, also a private image that was pulled to a node for another namespace",
		isSet: func(mc *cachev1alpha1.Memcached, images Images) bool { return images.exclude(mc.Spec.Image) },
	},
	{
		Path: "spec.metrics.image", When: "outside `--operand-images`", Verb: "create", Resource: "deployments.apps",
		Why: "the same, in the exporter's container",
		isSet: func(mc *cachev1alpha1.Memcached, images Images) bool {
			return mc.Spec.Metrics != nil && images.exclude(mc.Spec.Metrics.Image)
		},
	},
	{
		Path: "spec.serviceAccountName", Verb: "create", Resource: "deployments.apps",
		Why:   "the pods run as that account: its pull secrets, and policies that go by it",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return isSet(mc.Spec.ServiceAccountName) },
	},
	{
		Path: "spec.priorityClassName", Verb: "create", Resource: "deployments.apps",
		Why:   "pods of others are evicted in favour of these",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return isSet(mc.Spec.PriorityClassName) },
	},
	{
		Path: "spec.flash.storageClassName", Verb: "create", Resource: "deployments.apps",
		Why: "each pod gets a volume of the class, which may cost money",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Flash != nil && isSet(mc.Spec.Flash.StorageClassName)
		},
	},
	{
		Path: "spec.tolerations", Verb: "create", Resource: "deployments.apps",
		Why:   "the pods run on nodes that are reserved for others, such as those of the control plane",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return len(mc.Spec.Tolerations) > 0 },
	},
	{
		Path: "spec.affinity.podAffinity", When: otherPods, Verb: "create", Resource: "deployments.apps",
		Why: "the pods follow those of another owner",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Affinity != nil && mc.Spec.Affinity.PodAffinity != nil &&
				reachesOthers(mc.Name, mc.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
					mc.Spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		},
	},
	{
		Path: "spec.affinity.podAntiAffinity", When: otherPods, Verb: "create", Resource: "deployments.apps",
		Why: "the scheduler keeps pods of others away from the nodes of these, in other namespaces too",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Affinity != nil && mc.Spec.Affinity.PodAntiAffinity != nil &&
				reachesOthers(mc.Name, mc.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
					mc.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		},
	},
	{
		Path: "spec.podMetadata.labels", Verb: "create", Resource: "deployments.apps",
		Why: "Services and NetworkPolicies of others select pods by label",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.PodMetadata != nil && len(mc.Spec.PodMetadata.Labels) > 0
		},
	},
	{
		Path: "spec.podMetadata.annotations", Verb: "create", Resource: "deployments.apps",
		Why: "injectors add containers and secrets to pods by annotation",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.PodMetadata != nil && len(mc.Spec.PodMetadata.Annotations) > 0
		},
	},
	{
		Path: "spec.patches", Verb: "create", Resource: "deployments.apps", And: "each kind that is patched",
		Why:   "a patch changes whatever it likes",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return len(mc.Spec.Patches) > 0 },
	},
	{
		Path: "spec.service.labels", Verb: "create", Resource: "services",
		Why: "ServiceMonitors of others select Services by label",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Service != nil && len(mc.Spec.Service.Labels) > 0
		},
	},
	{
		Path: "spec.service.annotations", Verb: "create", Resource: "services",
		Why: "external-dns gives the Service a name in a DNS zone, and clouds give it an address",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Service != nil && len(mc.Spec.Service.Annotations) > 0
		},
	},
	{
		Path: "spec.proxy.service.annotations", Verb: "create", Resource: "services",
		Why: "the same, for the Service of the proxies",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Proxy != nil && mc.Spec.Proxy.Service != nil && len(mc.Spec.Proxy.Service.Annotations) > 0
		},
	},
	{
		Path: "spec.proxy.service.type", When: "other than `ClusterIP`", Verb: "create", Resource: "services",
		Why: "clients outside the cluster reach the proxies, and a cloud's load balancer costs money",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Proxy != nil && mc.Spec.Proxy.Service != nil && ptr.Deref(mc.Spec.Proxy.Service.Type, cachev1alpha1.ServiceTypeClusterIP) != cachev1alpha1.ServiceTypeClusterIP
		},
	},
	{
		Path: "spec.networkPolicy", Verb: "create", Resource: "networkpolicies.networking.k8s.io",
		Why:   "NetworkPolicies add up: where one lets nobody in, this one opens the pods",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool { return mc.Spec.NetworkPolicy != nil },
	},
	{
		Path: "spec.podDisruptionBudget.maxUnavailable", Verb: "create", Resource: "poddisruptionbudgets.policy",
		Why: "0 keeps nodes from being drained",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.PodDisruptionBudget != nil && mc.Spec.PodDisruptionBudget.MaxUnavailable != nil
		},
	},
	{
		Path: "spec.metrics.serviceMonitor", Verb: "create", Resource: "servicemonitors.monitoring.coreos.com",
		Why: "a Prometheus of others scrapes the pods",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Metrics != nil && mc.Spec.Metrics.ServiceMonitor != nil
		},
	},
	{
		Path: "spec.metrics.rules", Verb: "create", Resource: "prometheusrules.monitoring.coreos.com",
		Why: "a Prometheus of others evaluates the rules, and alerts somebody",
		isSet: func(mc *cachev1alpha1.Memcached, _ Images) bool {
			return mc.Spec.Metrics != nil && mc.Spec.Metrics.Rules != nil
		},
	},
}

const otherPods = "with a term for other pods than the Memcached's own"

func isSet[S ~string](s *S) bool { return s != nil && *s != "" }
