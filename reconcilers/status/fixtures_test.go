// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/apply"
)

// now is the time of every test, with a fraction that the API cannot store.
var now = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// given changes the observation of a ready Memcached into the one of a test.
type given func(*Observation)

// all combines changes.
func all(changes ...given) given {
	return func(o *Observation) {
		for _, change := range changes {
			change(o)
		}
	}
}

// observed returns the observation of a ready Memcached of three pods, changed by change.
func observed(change given) Observation {
	o := Observation{
		Memcached: &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache", Generation: 7},
			Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(3)), ContainerPort: new(int32(11211))},
		},
		Results: []apply.Result{done("Service", "cache"), done("Deployment", "cache"), done("PodDisruptionBudget", "cache")},
		Deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache", Generation: 4},
			Spec: appsv1.DeploymentSpec{
				Replicas:        new(int32(3)),
				Selector:        &metav1.LabelSelector{MatchLabels: map[string]string{"memcached_cr": "cache", "app": "memcached"}},
				MinReadySeconds: 5,
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "exporter", Image: "exporter:1"},
					{Name: "memcached", Image: "memcached:1.6.45"},
				}}},
			},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: 4,
				Replicas:           3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3,
				Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
				},
			},
		},
		Pods: []corev1.Pod{pod("cache-c"), pod("cache-a"), pod("cache-b")},
		Now:  now,
	}
	if change != nil {
		change(&o)
	}
	return o
}

func pod(name string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

func object(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetKind(kind)
	u.SetName(name)
	return u
}

func done(kind, name string) apply.Result {
	return apply.Result{Object: object(kind, name), Action: apply.Unchanged}
}

// result replaces the result of the object of kind.
func result(kind string, action apply.Action, err error) given {
	return func(o *Observation) {
		for i, r := range o.Results {
			if r.Object.GetKind() == kind {
				o.Results[i] = apply.Result{Object: r.Object, Action: action, Err: err}
			}
		}
	}
}

func foreign(kind string) given {
	return result(kind, apply.Conflict, &apply.OwnershipConflictError{Kind: kind, Name: "cache", Controller: "Widget x"})
}

func foreignText(kind string) string {
	return kind + " cache exists and is controlled by Widget x; delete or rename it, or rename the Memcached"
}

func invalid(kind, path, detail string) given {
	return result(kind, apply.Failed, apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "cache",
		field.ErrorList{field.Invalid(field.NewPath(path), "x", detail)}))
}

func failing(kind, text string) given {
	return result(kind, apply.Failed, errors.New(text))
}

func waiting(kind string) given {
	return result(kind, apply.Waiting, nil)
}

func renderError(text string) given {
	return func(o *Observation) {
		o.RenderErr = errors.New(text)
		o.Results = nil
	}
}

func pruneError(text string) given {
	return func(o *Observation) { o.PruneErr = errors.New(text) }
}

func size0(o *Observation) {
	o.Memcached.Spec.Size = new(int32(0))
	if o.Deployment != nil {
		o.Deployment.Spec.Replicas = new(int32(0))
	}
}

func ended(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func noPods(o *Observation) { o.Pods = nil }

func noDeployment(o *Observation) { o.Deployment = nil }

// counted sets the Deployment's numbers of replicas.
func counted(replicas, updated, ready, available int32) given {
	return func(o *Observation) {
		s := &o.Deployment.Status
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = replicas, updated, ready, available
	}
}

// newDeployment is a Deployment that its controller has not observed.
func newDeployment(o *Observation) {
	o.Deployment.Generation = 1
	o.Deployment.Status = appsv1.DeploymentStatus{}
	o.Pods = nil
}

// deploymentSays sets a condition of the Deployment.
func deploymentSays(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) given {
	return func(o *Observation) {
		s := &o.Deployment.Status
		said := appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message}
		for i, c := range s.Conditions {
			if c.Type == kind {
				s.Conditions[i] = said
				return
			}
		}
		s.Conditions = append(s.Conditions, said)
	}
}

// deadlinePassed is the Deployment's condition of a rollout without progress.
var deadlinePassed = deploymentSays(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded",
	`ReplicaSet "cache-7d4" has timed out progressing.`)

// unavailable is the Deployment's condition of too few ready pods.
var unavailable = deploymentSays(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
	"Deployment does not have minimum availability.")

// podIs changes the pod of that name.
func podIs(name string, change func(*corev1.Pod)) given {
	return func(o *Observation) {
		for i := range o.Pods {
			if o.Pods[i].Name == name {
				change(&o.Pods[i])
			}
		}
	}
}

func waits(name, reason, message string) given {
	return podIs(name, func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "memcached", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		})
	})
}

func warm(o *Observation) { o.Memcached.Spec.WarmRestart = &cachev1alpha1.WarmRestart{} }

// restarted lets memcached in a pod run again after an end, minutes ago.
func restarted(name string, minutes int, reason string, code int32) given {
	return podIs(name, func(pod *corev1.Pod) {
		ended := metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute))
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: MainContainer, LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, FinishedAt: ended},
			},
		})
	})
}

// notStarted lets volumes and network of a pod not be ready for seconds.
func notStarted(name string, seconds int) given {
	return podIs(name, func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second)),
		}}
	})
}

func withSecrets(o *Observation) {
	o.Memcached.Spec.TLS = &cachev1alpha1.TLS{SecretName: "certificate", ClientAuth: new(cachev1alpha1.ClientAuthRequire)}
	o.Memcached.Spec.Auth = &cachev1alpha1.Auth{SecretName: "users"}
}

func terminating(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: now}
}

// lasted adds conditions of an hour ago to the last status.
func lasted(conditions ...metav1.Condition) given {
	return func(o *Observation) {
		for _, c := range conditions {
			c.LastTransitionTime = metav1.NewTime(now.Add(-time.Hour).Truncate(time.Second))
			o.Memcached.Status.Conditions = append(o.Memcached.Status.Conditions, c)
		}
	}
}

func words(n int) string { return strings.Repeat("äöü ", n) }

const pausedText = "spec.paused is true: the operator applies, reverts and prunes nothing until it is false or removed"

func isToPause(is bool) given {
	return func(o *Observation) { o.Memcached.Spec.Paused = &is }
}

func skipped(kind, why string) given {
	return func(o *Observation) { o.SkippedKinds = append(o.SkippedKinds, SkippedKind{Kind: kind, Reason: why}) }
}

// applied adds result for the Deployment.
func applied(result apply.Result) given {
	return func(o *Observation) {
		added := result
		added.Object = object("Deployment", "cache")
		o.Results = append(o.Results, added)
	}
}

// proxies adds two proxies, of which that many are available.
func proxies(available int32, conditions ...appsv1.DeploymentCondition) given {
	return func(o *Observation) {
		o.Memcached.Spec.Proxy = &cachev1alpha1.Proxy{Size: new(int32(2))}
		o.Results = append(o.Results, apply.Result{Object: object("Deployment", "cache-proxy"), Action: apply.Unchanged, Live: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache-proxy"},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status: appsv1.DeploymentStatus{
				Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: available, AvailableReplicas: available, Conditions: conditions,
			},
		}})
	}
}
