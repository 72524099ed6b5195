// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/nodes"
)

// zonePort is the port of the Service of proxies that leads to their own nodes, as in manifests/components/proxy.zones.
const zonePort = 11212

// proxiesFind is how many seconds after a pod has become ready all proxies find it. Its name may have been looked up just before, which
// CoreDNS does not look up again for 5 seconds; a proxy tries each second. A list with an address reaches them sooner.
const proxiesFind = 7

// moverPort is the port of a proxy with TLS for the mover, or the next one that its pod does not use.
const moverPort = 11213

// ProxyValues holds the values of the proxies.
type ProxyValues struct {
	// Replicas is spec.proxy.size, and 0 while spec.size is: no pod runs then.
	Replicas int32 `json:"replicas"`
	// MinReadySeconds is that of the memcached pods: spec.minReadySeconds, and proxiesFind at least.
	MinReadySeconds int32 `json:"minReadySeconds"`
	// Nodes is the content of the file of nodes, as manifests/components/proxy/proxy.lua reads it.
	Nodes string `json:"nodes,omitempty"`
	// MaxItemSize is that of the Memcached in bytes, rounded up to whole chunks, and Megabytes a memory of which it is half at most.
	MaxItemSize string `json:"maxItemSize,omitempty"`
	Megabytes   string `json:"megabytes,omitempty"`
	// HandOver is present with spec.proxy.handoverSeconds.
	HandOver *HandOverValues `json:"handOver,omitempty"`
	// Zones is present with spec.proxy.zones.
	Zones *ZonesValues `json:"zones,omitempty"`
	// ServiceName is the name of the proxies' Service, as their metrics have it.
	ServiceName string `json:"serviceName,omitempty"`
	// OpenShift is that of Values. The others say which fields of the spec are set that concern the proxies too.
	OpenShift                bool `json:"openShift,omitempty"`
	ImagePullSecrets         bool `json:"imagePullSecrets,omitempty"`
	NodeSelector             bool `json:"nodeSelector,omitempty"`
	Tolerations              bool `json:"tolerations,omitempty"`
	PriorityClassName        bool `json:"priorityClassName,omitempty"`
	NetworkPolicy            bool `json:"networkPolicy,omitempty"`
	NetworkPolicyMetricsFrom bool `json:"networkPolicyMetricsFrom,omitempty"`
	ClientTLS                bool `json:"clientTLS,omitempty"`
	Metrics                  bool `json:"metrics,omitempty"`
	MetricsTLS               bool `json:"metricsTLS,omitempty"`
	ServiceMonitor           bool `json:"serviceMonitor,omitempty"`
	Rules                    bool `json:"rules,omitempty"`
}

// proxyValues returns the values of the proxies of mc.
func proxyValues(mc *cachev1alpha1.Memcached, layout nodes.Layout, openShift bool) *ProxyValues {
	spec := &mc.Spec
	if spec.Proxy == nil {
		return nil
	}
	v := &ProxyValues{
		ServiceName:              mc.Name + "-proxy",
		OpenShift:                openShift,
		ImagePullSecrets:         len(spec.ImagePullSecrets) > 0,
		NodeSelector:             len(spec.NodeSelector) > 0,
		Tolerations:              len(spec.Tolerations) > 0,
		PriorityClassName:        spec.PriorityClassName != nil,
		NetworkPolicy:            spec.NetworkPolicy != nil,
		NetworkPolicyMetricsFrom: spec.NetworkPolicy != nil && len(spec.NetworkPolicy.MetricsFrom) > 0,
		ClientTLS:                spec.TLS != nil,
		Metrics:                  spec.Metrics != nil,
		MetricsTLS:               spec.Metrics != nil && spec.TLS != nil,
		ServiceMonitor:           spec.Metrics != nil && spec.Metrics.ServiceMonitor != nil,
		Rules:                    spec.Metrics != nil && spec.Metrics.Rules != nil,
	}
	v.MinReadySeconds = max(ptr.Deref(spec.MinReadySeconds, 0), proxiesFind)
	size := ptr.Deref(spec.Size, 1)
	if size > 0 {
		v.Replicas = ptr.Deref(spec.Proxy.Size, 2)
	}
	port := ptr.Deref(spec.ContainerPort, 11211)
	if spec.TLS != nil && spec.TLS.PlaintextPort != nil {
		port = *spec.TLS.PlaintextPort
	}
	v.Nodes = layout.List(mc.Name, mc.Namespace, size, port) + zoneLines(mc)
	if zones := spec.Proxy.Zones; zones != nil {
		v.Zones = &ZonesValues{Label: labelOf(zones), NetworkPolicy: v.NetworkPolicy}
	}
	item := shippedCapacity.maxItemSize
	if spec.MaxItemSize != nil {
		item = max(item, spec.MaxItemSize.Value())
	}
	const chunk = maxChunk * kibibyte
	item = (item + chunk - 1) / chunk * chunk
	v.MaxItemSize = strconv.FormatInt(item, 10)
	v.Megabytes = strconv.FormatInt(max(shippedCapacity.megabytes, ceil(2*item)), 10)
	return v
}

// ZonesValues holds the values of a Memcached that is one of several copies.
type ZonesValues struct {
	// Label is the value of a label that the proxies of all zones have, when their lists are equal, and no other Memcached's.
	Label string `json:"label,omitempty"`
	// NetworkPolicy is set with spec.networkPolicy.
	NetworkPolicy bool `json:"networkPolicy,omitempty"`
}

// labelOf returns the value of the label for zones. A Memcached must be in its own list, so that it has the label of others only if these
// name it.
func labelOf(zones []cachev1alpha1.ObjectName) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, zones)))[:20]
}

// zoneLines returns the lines of the file of nodes with the zones of mc, if it has any.
func zoneLines(mc *cachev1alpha1.Memcached) string {
	var lines strings.Builder
	for _, zone := range mc.Spec.Proxy.Zones {
		if string(zone) == mc.Name {
			lines.WriteString("zone here\n")
		} else {
			fmt.Fprintf(&lines, "zone %s-proxy.%s.svc %d\n", zone, mc.Namespace, zonePort)
		}
	}
	return lines.String()
}

// HandOverValues holds the times of a memcached pod that hands its items over, in seconds.
type HandOverValues struct {
	// SleepSeconds is that of its preStop, and GraceSeconds its termination grace period.
	SleepSeconds string `json:"sleepSeconds,omitempty"`
	GraceSeconds string `json:"graceSeconds,omitempty"`
	// MoverPort is the port of a proxy for the mover in its pod, without TLS.
	MoverPort string `json:"moverPort,omitempty"`
	// TLS is set with spec.tls: MoverPort is a port of its own then, on the loopback interface.
	TLS bool `json:"tls,omitempty"`
}

// handOverValues returns the values of a pod with spec, which has spec.proxy.handoverSeconds, and cacheFile.
func handOverValues(spec *cachev1alpha1.MemcachedSpec, cacheFile *CacheFileValues) *HandOverValues {
	sleep := nodes.ServingTime(time.Duration(*spec.Proxy.HandoverSeconds) * time.Second)
	if spec.PreStop != nil {
		sleep = max(sleep, time.Duration(spec.PreStop.SleepSeconds)*time.Second)
	}
	stopTime := nodes.StopTime
	if cacheFile != nil && cacheFile.GraceSeconds != "" {
		stopTime, _ = time.ParseDuration(cacheFile.GraceSeconds + "s")
	}
	seconds := func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
	port := ptr.Deref(spec.ContainerPort, 11211)
	if spec.TLS != nil {
		taken := []int32{port}
		if spec.Metrics != nil { // The exporter is in the pod too.
			taken = append(taken, ptr.Deref(spec.Metrics.Port, 9150))
		}
		for port = moverPort; slices.Contains(taken, port); port++ {
		}
	}
	return &HandOverValues{
		SleepSeconds: seconds(sleep), GraceSeconds: seconds(sleep + stopTime), MoverPort: strconv.Itoa(int(port)), TLS: spec.TLS != nil,
	}
}

// NodesValues holds which pod has which stable name, as observed.
type NodesValues struct {
	// Enabled is always true.
	Enabled bool `json:"enabled,omitempty"`
	// IPv4 and IPv6 are present when pods have, or had, addresses of the family.
	IPv4 *EndpointsValues `json:"ipv4,omitempty"`
	IPv6 *EndpointsValues `json:"ipv6,omitempty"`
}

// EndpointsValues is the content of an EndpointSlice.
type EndpointsValues struct {
	// Enabled is always true.
	Enabled bool `json:"enabled,omitempty"`
	// Endpoints are the pods with their names, in the order of these.
	Endpoints []discoveryv1.Endpoint `json:"endpoints,omitempty"`
}

// nodesValues returns the values of mc, whose pods have the names in layout.
func nodesValues(mc *cachev1alpha1.Memcached, layout nodes.Layout) *NodesValues {
	if !mc.Spec.HasStableNames() {
		return nil
	}
	of := func(family discoveryv1.AddressType) *EndpointsValues {
		if !slices.Contains(layout.Families, family) {
			return nil
		}
		return &EndpointsValues{Enabled: true, Endpoints: layout.Endpoints(mc.Name, mc.Namespace, family)}
	}
	return &NodesValues{Enabled: true, IPv4: of(discoveryv1.AddressTypeIPv4), IPv6: of(discoveryv1.AddressTypeIPv6)}
}
