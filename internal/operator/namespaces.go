// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"maps"
	"slices"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var deniedNamespaces = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "memcached_operator_denied_namespaces",
	Help: "Namespaces of --watch-namespaces in which the operator lacks permissions, or which do not exist: their Memcacheds are not reconciled.",
})

func init() { metrics.Registry.MustRegister(deniedNamespaces) }

// namespaces reports the watched namespaces in which the operator lacks permissions. It is used by one goroutine at a time.
type namespaces struct {
	logger logr.Logger
	events *podEvents
	// denied are those that were reported.
	denied map[string]string
}

// report logs what has changed in denied, the RBAC rules that are missing, by namespace.
func (n *namespaces) report(denied map[string]string) {
	for _, namespace := range slices.Sorted(maps.Keys(denied)) {
		if n.denied[namespace] == "" {
			n.logger.Info("Namespace skipped: it does not exist, or the operator lacks permissions", "namespace", namespace, "remedy", denied[namespace])
			n.events.emit(corev1.EventTypeWarning, "NamespaceDenied", "Watch", "Memcacheds in namespace "+namespace+" are not reconciled: "+denied[namespace])
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(n.denied)) {
		if denied[namespace] == "" {
			n.logger.Info("The operator has its permissions in the namespace again", "namespace", namespace)
		}
	}
	n.denied = denied
	deniedNamespaces.Set(float64(len(denied)))
}
