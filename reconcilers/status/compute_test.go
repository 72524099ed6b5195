// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/sanitize"
)

const (
	selector = "app=memcached,memcached_cr=cache"
	endpoint = "cache.shop.svc:11211"
	image    = "memcached:1.6.45"
)

var names = []string{"cache-a", "cache-b", "cache-c"}

// statusWith returns a status without conditions.
func statusWith(nodes []string, replicas, readyReplicas int32, podsReady, selector, endpoint, image string) cachev1alpha1.MemcachedStatus {
	return cachev1alpha1.MemcachedStatus{
		Nodes: nodes, Replicas: &replicas, ReadyReplicas: &readyReplicas, PodsReady: podsReady,
		Selector: selector, Endpoint: endpoint, Image: image, ObservedGeneration: 7,
	}
}

// hadDeployment sets the last status to one that has the selector and the image of a Deployment.
func hadDeployment(o *Observation) {
	o.Memcached.Status.Selector, o.Memcached.Status.Image = selector, image
}

// observedStates are observations and their statuses without conditions.
var observedStates = map[string]struct {
	given given
	want  cachev1alpha1.MemcachedStatus
}{
	"sorts nodes": {nil, statusWith(names, 3, 3, "3/3", selector, endpoint, image)},
	"excludes pods that are being deleted from nodes": {
		podIs("cache-b", terminating), statusWith([]string{"cache-a", "cache-c"}, 3, 3, "3/3", selector, endpoint, image),
	},
	"has no nodes without pods": {noPods, statusWith(nil, 3, 3, "3/3", selector, endpoint, image)},
	"has the replicas of the Deployment, of any revision, and no surplus pod in podsReady": {
		counted(5, 2, 4, 3), statusWith(names, 5, 4, "3/3", selector, endpoint, image),
	},
	"counts ready pods": {
		oneMissing, statusWith(names, 3, 2, "2/3", selector, endpoint, image),
	},
	"counts no pods at size 0": {
		all(size0, noPods, counted(0, 0, 0, 0)), statusWith(nil, 0, 0, "0/0", selector, endpoint, image),
	},
	"has the port of the spec in the endpoint": {
		func(o *Observation) { o.Memcached.Spec.ContainerPort = new(int32(22122)) },
		statusWith(names, 3, 3, "3/3", selector, "cache.shop.svc:22122", image),
	},
	"has port 11211 by default": {
		func(o *Observation) { o.Memcached.Spec.ContainerPort = nil }, statusWith(names, 3, 3, "3/3", selector, endpoint, image),
	},
	"has the image of the container memcached": {
		func(o *Observation) { o.Deployment.Spec.Template.Spec.Containers[1].Image = "other:2" },
		statusWith(names, 3, 3, "3/3", selector, endpoint, "other:2"),
	},
	"has no replicas without a Deployment": {
		all(noDeployment, noPods), statusWith(nil, 0, 0, "0/3", "", endpoint, ""),
	},
	"keeps selector and image without a Deployment": {
		all(noDeployment, hadDeployment), statusWith(names, 0, 0, "0/3", selector, endpoint, image),
	},
	"keeps replicas and nodes on a render error": {
		all(hadDeployment, renderError("x")), statusWith(names, 3, 3, "3/3", selector, endpoint, image),
	},
	"has no replicas with a Deployment of another owner": {
		all(foreign("Deployment"), noDeployment, noPods), statusWith(nil, 0, 0, "0/3", "", endpoint, ""),
	},
}

func TestCompute_ReportsObservedState(t *testing.T) {
	t.Parallel()
	for sentence, test := range observedStates {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := Compute(observed(test.given))
			got.Conditions, got.LastReadySpec = nil, ""
			if !equality.Semantic.DeepEqual(got, test.want) {
				t.Errorf("the status is\n%+v, want\n%+v", got, test.want)
			}
		})
	}
}

func TestCompute_SetsObservedGenerationOfConditions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o Observation, got cachev1alpha1.MemcachedStatus) {
		for _, c := range got.Conditions {
			if c.ObservedGeneration != o.Memcached.Generation {
				t.Errorf("%s names generation %d, want %d", c.Type, c.ObservedGeneration, o.Memcached.Generation)
			}
		}
	})
}

func TestCompute_KeepsTransitionTimes(t *testing.T) {
	t.Parallel()
	settled := []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"},
		{Type: "Available", Status: metav1.ConditionTrue, Reason: "MinimumPodsReady"},
	}
	busy := []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "RollingOut"},
		{Type: "Available", Status: metav1.ConditionTrue, Reason: "MinimumPodsReady"},
		{Type: "Reconciling", Status: metav1.ConditionTrue, Reason: "RollingOut"},
	}
	const kept, moved = "kept", "moved"
	for sentence, test := range map[string]struct {
		given given
		want  map[string]string
	}{
		"sets the time in the first status":   {nil, map[string]string{"Ready": moved, "Available": moved}},
		"keeps the time when nothing changed": {lasted(settled...), map[string]string{"Ready": kept, "Available": kept}},
		"sets the time when a rollout begins": {
			all(lasted(settled...), oneMissing),
			map[string]string{"Ready": moved, "Available": kept, "Reconciling": moved},
		},
		"keeps the time when only the message changes": {
			all(lasted(busy...), oneMissing),
			map[string]string{"Ready": kept, "Available": kept, "Reconciling": kept},
		},
		"sets the time when a rollout stalls": {
			all(lasted(busy...), oneMissing, deadlinePassed),
			map[string]string{"Ready": kept, "Available": kept, "Stalled": moved},
		},
		"sets the time when a rollout ends": {lasted(busy...), map[string]string{"Ready": moved, "Available": kept}},
		"sets the time when too few pods are available": {
			all(lasted(busy...), counted(3, 3, 1, 1)),
			map[string]string{"Ready": kept, "Available": moved, "Reconciling": kept},
		},
		"ignores a condition that the operator does not set": {
			all(lasted(settled...), lasted(metav1.Condition{Type: "Degraded", Status: metav1.ConditionFalse, Reason: "x"})),
			map[string]string{"Ready": kept, "Available": kept},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, c := range Compute(observed(test.given)).Conditions {
				switch {
				case c.LastTransitionTime.Time.Equal(now.Truncate(time.Second)):
					got[c.Type] = moved
				case c.LastTransitionTime.Time.Equal(now.Add(-time.Hour).Truncate(time.Second)):
					got[c.Type] = kept
				default:
					got[c.Type] = c.LastTransitionTime.String()
				}
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("the times are %v, want %v", got, test.want)
			}
		})
	}
}

func TestCompute_TruncatesMessagesBetweenCharacters(t *testing.T) {
	t.Parallel()
	// Characters of two bytes, one of three at the end: some lengths cut one apart.
	for extra := range 5 {
		text := strings.Repeat("x", extra) + words(300)
		got := meta.FindStatusCondition(Compute(observed(renderError(text))).Conditions, cachev1alpha1.ConditionReady).Message
		if len(got) > sanitize.MaxBytes || len(got) < sanitize.MaxBytes-len("ä") || !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid UTF-8: %t", len(got), utf8.ValidString(got))
		}
		if clipped, ok := strings.CutSuffix(got, "…"); !ok || !strings.HasPrefix(text, clipped) {
			t.Errorf("it is not the beginning of the message: %q", got)
		}
	}
	exact := strings.Repeat("x", sanitize.MaxBytes)
	if got := Compute(observed(renderError(exact))).Conditions[0].Message; got != exact {
		t.Errorf("a message of %d bytes becomes one of %d", sanitize.MaxBytes, len(got))
	}
	// JSON has no place for other bytes; what is stored would differ for ever.
	if got := Compute(observed(renderError("a\xffb"))).Conditions[0].Message; got != `a\xffb` {
		t.Errorf("invalid UTF-8 becomes %q", got)
	}
}

// everywhere tests the status of every row of all tables, with and without a last status.
func everywhere(t *testing.T, test func(t *testing.T, o Observation, got cachev1alpha1.MemcachedStatus)) {
	t.Helper()
	tables := maps.Clone(evaluations)
	maps.Copy(tables, rollouts)
	for _, sentence := range slices.Sorted(maps.Keys(tables)) {
		t.Run(sentence, func(t *testing.T) {
			o := observed(tables[sentence].given)
			test(t, o, Compute(o))
			o.Memcached.Status = Compute(observed(waits("cache-a", "ErrImagePull", "x")))
			test(t, o, Compute(o))
		})
	}
}

func TestCompute_IsStable(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o Observation, got cachev1alpha1.MemcachedStatus) {
		o.Memcached = o.Memcached.DeepCopy()
		o.Memcached.Status = *got.DeepCopy()
		if o.RecheckAfter() == 0 {
			o.Now = o.Now.Add(time.Hour)
		}
		slices.Reverse(o.Pods)
		if again := Compute(o); !equality.Semantic.DeepEqual(again, got) {
			t.Errorf("the status changes from\n%+v to\n%+v", got, again)
		}
	})
}

func TestCompute_SharesNoMemoryWithInput(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o Observation, got cachev1alpha1.MemcachedStatus) {
		before := copyOf(o)
		for i := range got.Nodes {
			got.Nodes[i] = "changed"
		}
		got.Nodes = append(got.Nodes, "more")
		*got.Replicas, *got.ReadyReplicas = -1, -1
		for i := range got.Conditions {
			got.Conditions[i] = metav1.Condition{Type: "changed"}
		}
		if !reflect.DeepEqual(copyOf(o), before) {
			t.Error("changing the status changes what it was computed from")
		}
	})
}

func TestCompute_DoesNotChangeInput(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o Observation, _ cachev1alpha1.MemcachedStatus) {
		before := copyOf(o)
		Compute(o)
		if !reflect.DeepEqual(copyOf(o), before) {
			t.Error("Compute changes its input")
		}
	})
}

// copyOf returns a deep copy of what o points to.
func copyOf(o Observation) []any {
	result := []any{o.Memcached.DeepCopy(), o.Deployment.DeepCopy()}
	for _, pod := range o.Pods {
		result = append(result, pod.DeepCopy())
	}
	for _, r := range o.Results {
		result = append(result, r.Object.DeepCopy(), r.Action)
	}
	return result
}
