// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

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
		found = append(found, observed)
	}
	return found
}

// name returns the stable name of the Memcached called memcached at ordinal: the first label of its DNS name.
func name(memcached string, ordinal int) string { return fmt.Sprintf("%s-%d", memcached, ordinal) }

// Slots returns the slots in the EndpointSlices of a Memcached, of both families.
func Slots(memcached string, endpointSlices []discoveryv1.EndpointSlice) []Slot {
	var slots []Slot
	for _, slice := range endpointSlices {
		for _, endpoint := range slice.Endpoints {
			digits, isOurs := strings.CutPrefix(ptr.Deref(endpoint.Hostname, ""), memcached+"-")
			ordinal, err := strconv.Atoi(digits)
			if !isOurs || err != nil || endpoint.TargetRef == nil {
				continue
			}
			i := slices.IndexFunc(slots, func(s Slot) bool { return s.Ordinal == ordinal && s.UID == endpoint.TargetRef.UID })
			if i < 0 {
				i, slots = len(slots), append(slots, Slot{ordinal, Pod{UID: endpoint.TargetRef.UID}})
			}
			slots[i].Addresses = append(slots[i].Addresses, endpoint.Addresses...)
		}
	}
	return slots
}

// Endpoints returns slots as the endpoints of an EndpointSlice for addresses of family. DNS has the names of those that are
// ready; a pod that is terminating is asked as long as it is ready and no other has taken its slot.
func Endpoints(memcached, namespace string, slots []Slot, family discoveryv1.AddressType) []discoveryv1.Endpoint {
	var endpoints []discoveryv1.Endpoint
	for _, slot := range slots {
		i := slices.IndexFunc(slot.Addresses, func(address string) bool { return familyOf(address) == family })
		if i < 0 {
			continue
		}
		endpoint := discoveryv1.Endpoint{
			Addresses:  slot.Addresses[i : i+1],
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
