// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/plugin/caches"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

// addOutput adds --output, which is empty for tables.
func addOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "Form of the output: json. Defaults to tables.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// checkOutput returns an error unless output is a value of --output.
func checkOutput(output string) error {
	if output != "" && output != "json" {
		return fmt.Errorf("--output: %q is not json", output)
	}
	return nil
}

// statusJSON is the output of status as JSON.
type statusJSON struct {
	Namespace string                        `json:"namespace"`
	Name      string                        `json:"name"`
	Status    cachev1alpha1.MemcachedStatus `json:"status"`
	Objects   []objectJSON                  `json:"objects"`
	Pods      []podJSON                     `json:"pods"`
}

type objectJSON struct {
	Kind              string      `json:"kind"`
	Name              string      `json:"name"`
	CreationTimestamp metav1.Time `json:"creationTimestamp"`
}

// frameJSON is a table of top as JSON.
type frameJSON struct {
	Time            time.Time `json:"time"`
	IntervalSeconds float64   `json:"intervalSeconds"`
	Pods            []podJSON `json:"pods"`
	// Problem says why the table is that of an earlier time.
	Problem string `json:"problem,omitempty"`
}

// podJSON is a pod as JSON. Figures that are not known are null; those of a pod with an error are 0.
type podJSON struct {
	Namespace          string   `json:"namespace"`
	Memcached          string   `json:"memcached"`
	Name               string   `json:"name"`
	StableName         string   `json:"stableName,omitempty"`
	Node               string   `json:"node"`
	Ready              bool     `json:"ready"`
	Restarts           int32    `json:"restarts"`
	LastRestartReason  string   `json:"lastRestartReason,omitempty"`
	Version            string   `json:"version"`
	Bytes              uint64   `json:"bytes"`
	LimitBytes         uint64   `json:"limitBytes"`
	Connections        uint64   `json:"connections"`
	MaxConnections     uint64   `json:"maxConnections"`
	HitRatio           *float64 `json:"hitRatio"`
	GetsPerSecond      *float64 `json:"getsPerSecond"`
	SetsPerSecond      *float64 `json:"setsPerSecond"`
	EvictionsPerSecond *float64 `json:"evictionsPerSecond"`
	Skew               *float64 `json:"skew"`
	Error              string   `json:"error,omitempty"`
}

func (r row) json() podJSON {
	pod := podJSON{
		Namespace: r.Pod.Namespace, Memcached: r.Memcached, Name: r.Pod.Name, Node: r.Pod.Spec.NodeName, Ready: caches.IsReady(r.Pod),
		Version: r.sample.Version, Bytes: r.sample.Bytes, LimitBytes: r.sample.Limit, Connections: r.sample.Connections,
		MaxConnections: r.sample.MaxConnections, Skew: r.skew,
	}
	if container := r.container(); container != nil {
		pod.Restarts = container.RestartCount
		if last := container.LastTerminationState.Terminated; last != nil {
			pod.LastRestartReason = last.Reason
		}
	}
	if r.err != nil {
		pod.Error = podProblem(r.err)
		return pod
	}
	if r.ratio != nil {
		if ratio, ok := r.ratio.HitRatio(); ok {
			pod.HitRatio = &ratio
		}
	}
	if r.interval != nil {
		perSecond := func(count func(stats.Interval) uint64) *float64 { return new(r.interval.PerSecond(count(*r.interval))) }
		pod.GetsPerSecond, pod.SetsPerSecond, pod.EvictionsPerSecond = perSecond(gets), perSecond(sets), perSecond(evictions)
	}
	return pod
}

// writeJSON writes s for programs.
func (s status) writeJSON(out io.Writer) error {
	view := statusJSON{Namespace: s.memcached.Namespace, Name: s.memcached.Name, Status: s.memcached.Status, Objects: []objectJSON{}, Pods: []podJSON{}}
	for _, object := range s.objects {
		view.Objects = append(view.Objects, objectJSON{object.Kind, object.Name, object.CreationTimestamp})
	}
	for _, r := range s.rows {
		pod := r.json()
		pod.StableName = s.names[r.Pod.UID]
		view.Pods = append(view.Pods, pod)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(view)
}

// writeJSON writes the frame as a line of JSON.
func (f frame) writeJSON(out io.Writer) error {
	view := frameJSON{Time: f.at, IntervalSeconds: f.interval.Seconds(), Pods: []podJSON{}}
	for _, r := range f.rows {
		view.Pods = append(view.Pods, r.json())
	}
	if f.problem != nil {
		view.Problem = f.problem.Error()
	}
	return json.NewEncoder(out).Encode(view)
}
