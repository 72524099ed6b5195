// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/example/memcached-operator/internal/plugin/caches"
	"github.com/example/memcached-operator/internal/plugin/stats"
	reconciled "github.com/example/memcached-operator/reconcilers/status"
)

// none stands for a figure that there is not.
const none = "-"

// row is a memcached pod and what is known of its memcached.
type row struct {
	stats.Target
	sample stats.Sample
	// interval is the change of the last seconds, nil when there is no earlier sample.
	interval *stats.Interval
	// ratio is the interval of the hit ratio and of the skew.
	ratio *stats.Interval
	// skew is the pod's gets and sets as a multiple of the mean; nil when it is unknown.
	skew *float64
	err  error
}

// newRows returns the rows of targets. Rates are those between the samples before, by target, and after.
func newRows(targets []stats.Target, before map[string]stats.Sample, after []stats.Sample, errs []error) []row {
	rows := make([]row, len(targets))
	for i, target := range targets {
		rows[i] = row{Target: target, sample: after[i], err: errs[i]}
		if interval, ok := after[i].Since(before[podKey(target)]); ok && errs[i] == nil {
			rows[i].interval, rows[i].ratio = &interval, &interval
		}
	}
	return rows
}

// podKey identifies the pod of target.
func podKey(target stats.Target) string { return string(target.Pod.UID) }

// bySample returns samples by target, without those of pods that did not answer.
func bySample(targets []stats.Target, samples []stats.Sample, errs []error) map[string]stats.Sample {
	result := map[string]stats.Sample{}
	for i, target := range targets {
		if errs[i] == nil {
			result[podKey(target)] = samples[i]
		}
	}
	return result
}

// setSkews sets the skew of each row among those of the same Memcached that have a ratio.
func setSkews(rows []row) {
	groups := map[string][]*row{}
	for i := range rows {
		if r := &rows[i]; r.err == nil && r.ratio != nil {
			key := r.Pod.Namespace + "/" + r.Memcached
			groups[key] = append(groups[key], r)
		}
	}
	for _, group := range groups {
		intervals := make([]stats.Interval, len(group))
		for i, r := range group {
			intervals[i] = *r.ratio
		}
		for i, skew := range stats.Skews(intervals) {
			group[i].skew = &skew
		}
	}
}

// rowErrors returns the error of each row.
func rowErrors(rows []row) []error {
	errs := make([]error, len(rows))
	for i, r := range rows {
		errs[i] = r.err
	}
	return errs
}

// ready returns whether the pod is ready, as a word.
func (r row) ready() string {
	if caches.IsReady(r.Pod) {
		return "True"
	}
	return "False"
}

// container returns the status of memcached's container, nil before there is one.
func (r row) container() *corev1.ContainerStatus {
	statuses := r.Pod.Status.ContainerStatuses
	i := slices.IndexFunc(statuses, func(status corev1.ContainerStatus) bool { return status.Name == reconciled.MainContainer })
	if i < 0 {
		return nil
	}
	return &statuses[i]
}

// restarts returns how often memcached was restarted in the pod, and why it was the last time.
func (r row) restarts() string {
	container := r.container()
	if container == nil {
		return none
	}
	count := strconv.FormatInt(int64(container.RestartCount), 10)
	if last := container.LastTerminationState.Terminated; last != nil && last.Reason != "" {
		count += " (" + last.Reason + ")"
	}
	return count
}

func (r row) node() string { return cmp.Or(r.Pod.Spec.NodeName, none) }

// fill returns the share of the memory that items use.
func (r row) fill() string {
	if r.sample.Limit == 0 {
		return none
	}
	limit := resource.NewQuantity(int64(min(r.sample.Limit, 1<<62)), resource.BinarySI)
	return fmt.Sprintf("%.0f%% of %s", 100*float64(r.sample.Bytes)/float64(r.sample.Limit), limit)
}

func (r row) hitRatio() string {
	if r.ratio == nil {
		return none
	}
	ratio, ok := r.ratio.HitRatio()
	if !ok {
		return none
	}
	return fmt.Sprintf("%.1f%%", 100*ratio)
}

// perSecond returns a counter of the last seconds.
func (r row) perSecond(count func(stats.Interval) uint64) string {
	if r.interval == nil {
		return none
	}
	return strconv.FormatFloat(r.interval.PerSecond(count(*r.interval)), 'f', 1, 64)
}

func (r row) connections() string {
	if r.sample.MaxConnections == 0 {
		return strconv.FormatUint(r.sample.Connections, 10)
	}
	return fmt.Sprintf("%d/%d", r.sample.Connections, r.sample.MaxConnections)
}

func (r row) skewText() string {
	if r.skew == nil {
		return none
	}
	return fmt.Sprintf("%.2fx", *r.skew)
}

func gets(i stats.Interval) uint64      { return i.Gets }
func sets(i stats.Interval) uint64      { return i.Sets }
func evictions(i stats.Interval) uint64 { return i.Evictions }
