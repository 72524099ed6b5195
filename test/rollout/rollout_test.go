// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

var memcachedsFlag = flag.Int("memcacheds", 30, "how many Memcacheds TestRollOut_SurvivesCrashes rolls out")

// watcher follows the Deployments of a fleet.
type watcher struct {
	mu sync.Mutex
	// replacing are the Deployments that replace pods, atOnce is their maximum number, and changes counts the
	// changes of each pod template.
	replacing map[string]bool
	atOnce    int
	changes   map[string]int
	templates map[string]corev1.PodTemplateSpec
}

// watch follows the Deployments until the test ends.
func (f *fleet) watch() *watcher {
	f.t.Helper()
	w := &watcher{replacing: map[string]bool{}, changes: map[string]int{}, templates: map[string]corev1.PodTemplateSpec{}}
	list := &appsv1.DeploymentList{}
	testenv.NoError(f.t, suite.Client.List(f.t.Context(), list, client.InNamespace(f.namespace)))
	for i := range list.Items {
		w.observe(&list.Items[i])
	}
	clear(w.changes)
	watching, err := client.NewWithWatch(suite.Config, client.Options{Scheme: suite.Client.Scheme()})
	testenv.NoError(f.t, err)
	events, err := watching.Watch(f.t.Context(), list, client.InNamespace(f.namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	testenv.NoError(f.t, err)
	go func() {
		for event := range events.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				w.observe(d)
			}
		}
	}()
	f.t.Cleanup(events.Stop)
	return w
}

func (w *watcher) observe(d *appsv1.Deployment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !reflect.DeepEqual(w.templates[d.Name], d.Spec.Template) {
		w.templates[d.Name] = d.Spec.Template
		w.changes[d.Name]++
	}
	delete(w.replacing, d.Name)
	size := ptr.Deref(d.Spec.Replicas, 1)
	if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas < size || s.ReadyReplicas < size || s.Replicas > size {
		w.replacing[d.Name] = true
	}
	w.atOnce = max(w.atOnce, len(w.replacing))
}

// changed returns how many pod templates changed.
func (w *watcher) changed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes)
}

// TestRollOut_SurvivesCrashes edits a component that two thirds of the Memcacheds have: `memcached-operator diff` names
// them, and their pods are replaced once each, although the operator is killed twice.
func TestRollOut_SurvivesCrashes(t *testing.T) {
	t.Parallel()
	sizes := make([]int32, *memcachedsFlag)
	for i := range sizes {
		sizes[i] = int32(1 + i%2)
	}
	f := newFleet(t, max(2, len(sizes)/10), sizes...)
	want := map[string]int{}
	for i := range sizes {
		if i%3 > 0 {
			suite.Patch(t, testenv.Memcached(f.namespace, name(i), 0), `{"spec": {"threads": 2}}`)
			want[name(i)] = 1
		}
	}
	f.settled()
	files := f.withThreads("second")
	f.expectDiff(files, slices.Sorted(maps.Keys(want)))
	watched := f.watch()
	f.write(files)
	for killed := range 2 {
		testenv.Eventually(t, "a third should be changed", func() bool { return watched.changed() >= (killed+1)*len(want)/3 })
		f.operator.Kill()
		f.start()
	}
	testenv.Eventually(t, "all should be changed", func() bool { return watched.changed() >= len(want) })
	f.settled()
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if watched.atOnce > f.maxRolling {
		t.Errorf("%d Deployments replaced pods at once, at most %d may", watched.atOnce, f.maxRolling)
	}
	if !maps.Equal(watched.changes, want) {
		t.Errorf("the pod templates changed %v times, want %v", watched.changes, want)
	}
}

// withThreads returns the files in use with an annotation of this value on the pods of the Memcacheds with spec.threads.
func (f *fleet) withThreads(value string) map[string]string {
	f.t.Helper()
	const threads = "components/threads/kustomization.yaml"
	shipped, err := manifests.FS.ReadFile(threads)
	testenv.NoError(f.t, err)
	patch := "{template: {metadata: {annotations: {example.com/threads: " + value + "}}}}"
	_, patches, _ := strings.Cut(component(patch), "patches:")
	return map[string]string{site: annotated("first"), threads: string(shipped) + "patches:" + patches}
}

// expectDiff expects that diff names these Memcacheds as those whose pods files would replace.
func (f *fleet) expectDiff(files map[string]string, names []string) {
	f.t.Helper()
	dir := f.t.TempDir()
	for name, content := range files {
		testenv.WriteFile(f.t, filepath.Join(dir, name), content)
	}
	command := exec.CommandContext(f.t.Context(), suite.Binary, "diff", "--kubeconfig="+suite.Kubeconfig, "--namespace="+f.namespace, "--manifests-dir="+dir, "--summary")
	output, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != 1 {
		f.t.Fatalf("diff: %v\n%s", err, output)
	}
	_, table, _ := strings.Cut(string(output), "BECAUSE OF\n")
	var named []string
	for line := range strings.Lines(table) {
		named = append(named, strings.Fields(line)[1])
	}
	if !slices.Equal(named, names) {
		f.t.Errorf("diff names %q, want %q:\n%s", named, names, output)
	}
}

// broken is a patch with which no pod can be scheduled, and whose roll-outs fail after seconds.
const broken = "{progressDeadlineSeconds: 2, template: {spec: {nodeSelector: {no: node}}}}"

func TestRollOut_HaltsWhenOneIsStalled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, 2, 1, 1, 1)
	f.edit("broken", broken)
	isStalled := func(mc *cachev1alpha1.Memcached) bool {
		return meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionStalled)
	}
	isHalted := func(mc *cachev1alpha1.Memcached) bool {
		return strings.HasSuffix(meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady).Message,
			" done), which is halted because a Memcached became stalled")
	}
	f.memcached(1, "should be stalled", isStalled)
	for _, i := range []int{0, 2, 3} {
		if mc := f.memcached(i, "should wait", isHalted); !meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady) {
			t.Errorf("%s is not ready while it waits: %+v", mc.Name, mc.Status)
		}
	}
	f.expectEdits("first", "broken", "first", "first")
	f.expectEvent("RolloutHalted", name(1))
	f.expectPage(name(0), name(1), name(2), name(3))

	// What does not wait. A change of the size brings no other change with it.
	suite.Patch(t, testenv.Memcached(f.namespace, name(2), 0), `{"spec": {"size": 2}}`)
	testenv.EventuallyObject(t, &suite, suite.Deployment(t, f.namespace, name(2)), "scaled", func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 2 })
	f.memcached(2, "should wait", func(mc *cachev1alpha1.Memcached) bool { return *mc.Status.Replicas == 2 && isHalted(mc) })
	f.expectEdits("first", "broken", "first", "first")
	suite.Patch(t, testenv.Memcached(f.namespace, name(2), 0), `{"spec": {"threads": 2}}`)
	f.eventuallyEdits("first", "broken", "broken", "first")
	suite.Patch(t, suite.Deployment(t, f.namespace, name(3)), `{"spec": {"template": {"metadata": {"annotations": {"example.com/edit": "foreign"}}}}}`)
	f.eventuallyEdits("first", "broken", "broken", "broken")

	// A restart changes nothing; corrected templates are applied first where they are needed.
	f.operator.Kill()
	f.start()
	f.memcached(0, "should wait", isHalted)
	f.expectEdits("first", "broken", "broken", "broken")
	watched := f.watch()
	f.edit("corrected")
	f.eventuallyEdits("corrected", "corrected", "corrected", "corrected")
	f.settled()
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if watched.changes[name(0)] != 1 {
		t.Errorf("the pods of the one that waited were replaced %d times", watched.changes[name(0)])
	}
}

func (f *fleet) expectEdits(want ...string) {
	f.t.Helper()
	if got := f.edits(); !slices.Equal(got, want) {
		f.t.Errorf("the edits are %q, want %q", got, want)
	}
}

func (f *fleet) eventuallyEdits(want ...string) {
	f.t.Helper()
	testenv.Eventually(f.t, fmt.Sprintf("the edits should be %q", want), func() bool { return slices.Equal(f.edits(), want) })
}

// expectEvent waits for an event of this reason, and expects that all are about one Memcached. There is a second event where the
// Deployment got its pods only after its deadline: it goes on then, and passes its deadline again.
func (f *fleet) expectEvent(reason, about string) {
	f.t.Helper()
	testenv.Eventually(f.t, "there should be an event "+reason, func(ctx context.Context) (bool, error) {
		events := &eventsv1.EventList{}
		err := suite.Client.List(ctx, events, client.InNamespace(f.namespace), client.MatchingFields{"reason": reason})
		isOther := func(event eventsv1.Event) bool { return event.Regarding.Name != about }
		return len(events.Items) > 0 && !slices.ContainsFunc(events.Items, isOther), err
	})
}

// expectPage runs the commands of docs/user/upgrade.md that list what waits and what halted it, and expects these names.
func (f *fleet) expectPage(names ...string) {
	f.t.Helper()
	command := exec.CommandContext(f.t.Context(), "bash", "-euo", "pipefail", "-c", pages.Shell(f.t, "docs/user/upgrade.md")[3].Content)
	command.Env = append(os.Environ(), "KUBECONFIG="+suite.Kubeconfig, "KUBECACHEDIR="+f.t.TempDir(),
		"PATH="+filepath.Join(controlplane.Root(), "bin", "kube")+string(os.PathListSeparator)+os.Getenv("PATH"))
	output, err := command.CombinedOutput()
	for _, name := range names {
		if err != nil || !strings.Contains(string(output), name) {
			f.t.Fatalf("the page's commands do not list %s: %v\n%s", name, err, output)
		}
	}
}
