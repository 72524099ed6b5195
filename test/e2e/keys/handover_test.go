// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/traffic"
)

// plannedChanges are made to all of mcs.
var plannedChanges = []struct {
	what string
	make func(t *testing.T, mcs []*cachev1alpha1.Memcached)
}{
	{"another image", patching(`{"image":"` + cluster.Image + `"}`)},
	{"more memory", patching(`{"memory":"20Mi"}`)},
	{"another annotation", patching(`{"podMetadata":{"annotations":{"example.com/changed":"1"}}}`)},
	{"the operator restarts", func(t *testing.T, _ []*cachev1alpha1.Memcached) {
		suite.Kubectl(t, "delete", "pod", "--all-namespaces", "--selector=control-plane=controller-manager", "--wait=false")
	}},
	{"a node is drained", func(t *testing.T, _ []*cachev1alpha1.Memcached) {
		t.Cleanup(func() { suite.Kubectl(t, "uncordon", "node2") })
		suite.Kubectl(t, "drain", "node2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+testenv.Timeout.String())
		suite.Kubectl(t, "uncordon", "node2")
	}},
	{"size 3 becomes 4", patching(`{"size":4}`)},
	{"size 4 becomes 3", patching(`{"size":3}`)},
}

func patching(spec string) func(*testing.T, []*cachev1alpha1.Memcached) {
	return func(t *testing.T, mcs []*cachev1alpha1.Memcached) {
		for _, mc := range mcs {
			suite.Patch(t, mc, `{"spec":`+spec+`}`)
		}
	}
}

// course is what an application saw of a change: the seconds from before on, of which the change is at at.
type course struct {
	what    string
	seconds [][]traffic.Second // by Memcached
	at      int
}

const (
	// margin is how long the applications run before each change and after it.
	margin = 20
	// Of 8000 keys with 8000 bytes each, 70 % fit in three pods of 16 MiB. In the 60 s of a hand-over, each is asked for 11 times on average,
	// as 100,000 keys are by 18,000 requests a second.
	keysInUse, valueBytes, requestRate = 8000, 8000, 1500
)

// TestHandOver_HidesPlannedChanges has two applications, each with a cache of its own in front of its database, through planned changes:
// one cache hands over, the other has proxies alone. It prints what the hit ratio loses.
func TestHandOver_HidesPlannedChanges(t *testing.T) {
	namespace := suite.NewNamespace(t)
	n := newNode(t)
	var mcs []*cachev1alpha1.Memcached
	for name, seconds := range map[string]*int32{"kept": new(int32(60)), "lost": nil} {
		mcs = append(mcs, suite.NewMemcached(t, namespace, name, 3, func(spec *cachev1alpha1.MemcachedSpec) {
			spec.Image, spec.Memory = new(cachev1alpha1.Image(cluster.OldImage)), new(resource.MustParse("16Mi"))
			spec.Proxy = &cachev1alpha1.Proxy{HandoverSeconds: seconds}
		}))
	}
	if mcs[0].Name != "kept" {
		mcs[0], mcs[1] = mcs[1], mcs[0]
	}
	var loads []*traffic.Load
	for _, mc := range mcs {
		suite.Ready(t, mc)
		host, port, err := net.SplitHostPort(mc.Status.Endpoint)
		testenv.NoError(t, err)
		loads = append(loads, traffic.Start(t.Context(), traffic.Options{Keys: keysInUse, ValueBytes: valueBytes, Rate: requestRate, Timeout: 5 * time.Second, Dial: func(ctx context.Context) (net.Conn, error) {
			addresses, err := n.lookUp(ctx, host)
			if err != nil || len(addresses) == 0 {
				return nil, fmt.Errorf("%s has the addresses %v: %w", host, addresses, err)
			}
			return n.dial(ctx, "tcp", net.JoinHostPort(addresses[0], port))
		}}))
	}
	var courses []course
	t.Log("| change | cache | hit ratio before | dip in points | seconds of more than a point | errors | stale reads |")
	for _, change := range plannedChanges {
		pass(t, 2*margin)
		var starts []int
		for _, load := range loads {
			starts = append(starts, len(load.Seconds())-margin)
		}
		change.make(t, mcs)
		for _, mc := range mcs {
			settled(t, mc)
		}
		noHandOver(t, namespace)
		pass(t, margin)
		c := course{what: change.what, at: margin}
		for i, load := range loads {
			seconds := load.Seconds()[starts[i]:]
			c.seconds = append(c.seconds, seconds)
			dip := traffic.DipAfter(seconds, margin)
			var before, all traffic.Second
			for j, s := range seconds {
				if j < margin {
					before = traffic.Second{Hits: before.Hits + s.Hits, Misses: before.Misses + s.Misses, Errors: before.Errors + s.Errors}
				}
				all.Errors, all.Stale = all.Errors+s.Errors, all.Stale+s.Stale
			}
			t.Logf("| %s (%d s) | %s | %.1f %% | %.1f | %d | %d | %d |", change.what, len(seconds)-2*margin, mcs[i].Name, 100*before.Ratio(), dip.Points, dip.Seconds, all.Errors, all.Stale)
			if mcs[i].Name == "kept" && all.Stale > 0 {
				t.Errorf("%s: %d stale reads", change.what, all.Stale)
			}
		}
		courses = append(courses, c)
	}
	if picture := os.Getenv("PICTURE"); picture != "" {
		testenv.NoError(t, os.WriteFile(picture, []byte(draw(courses)), 0o644)) //nolint:gosec // a page shows it
	}
}

// noHandOver waits until no hand-over is running, and no pod terminates.
func noHandOver(t *testing.T, namespace string) {
	t.Helper()
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kept-proxy-nodes"}}
	testenv.Eventually(t, "no hand-over should be running", func(ctx context.Context) (bool, string, error) {
		err := suite.Client.Get(ctx, client.ObjectKeyFromObject(list), list)
		lines := list.Data["nodes"]
		return !strings.Contains(lines, "old ") && !strings.Contains(lines, "was "), lines, err
	})
	suite.NoneTerminates(t, namespace)
}

func pass(t *testing.T, seconds int) {
	t.Helper()
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	testenv.Eventually(t, "time should pass", func() bool { return time.Now().After(until) })
}

// draw returns an SVG picture of courses: for each the hit ratios second by second, of the cache that hands over in green.
func draw(courses []course) string {
	const width, height, left = 2, 60, 150
	longest := 0
	for _, c := range courses {
		longest = max(longest, len(c.seconds[0]))
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", left+width*longest+50, len(courses)*(height+20)+30)
	svg.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, c := range courses {
		top := i*(height+20) + 10
		fmt.Fprintf(&svg, `<text x="5" y="%d">%s</text>`+"\n", top+height/2, c.what)
		for _, line := range []int{0, 50, 100} {
			y := top + height - height*line/100
			fmt.Fprintf(&svg, `<path d="M%d %dh%d" stroke="#ddd"/><text x="%d" y="%d" fill="#888">%d %%</text>`+"\n", left, y, width*longest, left+width*longest+5, y+4, line)
		}
		fmt.Fprintf(&svg, `<path d="M%d %dv%d" stroke="#888" stroke-dasharray="3"/>`+"\n", left+width*c.at, top, height)
		for j, color := range []string{"#2a2", "#c22"} {
			var points []string
			for x, s := range c.seconds[j] {
				if s.Hits+s.Misses+s.Errors > 0 {
					points = append(points, fmt.Sprintf("%d,%.1f", left+width*x, float64(top+height)-height*s.Ratio()))
				}
			}
			fmt.Fprintf(&svg, `<polyline points="%s" fill="none" stroke="%s"/>`+"\n", strings.Join(points, " "), color)
		}
	}
	fmt.Fprintf(&svg, `<text x="%d" y="%d"><tspan fill="#2a2">hand-over</tspan>, <tspan fill="#c22">proxies alone</tspan>: the hit ratio, by seconds</text>`+"\n</svg>\n", left, len(courses)*(height+20)+20)
	return svg.String()
}
