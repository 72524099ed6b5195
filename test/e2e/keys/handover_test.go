// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/traffic"
)

// plannedChange is made to all Memcacheds of a namespace by a patch of their spec, and to a plain Deployment by kubectl.
type plannedChange struct {
	what string
	// like is the change before which the caches were as large as after this one; empty for this one.
	like string
	// spec and plain may be empty.
	spec  string
	plain []string
	// also is what else is done to namespace; nil for nothing.
	also func(t *testing.T, namespace string)
}

var plannedChanges = []plannedChange{
	{what: "another image", spec: `{"image":"` + cluster.Image + `"}`, plain: []string{"set", "image", "deployment/plain", "memcached=" + cluster.Image}},
	{what: "more memory", spec: `{"memory":"20Mi"}`, plain: []string{
		"patch", "deployment", "plain", "--type=json", `--patch=[{"op":"replace","path":"/spec/template/spec/containers/0/args/0","value":"--memory-limit=20"}]`,
	}},
	{what: "templates are edited", plain: []string{"patch", "deployment", "plain", "--patch=" + annotated}, also: editTemplates},
	{what: "a node is drained", also: func(t *testing.T, _ string) {
		drain(t)
		suite.Kubectl(t, "uncordon", "node2")
	}},
	{what: "size 3 becomes 4", spec: `{"size":4}`, plain: []string{"scale", "deployment/plain", "--replicas=4"}},
	{what: "size 4 becomes 3", like: "size 3 becomes 4", spec: `{"size":3}`, plain: []string{"scale", "deployment/plain", "--replicas=3"}},
}

// annotated is a patch of a Deployment that replaces its pods.
const annotated = `{"spec":{"template":{"metadata":{"annotations":{"example.com/changed":"1"}}}}}`

// editTemplates gives the operator of upgradeOperator a template that changes the pods of every Memcached.
func editTemplates(t *testing.T, namespace string) {
	site := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.Installed().Namespace, Name: "memcached-operator-site"},
		Data: map[string]string{"kustomization.yaml": `
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment, name: memcached}
  patch: '` + strings.Replace(annotated, "{", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"memcached"},`, 1) + `'
`},
	}
	suite.Create(t, site)
	t.Cleanup(func() { suite.Delete(t, site) })
	testenv.Eventually(t, "the operator should apply the template", func(ctx context.Context) (bool, error) {
		list := &appsv1.DeploymentList{}
		err := suite.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app": "memcached"})
		return !slices.ContainsFunc(list.Items, func(d appsv1.Deployment) bool {
			return d.Spec.Template.Annotations["example.com/changed"] == ""
		}), err
	})
}

// upgradeOperator installs the operator under test, with templates from a ConfigMap, over the one before it.
func upgradeOperator(t *testing.T, namespace string) {
	command := exec.CommandContext(t.Context(), "hack/installer.sh", suite.Image)
	command.Dir, command.Env = controlplane.Root(), append(os.Environ(), "SITE=true")
	objects, err := command.Output()
	testenv.NoError(t, err)
	suite.KubectlInput(t, string(objects), "apply", "--server-side", "--force-conflicts", "-f", "-")
	suite.Installed().Settled(t)
	suite.Installed().Applied(t, 2)
	for _, name := range []string{"kept", "lost"} {
		suite.Kubectl(t, "--namespace="+namespace, "rollout", "status", "deployment/"+name+"-proxy")
	}
}

func (c plannedChange) make(t *testing.T, mcs []*cachev1alpha1.Memcached) {
	t.Helper()
	namespace := mcs[0].Namespace
	if c.plain != nil {
		suite.Kubectl(t, append([]string{"--namespace=" + namespace}, c.plain...)...)
	}
	if c.also != nil {
		c.also(t, namespace)
	}
	for _, mc := range mcs {
		if c.spec != "" {
			suite.Patch(t, mc, `{"spec":`+c.spec+`}`)
		}
	}
	for _, mc := range mcs {
		settled(t, mc)
	}
	suite.Kubectl(t, "--namespace="+namespace, "rollout", "status", "deployment/plain")
	noHandOver(t, namespace)
}

// plain is a Deployment as one would write it, and a Service in front of it.
const plain = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: plain}
spec:
  replicas: 3
  selector: {matchLabels: {app: plain}}
  template:
    metadata: {labels: {app: plain}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 11211, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: memcached
        image: ` + sameImage + `
        args: [--memory-limit=16]
        ports: [{containerPort: 11211}]
        readinessProbe: {tcpSocket: {port: 11211}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: plain}
spec:
  selector: {app: plain}
  ports: [{port: 11211}]
`

// course is what an application saw of a change: the seconds from before on, of which the change is at at.
type course struct {
	what    string
	seconds [][]traffic.Second // by Memcached
	at      int
}

const (
	// margin is how long the applications run before each change and after it.
	margin = 20
	// Of 8000 keys with 8000 bytes each, 70 % fit in three pods of 16 MiB.
	keysInUse, valueBytes = 8000, 8000
	// In the 60 s of a hand-over, each key is asked for 5.6 times on average, as 100,000 keys are by 9,400 requests a second. On slow
	// machines, twice as many requests saturate two cores. Another rate is RATE: a number, or how busy the machine is to be, as 80%.
	defaultRate = 750
	// sameImage is another name of cluster.Image: proxies need at least 1.6.40, and the nodes have no other of these.
	sameImage = "memcached:1.6.45"
)

// TestHandOver_HidesPlannedChanges has three applications, each with a cache of its own in front of its database, through planned changes:
// one cache hands over, one has proxies alone, and one is a plain Deployment. It prints what the hit ratio loses.
func TestHandOver_HidesPlannedChanges(t *testing.T) {
	if suite.PreviousInstaller == "" {
		t.Skip("E2E_PREVIOUS_INSTALLER is not set: there is no version to upgrade from")
	}
	testenv.NoError(t, suite.ApplyFile(t.Context(), suite.PreviousInstaller))
	suite.Installed().Settled(t)
	namespace := suite.NewNamespace(t)
	n := newNode(t)
	var mcs []*cachev1alpha1.Memcached
	for i, name := range []string{"kept", "lost"} {
		seconds := []*int32{new(int32(60)), nil}[i]
		mcs = append(mcs, suite.NewMemcached(t, namespace, name, 3, func(spec *cachev1alpha1.MemcachedSpec) {
			spec.Image, spec.Memory = new(cachev1alpha1.Image(sameImage)), new(resource.MustParse("16Mi"))
			spec.Proxy = &cachev1alpha1.Proxy{HandoverSeconds: seconds}
		}))
	}
	loads := startLoads(t, n, mcs, rate(t, n, mcs))
	var courses []course
	measure := func(change plannedChange) {
		pass(t, 2*margin)
		var starts []int
		for _, load := range loads {
			starts = append(starts, len(load.Seconds())-margin)
		}
		change.make(t, mcs)
		pass(t, margin)
		c := course{what: change.what, at: margin}
		for i, load := range loads {
			seconds := load.Seconds()[starts[i]:]
			c.seconds = append(c.seconds, seconds)
			before := seconds[:margin]
			if like := slices.IndexFunc(courses, func(c course) bool { return c.what == change.like }); like >= 0 {
				before = courses[like].seconds[i][:margin]
			}
			dip, ratio, all := traffic.DipBelow(before, seconds[margin:]), traffic.Total(before).Ratio(), traffic.Total(seconds)
			t.Logf("| %s (%d s) | %s | %.1f %% | %.1f | %d | %d | %d |", change.what, len(seconds)-2*margin, cacheKinds[i], 100*ratio, dip.Points, dip.Seconds, all.Errors, all.Stale)
			if i == 0 && all.Stale > 0 {
				t.Errorf("%s: %d stale reads; its proxies count %s", change.what, all.Stale, n.counts(t, mcs[0]))
			}
		}
		courses = append(courses, c)
	}
	t.Log("| change | cache | hit ratio before | dip in points | seconds of more than a point | errors | stale reads |")
	pass(t, 2*margin)
	measure(plannedChange{what: "an operator upgrade", also: upgradeOperator})
	// The first hand-over takes a page of memory for good, a sixteenth of it here, for the empty items that take the places of copies.
	plannedChange{spec: `{"podMetadata":{"annotations":{"example.com/first":"1"}}}`, plain: []string{"rollout", "restart", "deployment/plain"}}.make(t, mcs)
	pass(t, 2*margin)
	for _, change := range plannedChanges {
		measure(change)
	}
	picture(t, "hand-over.svg", cacheKinds, courses)
}

// cacheKinds are what the loads of startLoads use.
var cacheKinds = []string{"hand-over", "proxies alone", "plain Deployment"}

// rate returns how many requests a second each of startLoads' applications has: RATE, or as many as keep that share of the machine busy.
func rate(t *testing.T, n *node, mcs []*cachev1alpha1.Memcached) int {
	t.Helper()
	text, isShare := strings.CutSuffix(cmp.Or(os.Getenv("RATE"), strconv.Itoa(defaultRate)), "%")
	value, err := strconv.Atoi(text)
	testenv.NoError(t, err)
	if !isShare {
		return value
	}
	for rate := defaultRate; ; rate = rate * 11 / 10 {
		loads := startLoads(t, n, mcs, rate)
		busy := busyPercent(t, 5)
		for _, load := range loads {
			load.Stop()
		}
		t.Logf("with %d requests a second and application the machine is busy for %d %% of the time", rate, busy)
		if busy >= value {
			return rate
		}
	}
}

// busyPercent returns for how much of some seconds the processors of the machine are busy.
func busyPercent(t *testing.T, seconds int) int {
	t.Helper()
	read := func() (busy, all int) {
		stat, err := os.ReadFile("/proc/stat")
		testenv.NoError(t, err)
		for i, field := range strings.Fields(string(stat))[1:9] { // of the first line, of all processors together
			ticks, err := strconv.Atoi(field)
			testenv.NoError(t, err)
			all += ticks
			if i != 3 && i != 4 { // idle, and waiting for a disk
				busy += ticks
			}
		}
		return busy, all
	}
	busyBefore, allBefore := read()
	pass(t, seconds)
	busy, all := read()
	return 100 * (busy - busyBefore) / (all - allBefore)
}

// startLoads starts an application for each of mcs and for a plain Deployment, once they are ready, with rate requests a second each.
func startLoads(t *testing.T, n *node, mcs []*cachev1alpha1.Memcached, rate int) (loads []*traffic.Load) {
	t.Helper()
	namespace := mcs[0].Namespace
	suite.KubectlInput(t, plain, "--namespace="+namespace, "apply", "-f", "-")
	for _, mc := range mcs {
		suite.Ready(t, mc)
	}
	suite.Kubectl(t, "--namespace="+namespace, "rollout", "status", "deployment/plain")
	for _, mc := range mcs {
		loads = append(loads, startLoad(t, n, mc.Status.Endpoint, rate))
	}
	return append(loads, startLoad(t, n, "plain."+namespace+".svc:11211", rate))
}

// startLoad starts an application that uses the cache at endpoint, with rate requests a second.
func startLoad(t *testing.T, n *node, endpoint string, rate int) *traffic.Load {
	t.Helper()
	host, port, err := net.SplitHostPort(endpoint)
	testenv.NoError(t, err)
	return traffic.Start(t.Context(), traffic.Options{Keys: keysInUse, ValueBytes: valueBytes, Rate: rate, Timeout: 5 * time.Second, Dial: func(ctx context.Context) (net.Conn, error) {
		addresses, err := n.lookUp(ctx, host)
		if err != nil || len(addresses) == 0 {
			return nil, fmt.Errorf("%s has the addresses %v: %w", host, addresses, err)
		}
		return n.dial(ctx, "tcp", net.JoinHostPort(addresses[0], port))
	}})
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

// picture draws courses of three kinds of caches into a file of the directory PICTURES, if that is set.
func picture(t *testing.T, name string, kinds []string, courses []course) {
	t.Helper()
	if directory := os.Getenv("PICTURES"); directory != "" {
		testenv.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(draw(kinds, courses)), 0o644)) //nolint:gosec // a page shows it
	}
}

// draw returns an SVG picture of courses: for each the hit ratios second by second, from 50 % on.
func draw(kinds []string, courses []course) string {
	const height, left = 60, 150
	longest := 0
	for _, c := range courses {
		longest = max(longest, len(c.seconds[0]))
	}
	width := max(2, 450/longest) // of a second; the legend takes 450
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", left+width*longest+50, len(courses)*(height+20)+30)
	svg.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	colors := []string{"#292", "#c22", "#88f"}
	for i, c := range courses {
		top := i*(height+20) + 10
		fmt.Fprintf(&svg, `<text x="5" y="%d">%s</text>`+"\n", top+height/2, c.what)
		for _, percent := range []int{50, 75, 100} {
			y := top + (100-percent)*height/50
			fmt.Fprintf(&svg, `<path d="M%d %dh%d" stroke="#ddd"/><text x="%d" y="%d" fill="#888">%d %%</text>`+"\n", left, y, width*longest, left+width*longest+5, y+4, percent)
		}
		fmt.Fprintf(&svg, `<path d="M%d %dv%d" stroke="#888" stroke-dasharray="3"/>`+"\n", left+width*c.at, top, height)
		for j, color := range slices.Backward(colors) {
			var points []string
			for x, s := range c.seconds[j][:len(c.seconds[j])-1] {
				if s.Hits+s.Misses+s.Errors > 0 {
					points = append(points, fmt.Sprintf("%d,%.1f", left+width*x, float64(top)+2*height*(1-max(s.Ratio(), 0.5))))
				}
			}
			fmt.Fprintf(&svg, `<polyline points="%s" fill="none" stroke="%s"/>`+"\n", strings.Join(points, " "), color)
		}
	}
	fmt.Fprintf(&svg, `<text x="5" y="%d">The hit ratio by seconds:`, len(courses)*(height+20)+20)
	for i, kind := range kinds {
		fmt.Fprintf(&svg, ` <tspan fill="%s">%s</tspan>`, colors[i], kind)
	}
	svg.WriteString("</text>\n</svg>\n")
	return svg.String()
}
