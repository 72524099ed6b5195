// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// Pods returns the memcached pods among pods that have not ended.
func Pods(pods []corev1.Pod) []Pod {
	var found []Pod
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		observed := Pod{
			UID: pod.UID, Name: pod.Name, Node: pod.Spec.NodeName, Zone: pod.Labels[corev1.LabelTopologyZone],
			Created: pod.CreationTimestamp.Time, Terminating: pod.DeletionTimestamp != nil,
		}
		for _, ip := range pod.Status.PodIPs {
			observed.Addresses = append(observed.Addresses, ip.IP)
		}
		observed.Ready = slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		observed.PreStop = preStop(pod)
		if pod.DeletionTimestamp != nil {
			grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
			observed.ServesUntil = pod.DeletionTimestamp.Add(min(observed.PreStop, grace) - grace)
		}
		found = append(found, observed)
	}
	return found
}

// preStop returns how long pod sleeps before it stops.
func preStop(pod corev1.Pod) time.Duration {
	for _, c := range pod.Spec.Containers {
		if c.Name == "memcached" && c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
			return time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
		}
	}
	return 0
}

// name returns the stable name of the Memcached called memcached at ordinal: the first label of its DNS name.
func name(memcached string, ordinal int) string { return fmt.Sprintf("%s-%d", memcached, ordinal) }

// Hosts returns the stable names of a Memcached with that size as the names of hosts.
func Hosts(memcached, namespace string, size int32) []string {
	var hosts []string
	for ordinal := range int(size) {
		hosts = append(hosts, fmt.Sprintf("%s.%s-nodes.%s.svc", name(memcached, ordinal), memcached, namespace))
	}
	return hosts
}

// Servers returns the stable names of a Memcached with that size as host:port.
func Servers(memcached, namespace string, size, port int32) []string {
	servers := Hosts(memcached, namespace, size)
	for i, host := range servers {
		servers[i] = fmt.Sprintf("%s:%d", host, port)
	}
	return servers
}

// Families are the address families of which a Memcached can have an EndpointSlice.
var Families = []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}

// Layout says which pods hold the stable names of a Memcached. The zero value is that of one of which no pod was observed.
type Layout struct {
	Slots []Slot
	// Families are those of the pods' network, in the order of Families; each has an EndpointSlice, which may be empty.
	Families []discoveryv1.AddressType
	// Listed is how many of the names, the first ones, clients with a list of nodes know; 0 for none yet.
	Listed int
	// ByAddress has the list name the pods by their addresses: by the name of a slot, a proxy that connects before it has the list of a
	// hand-over would reach the new pod when others still use the old one.
	ByAddress bool
	// Olds and Was are the hand-overs, from other pods and from another number of them, that these clients know of.
	Olds []Old
	Was  Was
	// Since is the least number of nodes that there have been before there were more; 0 if there were never fewer.
	Since int
}

// Remembered returns the layout that endpointSlices, those of the Memcached called memcached, hold.
func Remembered(memcached string, endpointSlices []discoveryv1.EndpointSlice) Layout {
	var layout Layout
	for _, family := range Families {
		for _, slice := range endpointSlices {
			if slice.AddressType != family {
				continue
			}
			if !slices.Contains(layout.Families, family) {
				layout.Families = append(layout.Families, family)
			}
			for _, endpoint := range slice.Endpoints {
				layout.add(memcached, endpoint)
			}
		}
	}
	return layout
}

// add adds the slot in endpoint, or the addresses of another family to it.
func (l *Layout) add(memcached string, endpoint discoveryv1.Endpoint) {
	digits, isOurs := strings.CutPrefix(ptr.Deref(endpoint.Hostname, ""), memcached+"-")
	ordinal, err := strconv.Atoi(digits)
	pod := endpoint.TargetRef
	if !isOurs || err != nil || pod == nil {
		return
	}
	i := slices.IndexFunc(l.Slots, func(s Slot) bool { return s.Ordinal == ordinal && s.UID == pod.UID })
	if i < 0 {
		i, l.Slots = len(l.Slots), append(l.Slots, Slot{ordinal, Pod{
			UID: pod.UID, Name: pod.Name, Node: ptr.Deref(endpoint.NodeName, ""), Zone: ptr.Deref(endpoint.Zone, ""),
			Ready: ptr.Deref(endpoint.Conditions.Ready, true), Terminating: ptr.Deref(endpoint.Conditions.Terminating, false),
		}})
	}
	l.Slots[i].Addresses = append(l.Slots[i].Addresses, endpoint.Addresses...)
}

// Misses reports whether one of the slots of a Memcached with that size is held by none of pods.
func (l Layout) Misses(size int, pods []Pod) bool {
	return slices.ContainsFunc(l.Slots, func(slot Slot) bool {
		return slot.Ordinal < size && !slices.ContainsFunc(pods, func(pod Pod) bool { return pod.UID == slot.UID })
	})
}

// Next returns the layout of a Memcached with that size and pods, of which l is the one of before.
func (l Layout) Next(size int, pods []Pod) Layout {
	next := Layout{Slots: Assign(size, l.Slots, pods)}
	next.Listed = l.listed(size, next.Slots)
	for _, family := range Families {
		inUse := slices.ContainsFunc(next.Slots, func(s Slot) bool { return s.address(family) != "" })
		if inUse || slices.Contains(l.Families, family) {
			next.Families = append(next.Families, family)
		}
	}
	return next
}

// listed returns how many names clients should know of slots: those that they know up to size, and after these the ones that a pod
// holds. So they know a new name when it leads to a pod, and an old one also while its pod is being replaced.
func (l Layout) listed(size int, slots []Slot) int {
	if l.Listed == 0 {
		return size
	}
	n := min(l.Listed, size)
	for slices.ContainsFunc(slots, func(s Slot) bool { return s.Ordinal == n }) {
		n++
	}
	return n
}

// address returns the address of s of family, or "".
func (s Slot) address(family discoveryv1.AddressType) string {
	for _, address := range s.Addresses {
		if familyOf(address) == family {
			return address
		}
	}
	return ""
}

// Endpoints returns the endpoints of the EndpointSlice for addresses of family. DNS has the names of those that are
// ready; a pod that is terminating is asked as long as it is ready and no other has taken its slot.
func (l Layout) Endpoints(memcached, namespace string, family discoveryv1.AddressType) []discoveryv1.Endpoint {
	var endpoints []discoveryv1.Endpoint
	for _, slot := range l.Slots {
		address := slot.address(family)
		if address == "" {
			continue
		}
		endpoint := discoveryv1.Endpoint{
			Addresses:  []string{address},
			Hostname:   new(name(memcached, slot.Ordinal)),
			Conditions: discoveryv1.EndpointConditions{Ready: new(slot.Ready), Serving: new(slot.Ready), Terminating: new(slot.Terminating)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: slot.Name, UID: slot.UID},
		}
		if slot.Node != "" {
			endpoint.NodeName = new(slot.Node)
		}
		if slot.Zone != "" {
			endpoint.Zone = new(slot.Zone)
		}
		endpoints = append(endpoints, endpoint)
	}
	return endpoints
}

// familyOf returns the family of address, or "" if it is none.
func familyOf(address string) discoveryv1.AddressType {
	ip, err := netip.ParseAddr(address)
	switch {
	case err != nil:
		return ""
	case ip.Is4():
		return discoveryv1.AddressTypeIPv4
	default:
		return discoveryv1.AddressTypeIPv6
	}
}
