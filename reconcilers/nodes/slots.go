// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pod is an observed memcached pod.
type Pod struct {
	UID types.UID
	// Name, Node and Zone are those of the pod and of the Kubernetes node that it runs on.
	Name, Node, Zone string
	// Addresses are its IP addresses, at most one a family; none before it has started.
	Addresses []string
	Created   time.Time
	// Ready is the condition of that type, and Terminating that it is being deleted.
	Ready, Terminating bool
	// PreStop is how long it serves when it is deleted, and ServesUntil until when if it is Terminating.
	PreStop     time.Duration
	ServesUntil time.Time
}

// Slot is a stable name: <Memcached>-<Ordinal>, which Pod holds.
type Slot struct {
	Ordinal int
	Pod
}

// Assign returns the slots of a Memcached with that size and pods, in the order of their ordinals; a slot that no pod holds is
// missing. before are the slots of before, of which ordinal, UID and addresses are read.
//
// A pod keeps its slot as long as it exists, also while it is not ready or has no address: its addresses are those of before
// then. A ready pod without a slot takes one that no pod holds, and then one whose pod is terminating: the lowest ordinals
// first, the oldest pods first. Ordinals from size on are free; the pods that held them wait like new ones.
func Assign(size int, before []Slot, pods []Pod) []Slot {
	held := keep(size, before, pods)
	waiting := waiting(held, pods)
	for _, isFree := range []func(*Slot) bool{
		func(s *Slot) bool { return s == nil },
		func(s *Slot) bool { return s.Terminating },
	} {
		for ordinal := range held {
			if len(waiting) > 0 && isFree(held[ordinal]) {
				held[ordinal], waiting = &Slot{ordinal, waiting[0]}, waiting[1:]
			}
		}
	}
	var slots []Slot
	for _, slot := range held {
		if slot != nil {
			slots = append(slots, *slot)
		}
	}
	return slots
}

// keep returns the slots by ordinal whose pods still exist. Other clients can write slots that exclude each other, of which the
// lowest ordinal counts.
func keep(size int, before []Slot, pods []Pod) []*Slot {
	held := make([]*Slot, size)
	before = slices.SortedFunc(slices.Values(before), func(a, b Slot) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.UID, b.UID))
	})
	for _, slot := range before {
		i := slices.IndexFunc(pods, func(pod Pod) bool { return pod.UID == slot.UID })
		if i < 0 || slot.Ordinal < 0 || slot.Ordinal >= size || held[slot.Ordinal] != nil || holds(held, slot.UID) {
			continue
		}
		pod := pods[i]
		if len(pod.Addresses) == 0 {
			pod.Addresses = unused(slot.Addresses, pods)
		}
		held[slot.Ordinal] = &Slot{slot.Ordinal, pod}
	}
	return held
}

// holds reports whether the pod with uid holds one of held.
func holds(held []*Slot, uid types.UID) bool {
	return slices.ContainsFunc(held, func(slot *Slot) bool { return slot != nil && slot.UID == uid })
}

// unused returns addresses without those that one of pods has by now.
func unused(addresses []string, pods []Pod) []string {
	return slices.DeleteFunc(slices.Clone(addresses), func(address string) bool {
		return slices.ContainsFunc(pods, func(pod Pod) bool { return slices.Contains(pod.Addresses, address) })
	})
}

// waiting returns the pods that may take a slot, in order.
func waiting(held []*Slot, pods []Pod) []Pod {
	var found []Pod
	for _, pod := range pods {
		if pod.Ready && !pod.Terminating && len(pod.Addresses) > 0 && !holds(held, pod.UID) {
			found = append(found, pod)
		}
	}
	slices.SortFunc(found, func(a, b Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
	})
	return found
}
