// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a Deployment with its ReplicaSets and pods, and what their controllers and the kubelet do to them.
type world struct {
	Observed
	next int // of names
}

func spec(image string) corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "reloader", Image: image}},
		Containers:     []corev1.Container{{Name: "memcached", Image: image}, {Name: "exporter", Image: "exporter:1"}},
	}
}

func newWorld(size int32, image, target string) *world {
	w := &world{Observed: Observed{
		Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "cache", UID: "d", Generation: 1}},
		Images:     Images(spec(target)),
		Now:        start,
	}}
	w.Deployment.Spec.Replicas, w.Deployment.Status.ObservedGeneration = &size, 1
	w.Deployment.Spec.Template.Spec = spec(image)
	w.addSet(size, image)
	for range size {
		w.addPod(&w.ReplicaSets[0])
	}
	w.Now = w.Now.Add(time.Minute)
	return w
}

func controlledBy(kind, name string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, UID: uid, Controller: new(true)}}}
}

func (w *world) addSet(size int32, image string) {
	w.next++
	set := appsv1.ReplicaSet{ObjectMeta: controlledBy("Deployment", "cache", "d")}
	set.Name, set.UID, set.Generation = fmt.Sprint("cache-", w.next), types.UID(fmt.Sprint("set-", w.next)), 1
	set.Spec.Replicas, set.Status.ObservedGeneration = &size, 1
	set.Spec.Template.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: set.Name}
	set.Spec.Template.Spec = spec(image)
	w.ReplicaSets = append(w.ReplicaSets, set)
}

func (w *world) addPod(set *appsv1.ReplicaSet) {
	w.next++
	pod := corev1.Pod{ObjectMeta: controlledBy("ReplicaSet", set.Name, set.UID), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Name = fmt.Sprint("pod-", w.next)
	w.Pods = append(w.Pods, pod)
	w.run(&w.Pods[len(w.Pods)-1])
}

// run is what the kubelet does: it starts the containers with their images, and the pod is ready.
func (w *world) run(pod *corev1.Pod) {
	w.next++
	pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = nil, nil
	for _, c := range pod.Spec.InitContainers {
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ContainerID: fmt.Sprint(c.Name, w.next)})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ContainerID: fmt.Sprint(c.Name, w.next)})
	}
	w.setReady(pod, corev1.ConditionTrue)
}

func (w *world) setReady(pod *corev1.Pod, status corev1.ConditionStatus) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(w.Now)}}
}

func isReady(pod *corev1.Pod) bool { return pod.Status.Conditions[0].Status == corev1.ConditionTrue }

// runsImages reports whether the containers of pod run with its images.
func runsImages(pod *corev1.Pod) bool {
	images := Images(pod.Spec)
	return !slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool { return s.Image != images[s.Name] })
}

// do does what step says. It fails if that may take a second pod out of service.
func (w *world) do(t *testing.T, step Step) {
	t.Helper()
	switch {
	case step.Pause:
		w.Deployment.Spec.Paused = true
		w.Deployment.Generation++
	case step.Pod != nil:
		serves := isReady(step.Pod) && runsImages(step.Pod)
		for i := range w.Pods {
			if other := &w.Pods[i]; serves && other.Name != step.Pod.Name && (!isReady(other) || !runsImages(other)) {
				t.Fatalf("%s is changed while %s is not settled", step.Pod.Name, other.Name)
			}
		}
		images := w.Outdated(step.Pod.Spec)
		step.Pod.Annotations = map[string]string{ReplacedAnnotation: Running(step.Pod)}
		setImages(&step.Pod.Spec, images)
	case step.ReplicaSet != nil:
		if w.Deployment.Status.ObservedGeneration != w.Deployment.Generation {
			t.Fatal("a ReplicaSet is changed whose Deployment goes on")
		}
		setImages(&step.ReplicaSet.Spec.Template.Spec, w.Images)
		step.ReplicaSet.Generation++
	case step.Delete != nil:
		w.ReplicaSets = slices.DeleteFunc(w.ReplicaSets, func(set appsv1.ReplicaSet) bool { return set.UID == step.Delete.UID })
	}
}

func setImages(pod *corev1.PodSpec, images map[string]string) {
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i, c := range list {
			if image, ok := images[c.Name]; ok {
				list[i].Image = image
			}
		}
	}
}

// turn does one thing that happens in a cluster.
func (w *world) turn(random *rand.Rand) {
	set := &w.ReplicaSets[slices.IndexFunc(w.ReplicaSets, func(set appsv1.ReplicaSet) bool { return *set.Spec.Replicas > 0 })]
	switch random.IntN(9) {
	case 0:
		w.Deployment.Status.ObservedGeneration = w.Deployment.Generation
	case 1:
		set.Status.ObservedGeneration = set.Generation
	case 2:
		if len(w.Pods) > 0 && random.IntN(8) == 0 {
			w.Pods = slices.Delete(w.Pods, 0, 1)
		}
	case 3:
		if len(w.Pods) < int(*w.Deployment.Spec.Replicas) {
			w.addPod(set)
		}
	case 4, 5, 6:
		if len(w.Pods) == 0 {
			break
		}
		switch pod := &w.Pods[random.IntN(len(w.Pods))]; {
		case isReady(pod) && !runsImages(pod):
			w.setReady(pod, corev1.ConditionFalse)
		case !isReady(pod):
			w.run(pod)
		case random.IntN(20) == 0:
			w.setReady(pod, corev1.ConditionFalse)
		}
	default:
		w.Now = w.Now.Add(time.Duration(random.IntN(10)) * time.Second)
	}
}

// TestNext_ReachesTheEnd: whatever happens, and whenever an operator ends and another one goes on, the images reach every pod, no
// other pod leaves the service meanwhile, and the Deployment finds one ReplicaSet with its template.
func TestNext_ReachesTheEnd(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(1+random.Int32N(4), "memcached:1", "memcached:2")
		w.addSet(0, "memcached:2") // of an earlier roll-out
		for turns := 0; ; turns++ {
			if turns == 20 && seed%3 == 0 { // The user thinks better of it.
				w.Images = Images(spec("memcached:1"))
			}
			step := Next(w.Observed)
			if step.Refused != "" || turns == 5000 {
				t.Fatalf("seed %d, turn %d: %+v", seed, turns, step)
			}
			if step.Done {
				w.check(t, seed)
				break
			}
			if random.IntN(2) == 0 { // An operator may end before it does what it has decided.
				w.do(t, step)
			}
			w.turn(random)
		}
	}
}

// check fails unless w is as it should be at the end.
func (w *world) check(t *testing.T, seed uint64) {
	t.Helper()
	target := spec(w.Images["memcached"])
	same := 0
	for _, set := range w.ReplicaSets {
		if len(w.Outdated(set.Spec.Template.Spec)) == 0 {
			same++
		}
		if *set.Spec.Replicas > 0 && (set.Status.ObservedGeneration != set.Generation || len(w.Outdated(set.Spec.Template.Spec)) > 0) {
			t.Errorf("seed %d: the ReplicaSet of the pods is not up to date", seed)
		}
	}
	if same != 1 {
		t.Errorf("seed %d: %d ReplicaSets have the images of %v", seed, same, target)
	}
	for i := range w.Pods {
		if pod := &w.Pods[i]; len(w.Outdated(pod.Spec)) > 0 || !runsImages(pod) || !isReady(pod) {
			t.Errorf("seed %d: pod %s is not up to date", seed, pod.Name)
		}
	}
}

func TestNext(t *testing.T) {
	paused := func(w *world) {
		w.Deployment.Spec.Paused = true
		w.Deployment.Generation, w.Deployment.Status.ObservedGeneration = 2, 2
	}
	tests := map[string]struct {
		given []func(*world)
		want  string
	}{
		"pauses first":                    {nil, "pause"},
		"changes the first pod by name":   {[]func(*world){paused}, "pod pod-2"},
		"changes a pod that is not ready": {[]func(*world){paused, func(w *world) { w.setReady(&w.Pods[2], corev1.ConditionFalse) }}, "pod pod-6"},
		"waits for a pod to settle":       {[]func(*world){paused, func(w *world) { w.setReady(&w.Pods[2], corev1.ConditionTrue) }}, "waiting for pod pod-6 to be ready for 5 s"},
		"waits as long as the Deployment": {[]func(*world){paused, func(w *world) {
			w.Deployment.Spec.MinReadySeconds = 90
			w.setReady(&w.Pods[2], corev1.ConditionTrue)
		}}, "waiting for pod pod-2 to be ready for 90 s"},
		"waits for pods to be created": {[]func(*world){paused, func(w *world) { w.Pods = w.Pods[1:] }}, "waiting for pods to be created: 1"},
		"ignores pods that end": {[]func(*world){paused, func(w *world) {
			w.addPod(&w.ReplicaSets[0])
			w.Pods[3].DeletionTimestamp = new(metav1.NewTime(start))
		}}, "pod pod-2"},
		"is done without pods": {[]func(*world){func(w *world) { w.ReplicaSets = nil }}, "done"},
		"ignores ReplicaSets of others": {[]func(*world){paused, func(w *world) {
			w.addSet(3, "memcached:1")
			w.ReplicaSets[1].OwnerReferences[0].UID = "other"
		}}, "pod pod-2"},
		"refuses during a roll-out": {[]func(*world){func(w *world) { w.addSet(1, "memcached:3") }}, "refused: a roll-out is in progress"},
		"refuses an image of others": {[]func(*world){paused, func(w *world) { w.Pods[1].Spec.Containers[0].Image = "mirror/memcached:1" }},
			"refused: container memcached of pod pod-4 has the image mirror/memcached:1, which another client has set"},
		"refuses a pod without a container": {[]func(*world){paused, func(w *world) { w.Pods[1].Spec.InitContainers = nil }}, "refused: pod pod-4 has no container reloader"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, "memcached:1", "memcached:2")
			for _, change := range test.given {
				change(w)
			}
			step := Next(w.Observed)
			got := []string{}
			for text, is := range map[string]bool{"pause": step.Pause, "done": step.Done, step.Waiting: step.Waiting != "", "refused: " + step.Refused: step.Refused != ""} {
				if is {
					got = append(got, text)
				}
			}
			if step.Pod != nil {
				got = append(got, "pod "+step.Pod.Name)
			}
			if text := strings.Join(got, ", "); text != test.want {
				t.Errorf("the next step is %q, want %q", text, test.want)
			}
		})
	}
}
