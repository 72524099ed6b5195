// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/internal/plugin/caches"
	"github.com/example/memcached-operator/internal/plugin/stats"
)

var update = flag.Bool("update", false, "write the outputs to testdata")

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// golden compares what write writes with a file of testdata.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := write(&got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("it writes\n%s\n%s is\n%s\nAfter an intended change run: go test ./internal/plugin -update", &got, file, want)
	}
}

func memcachedOf(t *testing.T, text string) *cachev1alpha1.Memcached {
	t.Helper()
	mc := &cachev1alpha1.Memcached{}
	if err := yaml.UnmarshalStrict([]byte(text), mc); err != nil {
		t.Fatal(err)
	}
	return mc
}

// newTarget returns a target in the namespace shop, whose pod is ready if it has an address.
func newTarget(memcached, pod, node, address string) stats.Target {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod, UID: types.UID(pod)}, Spec: corev1.PodSpec{NodeName: node}}
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "memcached", ContainerPort: 11211}}}}
	if address != "" {
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	}
	return stats.Target{Memcached: memcached, Pod: p}
}

// forbidden is a missing permission for port-forwards.
func forbidden() error {
	return caches.PortForwardError(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "cache-0", errors.New("RBAC")), "shop")
}

// sampled returns rows of four pods: two that answer, a new one that has no earlier sample, and one for each error.
func sampled(errs ...error) []row {
	const mebibyte = 1 << 20
	targets := []stats.Target{
		newTarget("cache", "cache-6d4f-aaaaa", "node-1", "10.0.0.9"), newTarget("cache", "cache-6d4f-bbbbb", "node-2", "10.0.0.10"),
		newTarget("cache", "cache-6d4f-ccccc", "node-2", "10.0.0.8"),
	}
	before := map[string]stats.Sample{
		"cache-6d4f-aaaaa": {At: now.Add(-2 * time.Second), Uptime: 98 * time.Second, Gets: 800, Hits: 700, Sets: 100, Evictions: 10},
		"cache-6d4f-bbbbb": {At: now.Add(-2 * time.Second), Uptime: 98 * time.Second},
	}
	after := []stats.Sample{
		{At: now, Version: "1.6.45", Uptime: 100 * time.Second, Bytes: 63 * mebibyte, Limit: 64 * mebibyte, Connections: 12, MaxConnections: 1024, Gets: 1000, Hits: 850, Sets: 200, Evictions: 15},
		{At: now, Version: "1.6.45", Uptime: 100 * time.Second, Bytes: 1, Limit: 64 * mebibyte, Connections: 2, MaxConnections: 1024, Sets: 100},
		{At: now, Version: "1.6.38", Uptime: time.Second, Limit: 1536 * mebibyte, Connections: 1},
	}
	results := []error{nil, nil, nil}
	for _, err := range errs {
		targets = append(targets, newTarget("other", "other-58b7-"+string(rune('a'+len(results))), "node-3", "10.0.1.1"))
		after, results = append(after, stats.Sample{}), append(results, err)
	}
	targets[1].Pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "memcached", RestartCount: 2, LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled"},
	}}}
	return newRows(targets, before, after, results)
}

func TestStatus_Golden(t *testing.T) {
	t.Parallel()
	rows := sampled(errors.New("no answer within 2s"), forbidden())
	for i := range rows {
		if rows[i].err == nil {
			rows[i].ratio = new(rows[i].sample.SinceStart())
		}
	}
	setSkews(rows)
	mc := memcachedOf(t, `
metadata: {namespace: shop, name: cache}
spec: {tls: {secretName: cache-tls, clientAuth: Require}, auth: {secretName: cache-users}}
status:
  podsReady: 2/3
  endpoint: cache.shop.svc:11211
  image: memcached:1.6.45
  conditions:
  - {type: Ready, status: "False", reason: RollingOut, lastTransitionTime: "2026-11-24T11:59:00Z", message: "2 of 3 pods\n  are ready"}
  - {type: Available, status: "True", reason: MinimumPodsReady, lastTransitionTime: "2026-11-20T12:00:00Z", message: "at least 2 pods are ready"}
`)
	objects := []metav1.PartialObjectMetadata{
		{TypeMeta: metav1.TypeMeta{Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "cache", CreationTimestamp: metav1.NewTime(now.Add(-96 * time.Hour))}},
		{TypeMeta: metav1.TypeMeta{Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "cache", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}},
	}
	golden(t, "status.txt", status{memcached: mc, objects: objects, rows: rows, now: now}.write)
	names := map[types.UID]string{rows[0].Pod.UID: "cache-1", rows[1].Pod.UID: "cache-0"}
	golden(t, "status.json", status{memcached: mc, objects: objects, names: names, rows: rows, now: now}.writeJSON)
	named := memcachedOf(t, "{metadata: {namespace: shop, name: cache}, spec: {stableNames: {}}}")
	golden(t, "status-named.txt", status{memcached: named, names: names, rows: rows, now: now}.write)
	golden(t, "status-empty.txt", status{memcached: memcachedOf(t, "{metadata: {namespace: shop, name: new}, spec: {}}"), now: now}.write)
}

func TestTop_Golden(t *testing.T) {
	t.Parallel()
	rows := sampled(errors.New("the pod is Pending"), forbidden(), forbidden())
	setSkews(rows)
	f := frame{at: now, interval: 2 * time.Second, memcacheds: 2, rows: rows}
	golden(t, "top.txt", f.write)
	f.allNamespaces, f.problem = true, errors.New("cannot reach the API server")
	golden(t, "top-all.txt", f.write)
	golden(t, "top.json", f.writeJSON)
	golden(t, "top-empty.txt", frame{at: now, interval: time.Minute}.write)
}

func TestWhere_Golden(t *testing.T) {
	t.Parallel()
	golden(t, "where.txt", func(out io.Writer) error {
		return writeLocations(out, []location{
			{Target: newTarget("cache", "cache-a", "node-1", "10.0.0.1")},
			{Target: newTarget("cache", "cache-b", "node-2", "10.0.0.2"), item: map[string]string{"exp": "-1", "la": "2", "size": "63"}},
			{Target: newTarget("cache", "cache-c", "node-2", "10.0.0.3"), item: map[string]string{"exp": "7200", "la": "90"}},
			{Target: newTarget("cache", "cache-d", "", ""), err: errors.New("the pod is Pending")},
			{Target: newTarget("cache", "cache-e", "node-2", "10.0.0.4"), err: forbidden()},
		})
	})
}

func TestExpiry_IsThatOfAllVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"-1": "never", "0": "0s", "90": "90s", "-90": "90s", "-7200": "120m", "": none, "soon": none, "--5": none} {
		if got := expiry(text); got != want {
			t.Errorf("an item with exp=%s expires in %s, want %s", text, got, want)
		}
	}
}

func TestTable_DoesNotControlTheTerminal(t *testing.T) {
	t.Parallel()
	var out, stderr bytes.Buffer
	rows := &table{head: []string{"A", "B"}}
	rows.add("\x1b[2Jcleared", "two\r\n\tlines\f")
	if err := rows.write(&out); err != nil || out.String() != "A              B\n^[[2Jcleared   two lines\n" {
		t.Errorf("the table is %q, %v", &out, err)
	}
	out.Reset()
	mc := memcachedOf(t, `{metadata: {namespace: shop, name: cache}, spec: {}, status: {image: "\e[2J"}}`)
	if err := (status{memcached: mc, now: now}).write(&out); err != nil || !strings.Contains(out.String(), "\nImage      ^[[2J\n") {
		t.Errorf("the status is %q, %v", &out, err)
	}
	out.Reset()
	if err := (frame{at: now, problem: errors.New("\x1b[2J")}).write(&out); err != nil || strings.Contains(out.String(), "\x1b") {
		t.Errorf("the frame is %q, %v", &out, err)
	}
	p := &program{streams: command.Streams{Err: &stderr}}
	if p.printError(&cobra.Command{Use: "top"}, errors.New("\x1b[2J")); stderr.String() != "top: ^[[2J\n" {
		t.Errorf("the error is %q", &stderr)
	}
}
