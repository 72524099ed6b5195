// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// The times of a hand-over, as manifests/components/proxy/proxy.lua has its steps.
const (
	// prepareTime is how long the list of nodes may take to reach all proxies.
	prepareTime = 10 * time.Second
	// leaveTime is how long the proxies' clocks may differ: for so long they delete what they change from the old node.
	leaveTime = 5 * time.Second
	// spareTime is between the end of a hand-over and that of the old pod.
	spareTime = 5 * time.Second
	// leastTime is the least in which items are moved. In a shorter one, a hand-over is not begun.
	leastTime = 5 * time.Second
	// maxServing is longer than any preStop, of which a Memcached has 3599 s at most.
	maxServing = time.Hour
	// StopTime is how long memcached may take to stop after its preStop.
	StopTime = 30 * time.Second
)

// ServingTime returns how long a pod has to serve after its deletion, so that items are moved for handover.
func ServingTime(handover time.Duration) time.Duration {
	return prepareTime + handover + leaveTime + spareTime
}

// Times are the times of a hand-over, in seconds since 1970: the proxies use the old nodes until Move, and move items until Leave.
type Times struct{ Move, Leave int64 }

// timesFor returns the times of a hand-over from a pod that serves until end. There are none if that is too soon.
func timesFor(now, end time.Time) (times Times, enough bool) {
	times = Times{now.Add(prepareTime).Unix(), end.Add(-leaveTime - spareTime).Unix()}
	return times, times.Leave >= times.Move+int64(leastTime/time.Second)
}

// Old is a node that a slot had before, from which its keys are handed over.
type Old struct {
	Ordinal int
	Address string
	Times
}

// Was is the number of nodes before it changed.
type Was struct {
	Number int
	Times
}

// end returns when the proxies know of the old number no more; the zero time without one.
func (w Was) end() time.Time {
	if w.Number == 0 {
		return time.Time{}
	}
	return time.Unix(w.Leave, 0).Add(leaveTime + time.Second)
}

// NextChange returns when a hand-over ends of which no event of a pod tells; the zero time without one.
func (l Layout) NextChange() time.Time { return l.Was.end() }

// MovesUntil returns until when the proxies move items; the zero time without a hand-over.
func (l Layout) MovesUntil() time.Time {
	leave := l.Was.Leave
	for _, old := range l.Olds {
		leave = max(leave, old.Leave)
	}
	if leave == 0 {
		return time.Time{}
	}
	return time.Unix(leave, 0).UTC()
}

// HandOver returns next, the layout that follows l, with the hand-overs that it begins at now, and those of l that go on: a pod that
// is being deleted, or is not needed any more, hands its keys over to the pods that have them next. The proxies learn of a larger
// number of nodes when the hand-over of its last change is over. handover is how long the keys of new pods are moved; with 0 none begins.
func (l Layout) HandOver(next Layout, pods []Pod, now time.Time, handover time.Duration) Layout {
	next.ByAddress = handover > 0
	if l.Listed == 0 || next.Listed == 0 {
		return next
	}
	for _, old := range l.Olds {
		if old.arePossible(now) && slices.ContainsFunc(pods, func(pod Pod) bool { return slices.Contains(pod.Addresses, old.Address) }) {
			next.Olds = append(next.Olds, old)
		}
	}
	if l.Was.isRunning(now) {
		next.Was = l.Was
		next.Listed = min(next.Listed, l.Listed)
	}
	if handover == 0 {
		return next
	}
	next.since(l)
	for _, slot := range l.Slots {
		next.handOver(l.Listed, slot, pods, now)
	}
	slices.SortFunc(next.Olds, func(a, b Old) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	if next.Listed == l.Listed {
		return next
	}
	next.Was = Was{l.Listed, Times{}}
	next.Was.Times, _ = timesFor(now, now.Add(ServingTime(handover)))
	for _, old := range next.Olds {
		if old.Ordinal >= next.Listed {
			next.Was.Leave = min(next.Was.Leave, old.Leave)
		}
	}
	return next
}

// since sets Since of the layout that follows before.
func (l *Layout) since(before Layout) {
	l.Since = before.Since
	if l.Listed > before.Listed && (l.Since == 0 || before.Listed < l.Since) {
		l.Since = before.Listed
	}
	if l.Listed <= l.Since {
		l.Since = 0
	}
}

// handOver adds the hand-over of slot, which one of pods held before, if another pod holds it now, or none has to. listed is the
// number of slots that the proxies know.
func (l *Layout) handOver(listed int, slot Slot, pods []Pod, now time.Time) {
	i := slices.IndexFunc(pods, func(pod Pod) bool { return pod.UID == slot.UID })
	j := slices.IndexFunc(l.Slots, func(s Slot) bool { return s.Ordinal == slot.Ordinal })
	isKept := j >= 0 && l.Slots[j].UID == slot.UID || j < 0 && slot.Ordinal < l.Listed
	if i < 0 || isKept || slot.Ordinal >= listed || len(slot.Addresses) == 0 {
		return
	}
	if slices.ContainsFunc(l.Olds, func(old Old) bool { return old.Ordinal == slot.Ordinal && old.Address == slot.Addresses[0] }) {
		return // The operator ended before the slots were written.
	}
	times, enough := timesFor(now, pods[i].servesUntil(now))
	l.Olds = slices.DeleteFunc(l.Olds, func(old Old) bool { return old.Ordinal == slot.Ordinal })
	if enough && pods[i].Ready {
		l.Olds = append(l.Olds, Old{slot.Ordinal, slot.Addresses[0], times})
	}
}

// servesUntil returns when p ends to serve, if it is deleted at now or was before.
func (p Pod) servesUntil(now time.Time) time.Time {
	if p.Terminating {
		return p.ServesUntil
	}
	return now.Add(p.PreStop)
}

// isRunning reports whether the hand-over goes on at now.
func (w Was) isRunning(now time.Time) bool {
	return w.Number > 0 && now.Before(w.end()) && w.arePossible(now)
}

// arePossible reports whether a hand-over may have t at now. Another client may have written others into the list.
func (t Times) arePossible(now time.Time) bool {
	return time.Unix(t.Leave, 0).Before(now.Add(maxServing))
}

// IsPreparing reports whether a hand-over waits at now for all proxies to know of it.
func (l Layout) IsPreparing(now time.Time) bool {
	return now.Unix() < l.Was.Move || slices.ContainsFunc(l.Olds, func(old Old) bool { return now.Unix() < old.Move })
}

// ListName returns the name of the ConfigMap with the list of nodes of the Memcached called memcached.
func ListName(memcached string) string { return memcached + "-proxy-nodes" }

// List returns the file of nodes of the proxies of a Memcached, as proxy.lua reads it. number is how many nodes it has where l
// says nothing of that.
func (l Layout) List(memcached, namespace string, number, port int32) string {
	var list strings.Builder
	for ordinal, host := range Hosts(memcached, namespace, cmp.Or(int32(l.Listed), number, 1)) { // also at size 0: a list must have a node
		i := slices.IndexFunc(l.Slots, func(s Slot) bool { return s.Ordinal == ordinal && len(s.Addresses) > 0 })
		if l.ByAddress && i >= 0 {
			host = l.Slots[i].Addresses[0]
		}
		fmt.Fprintf(&list, "- %s %d\n", host, port)
	}
	for _, old := range l.Olds {
		fmt.Fprintf(&list, "old %d %s %d %d %d\n", old.Ordinal+1, old.Address, port, old.Move, old.Leave)
	}
	if l.Was.Number > 0 {
		fmt.Fprintf(&list, "was %d %d %d\n", l.Was.Number, l.Was.Move, l.Was.Leave)
	}
	if l.Since > 0 {
		fmt.Fprintf(&list, "since %d\n", l.Since)
	}
	return list.String()
}

// WithList returns l with what the proxies know by list, a file of nodes. Lines that List does not write count for nothing.
func (l Layout) WithList(list string) Layout {
	lines := bufio.NewScanner(strings.NewReader(list))
	for lines.Scan() {
		var old Old
		var was Was
		var host string
		var port, since int
		switch line := lines.Text(); {
		case scan(line, "- %s %d", &host, &port):
			l.Listed++
			l.ByAddress = l.ByAddress || net.ParseIP(host) != nil
		case scan(line, "old %d %s %d %d %d", &old.Ordinal, &old.Address, &port, &old.Move, &old.Leave) && net.ParseIP(old.Address) != nil:
			old.Ordinal--
			l.Olds = append(l.Olds, old)
		case scan(line, "was %d %d %d", &was.Number, &was.Move, &was.Leave):
			l.Was = was
		case scan(line, "since %d", &since):
			l.Since = since
		}
	}
	return l
}

func scan(line, format string, fields ...any) bool {
	n, err := fmt.Sscanf(line, format, fields...)
	return err == nil && n == len(fields)
}
