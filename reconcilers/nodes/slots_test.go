// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// parsePods returns the pods in text, separated by blanks: a name, with "!" if it is not ready, "-" if it is terminating and
// "?" if it has no address. They are created in this order, and the address is ip-<name>.
func parsePods(text string) []Pod {
	var pods []Pod
	for i, field := range strings.Fields(text) {
		name := strings.TrimRight(field, "!-?")
		pod := Pod{
			UID: types.UID(name), Name: name, Created: time.Unix(int64(i), 0), Addresses: []string{"ip-" + name},
			Ready: !strings.Contains(field, "!"), Terminating: strings.Contains(field, "-"),
		}
		if strings.Contains(field, "?") {
			pod.Addresses = nil
		}
		pods = append(pods, pod)
	}
	return pods
}

// parseSlots returns the slots in text, separated by blanks, such as 0=a.
func parseSlots(text string) []Slot {
	var slots []Slot
	for field := range strings.FieldsSeq(text) {
		var slot Slot
		ordinal, name, _ := strings.Cut(field, "=")
		_, _ = fmt.Sscan(ordinal, &slot.Ordinal)
		slot.UID, slot.Addresses = types.UID(name), []string{"ip-" + name}
		slots = append(slots, slot)
	}
	return slots
}

// format returns slots as parseSlots reads them, with the addresses if they are not those of the pod.
func format(slots []Slot) string {
	var fields []string
	for _, slot := range slots {
		field := fmt.Sprintf("%d=%s", slot.Ordinal, slot.UID)
		if want := []string{"ip-" + string(slot.UID)}; !slices.Equal(slot.Addresses, want) {
			field += fmt.Sprint(slot.Addresses)
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, " ")
}

func TestAssign_Slots(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size               int
		before, pods, want string
	}{
		"gives the lowest slots to the oldest pods":    {3, "", "a b c", "0=a 1=b 2=c"},
		"gives none to a pod that is not ready":        {3, "", "a! b c", "0=b 1=c"},
		"gives none to a terminating pod":              {2, "", "a- b", "0=b"},
		"gives no more than size":                      {2, "", "a b c", "0=a 1=b"},
		"lets a pod keep its slot":                     {3, "2=a", "a b c", "0=b 1=c 2=a"},
		"lets a pod keep it while it is not ready":     {2, "0=a 1=b", "a! b c", "0=a 1=b"},
		"lets a pod keep it without an address":        {2, "0=a 1=b", "a!? b c", "0=a 1=b"},
		"keeps a terminating pod without replacement":  {2, "0=a 1=b", "a- b c!", "0=a 1=b"},
		"replaces a terminating pod by a ready one":    {2, "0=a 1=b", "a- b c", "0=c 1=b"},
		"replaces a pod that is gone":                  {2, "0=a 1=b", "b c", "0=c 1=b"},
		"fills an empty slot before a terminating one": {3, "0=a 1=b", "a- b c", "0=a 1=b 2=c"},
		"frees the highest slots":                      {2, "0=a 1=b 2=c", "a b c", "0=a 1=b"},
		"gives a freed pod another slot":               {2, "0=a 1=b 2=c", "a c", "0=a 1=c"},
		"has none at size 0":                           {0, "0=a", "a", ""},
		"gives a pod one slot":                         {2, "1=a 0=a", "a", "0=a"},
		"gives a slot to one pod":                      {1, "0=b 0=a", "a b", "0=a"},
		"ignores an ordinal out of range":              {1, "-1=a 7=b", "b", "0=b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := format(Assign(test.size, parseSlots(test.before), parsePods(test.pods))); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestAssign_DropsAnAddressThatAnotherPodHas(t *testing.T) {
	t.Parallel()
	pods := parsePods("a!? b")
	pods[1].Addresses = []string{"ip-a"}
	if got, want := format(Assign(2, parseSlots("0=a"), pods)), "0=a[] 1=b[ip-a]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzAssign changes size and pods at random, one step a byte, and checks the slots after each.
func FuzzAssign(f *testing.F) {
	f.Add([]byte{3, 8, 9, 10, 16, 17, 18, 32, 11, 19, 48, 2, 40})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var pods []Pod
		var slots []Slot
		size := 3
		for n, step := range steps[:min(len(steps), 200)] {
			pods, size = change(pods, size, step, n)
			// The slices, which have no endpoint without an address, are the only memory.
			before := slices.DeleteFunc(slots, func(s Slot) bool { return len(s.Addresses) == 0 })
			slots = Assign(size, before, pods)
			if fault := fault(size, before, pods, slots); fault != "" {
				t.Fatalf("step %d, size %d, pods %+v:\n%s became %s: %s", n, size, pods, format(before), format(slots), fault)
			}
		}
	})
}

// change returns pods and size after step n.
func change(pods []Pod, size int, step byte, n int) ([]Pod, int) {
	pods = slices.Clone(pods)
	kind, which := step/8%8, int(step%8)
	if kind == 0 {
		return pods, which
	}
	if kind == 1 || len(pods) == 0 {
		uid := types.UID(fmt.Sprint("pod-", n))
		return append(pods, Pod{UID: uid, Created: time.Unix(int64(which), 0)}), size
	}
	pod := &pods[which%len(pods)]
	switch kind {
	case 2:
		pod.Ready, pod.Addresses = true, []string{"ip-" + string(pod.UID)}
	case 3:
		pod.Ready = false
	case 4:
		pod.Terminating = true
	case 5:
		pod.Ready, pod.Addresses = false, nil
	default:
		return slices.Delete(pods, which%len(pods), which%len(pods)+1), size
	}
	return pods, size
}

// fault returns what is wrong with slots, the successors of before.
func fault(size int, before []Slot, pods []Pod, slots []Slot) string {
	reversed := slices.Clone(pods)
	slices.Reverse(reversed)
	if again := Assign(size, slots, reversed); format(again) != format(slots) {
		return "another order gives " + format(again)
	}
	return cmp.Or(overlap(size, slots), lost(size, before, pods, slots), free(size, pods, slots))
}

// overlap returns which of slots excludes another one.
func overlap(size int, slots []Slot) string {
	ordinals, uids, addresses := map[int]bool{}, map[types.UID]bool{}, map[string]bool{}
	for _, slot := range slots {
		if slot.Ordinal < 0 || slot.Ordinal >= size || len(slot.Addresses) != 1 || ordinals[slot.Ordinal] || uids[slot.UID] || addresses[slot.Addresses[0]] {
			return fmt.Sprintf("slot %d", slot.Ordinal)
		}
		ordinals[slot.Ordinal], uids[slot.UID], addresses[slot.Addresses[0]] = true, true, true
	}
	return ""
}

// lost returns which pod lost its slot in before although it is there.
func lost(size int, before []Slot, pods []Pod, slots []Slot) string {
	for _, slot := range before {
		i := slices.IndexFunc(pods, func(pod Pod) bool { return pod.UID == slot.UID })
		kept := slices.ContainsFunc(slots, func(now Slot) bool { return now.UID == slot.UID && now.Ordinal == slot.Ordinal })
		if i >= 0 && !pods[i].Terminating && slot.Ordinal < size && !kept {
			return fmt.Sprintf("%s lost slot %d", slot.UID, slot.Ordinal)
		}
	}
	return ""
}

// free returns which ready pod waits although a slot is free.
func free(size int, pods []Pod, slots []Slot) string {
	taken := 0
	for _, slot := range slots {
		if !slot.Terminating {
			taken++
		}
	}
	for _, pod := range pods {
		holds := slices.ContainsFunc(slots, func(slot Slot) bool { return slot.UID == pod.UID })
		if pod.Ready && !pod.Terminating && !holds && taken < size {
			return fmt.Sprintf("%s waits", pod.UID)
		}
	}
	return ""
}
