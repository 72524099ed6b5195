// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/largest"
	"github.com/example/memcached-operator/test/testenv"
)

var fromFlag = flag.String("from", "", "commit whose operator TestUpgrade_RollsNoPod upgrades from; by default that of hack/upgrade-from")

const (
	// upgraded is how many Memcacheds are upgraded, and every staleEvery-th of them loses a
	// label of its nodeSelector, which old operators leave in the Deployment unless something
	// else makes them apply it.
	upgraded   = 100
	staleEvery = 10
	// upgradeQuiet is how long an operator must write nothing to count as done.
	upgradeQuiet = 5 * time.Second
)

// images are those of the Memcacheds: of each form that has a pull policy of its own.
var images = []cachev1alpha1.Image{
	"memcached", "memcached:latest", "memcached:1.6", "example.com:5000/a/memcached", "memcached@sha256:" + cachev1alpha1.Image(strings.Repeat("a", 64)),
	"memcached:latest@sha256:" + cachev1alpha1.Image(strings.Repeat("a", 64)),
}

// upgradeFrom returns the commit to upgrade from.
func upgradeFrom(t *testing.T) string {
	t.Helper()
	if *fromFlag != "" {
		return *fromFlag
	}
	if testing.Short() {
		t.Skip("make e2e upgrades from the same commit")
	}
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), "hack", "upgrade-from"))
	testenv.NoError(t, err)
	return strings.TrimSpace(string(content))
}

// TestUpgrade_RollsNoPod upgrades the operator of an earlier commit, under Memcacheds of random
// fields. No ReplicaSet may be new, except of those Memcacheds that the events name which
// docs/user/upgrade.md lists.
func TestUpgrade_RollsNoPod(t *testing.T) {
	from := upgradeFrom(t)
	figure := measure(t, "an upgrade rolls no pod, save where the old operator left something behind")
	namespace := suite.NewNamespace(t)
	o := startOperator(t, "--watch-namespaces="+namespace)
	o.process.Terminate(t)
	current := suite.Binary
	t.Cleanup(func() { suite.Binary = current })
	suite.Binary = buildCommit(t, from)
	o.restart()
	o.process.Ready(t)

	random := rand.New(rand.NewPCG(11, 0))
	for i := range upgraded {
		create(t, func() *cachev1alpha1.Memcached {
			mc := &cachev1alpha1.Memcached{Spec: randomSpec(random)}
			mc.Namespace, mc.Name = namespace, fmt.Sprintf("cache-%03d", i)
			if i%staleEvery == 0 {
				mc.Spec.NodeSelector = map[string]cachev1alpha1.LabelValue{"a": "b", "c": "d"}
			}
			return mc
		})
	}
	o.quiet(t, namespace, upgradeQuiet)
	for i := 0; i < upgraded; i += staleEvery {
		mc := &cachev1alpha1.Memcached{}
		mc.Namespace, mc.Name = namespace, fmt.Sprintf("cache-%03d", i)
		edit(t, mc, func(spec *cachev1alpha1.MemcachedSpec) { delete(spec.NodeSelector, "c") })
	}
	o.quiet(t, namespace, upgradeQuiet)
	stale := staleDeployments(t, namespace)
	o.process.Terminate(t)
	before := replicaSets(t, namespace)
	testenv.NoError(t, suite.Client.DeleteAllOf(t.Context(), &eventsv1.Event{}, client.InNamespace(namespace)))

	suite.Binary = current
	o.restart()
	o.process.Ready(t)
	o.quiet(t, namespace, upgradeQuiet)
	after := replicaSets(t, namespace)
	listed := changedByUpgrade(t, namespace)
	rolled := 0
	for name, sets := range after {
		if maps.Equal(sets, before[name]) {
			continue
		}
		rolled++
		if !listed[name] || !stale[name] {
			t.Errorf("the pods of %s were replaced; listed by its events: %v, left behind by the old operator: %v\n%s",
				name, listed[name], stale[name], testenv.State{name: templates(sets)}.Diff(testenv.State{name: templates(before[name])}))
		}
	}
	if len(after) != upgraded || rolled != len(stale) {
		t.Errorf("%d Deployments, %d rolled out, %d left behind by the old operator", len(after), rolled, len(stale))
	}
	figure.set("%d Memcacheds, %d of them stale: %d rolled out, %d listed", upgraded, len(stale), rolled, len(listed))
}

// staleDeployments returns the Deployments that still have the removed key of the node selector.
func staleDeployments(t *testing.T, namespace string) map[string]bool {
	t.Helper()
	stale := map[string]bool{}
	deployments := &appsv1.DeploymentList{}
	testenv.NoError(t, suite.Client.List(t.Context(), deployments, client.InNamespace(namespace)))
	for _, deployment := range deployments.Items {
		if _, ok := deployment.Spec.Template.Spec.NodeSelector["c"]; ok {
			stale[deployment.Name] = true
		}
	}
	return stale
}

// buildCommit builds the operator of a commit and returns the program's path.
func buildCommit(t *testing.T, commit string) string {
	t.Helper()
	dir := t.TempDir()
	sources, program := filepath.Join(dir, "sources"), filepath.Join(dir, "memcached-operator")
	for _, command := range []*exec.Cmd{
		exec.CommandContext(t.Context(), "git", "-C", controlplane.Root(), "worktree", "add", "--detach", sources, commit),
		exec.CommandContext(t.Context(), "go", "build", "-C", sources, "-o", program, "."),
		exec.CommandContext(t.Context(), "git", "-C", controlplane.Root(), "worktree", "remove", "--force", sources),
	} {
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, output)
		}
	}
	return program
}

// maxSpec is the largest spec that is created, in bytes as JSON; the operator refuses those
// beyond 64 KiB.
const maxSpec = 60 << 10

// create creates the first Memcached of generate that is valid: some fields need others.
func create(t *testing.T, generate func() *cachev1alpha1.Memcached) {
	t.Helper()
	for range 100 {
		mc := generate()
		content, err := json.Marshal(mc.Spec)
		testenv.NoError(t, err)
		if len(content) > maxSpec {
			continue
		}
		err = suite.Client.Create(t.Context(), mc)
		if err == nil {
			return
		}
		if !apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
	}
	t.Fatal("no valid Memcached was found")
}

// randomSpec returns a spec of size 1 with about a third of all fields at their bounds.
func randomSpec(random *rand.Rand) cachev1alpha1.MemcachedSpec {
	spec := largest.Spec()
	for _, field := range reflect.ValueOf(&spec).Elem().Fields() {
		if random.IntN(3) != 0 { // With more, most are larger than a spec may be.
			field.SetZero()
		}
	}
	spec.Size = new(int32(1))
	spec.Rollout = nil // earlier operators have none
	// The largest image's name is too long for a registry, and for Kubernetes' default of the pull policy.
	image := func() *cachev1alpha1.Image { return new(images[random.IntN(len(images))]) }
	if spec.Image != nil {
		spec.Image = image()
	}
	if spec.Metrics != nil {
		spec.Metrics.Image = image()
	}
	return spec
}

// replicaSets returns the ReplicaSets of each Deployment in namespace, as the pod templates by
// their names.
func replicaSets(t *testing.T, namespace string) map[string]testenv.State {
	t.Helper()
	list := &appsv1.ReplicaSetList{}
	sets := map[string]testenv.State{}
	testenv.NoError(t, suite.Client.List(t.Context(), list, client.InNamespace(namespace)))
	for _, set := range list.Items {
		text, err := yaml.Marshal(set.Spec.Template)
		testenv.NoError(t, err)
		owner := set.OwnerReferences[0].Name
		if sets[owner] == nil {
			sets[owner] = testenv.State{}
		}
		sets[owner][set.Name] = string(text)
	}
	return sets
}

// templates returns the pod templates of sets.
func templates(sets testenv.State) string {
	return strings.Join(slices.Sorted(maps.Values(sets)), "")
}

// changedByUpgrade returns the Memcacheds that have an event of type Normal, as the command in
// docs/user/upgrade.md lists them.
func changedByUpgrade(t *testing.T, namespace string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	list := &eventsv1.EventList{}
	testenv.NoError(t, suite.Client.List(t.Context(), list, client.InNamespace(namespace)))
	for _, event := range list.Items {
		if event.Type == "Normal" && event.ReportingController == "memcached-operator" {
			names[event.Regarding.Name] = true
		}
	}
	t.Logf("the upgrade changed %v", slices.Sorted(maps.Keys(names)))
	return names
}
