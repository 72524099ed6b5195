// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// startPatience is how long volumes and network of a pod may take without a word: on an idle node they take a second, and the
// kubelet reports nothing in the pod's status if a Secret is missing.
const startPatience = 10 * time.Second

// startsIn returns how much of startPatience is left if c says that volumes or network of its pod are not ready.
func startsIn(o Observation, c corev1.PodCondition) (wait time.Duration, ok bool) {
	if c.Type != corev1.PodReadyToStartContainers || c.Status != corev1.ConditionFalse {
		return 0, false
	}
	return c.LastTransitionTime.Add(startPatience).Sub(o.Now), true
}

// mounts names the Secrets that the pods of mc mount, which the operator does not read.
func mounts(mc *cachev1alpha1.Memcached) string {
	var secrets []string
	if tls := mc.Spec.TLS; tls != nil {
		keys := "tls.crt and tls.key"
		if auth := ptr.Deref(tls.ClientAuth, cachev1alpha1.ClientAuthNone); auth != cachev1alpha1.ClientAuthNone {
			keys = "tls.crt, tls.key and ca.crt"
		}
		secrets = append(secrets, fmt.Sprintf("Secret %s with %s", tls.SecretName, keys))
	}
	if auth := mc.Spec.Auth; auth != nil {
		secrets = append(secrets, fmt.Sprintf("Secret %s with %s", auth.SecretName, ptr.Deref(auth.Key, "auth")))
	}
	if len(secrets) == 0 {
		return "; kubectl describe pod has the kubelet's reason"
	}
	return "; it mounts " + strings.Join(secrets, " and ") + ": create what is missing"
}

// RecheckAfter returns when the status may change although nothing is observed to: the soonest end of a pod's startPatience.
// 0 means never.
func (o Observation) RecheckAfter() time.Duration {
	var soonest time.Duration
	for _, pod := range o.Pods {
		for _, c := range pod.Status.Conditions {
			if wait, ok := startsIn(o, c); ok && isActive(pod) && wait > 0 && (soonest == 0 || wait < soonest) {
				soonest = wait
			}
		}
	}
	return soonest
}
