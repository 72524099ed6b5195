// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/example/memcached-operator/internal/sanitize"
	"github.com/example/memcached-operator/reconcilers/apply"
)

// maxNote is the maximum size of an event's note, in bytes.
const maxNote = 1024

// podEvents emits events about the operator's pod, also if this replica is not the leader. Outside a cluster it emits none.
type podEvents struct {
	recorder events.EventRecorder
	pod      *corev1.Pod
}

// newPodEvents returns podEvents that are written with cfg until ctx ends.
func newPodEvents(ctx context.Context, cfg *rest.Config) (*podEvents, error) {
	namespace, err := os.ReadFile(namespaceFile)
	if err != nil {
		return &podEvents{}, nil //nolint:nilerr // outside a cluster
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the name of the operator's pod: %w", err)
	}
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating API clients: %w", err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: api.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("recording events: %w", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return &podEvents{
		recorder: broadcaster.NewRecorder(scheme.Scheme, apply.FieldManager),
		pod:      &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: strings.TrimSpace(string(namespace)), Name: name}},
	}, nil
}

// emit emits an event.
func (e *podEvents) emit(eventType, reason, action, note string) {
	if e.pod != nil {
		e.recorder.Eventf(e.pod, nil, eventType, reason, action, "%s", sanitize.TextOf(note, maxNote))
	}
}
