// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// restartAfter is for how long the operator runs at least before it ends to watch a namespace that was skipped at the start. The
// kubelet starts a container at once that has run for ten minutes, and later one that ends sooner; and who may delete a
// RoleBinding must not be able to keep the operator from running.
const restartAfter = 10 * time.Minute

var deniedNamespaces = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "memcached_operator_denied_namespaces",
	Help: "Namespaces of --watch-namespaces in which the operator lacks permissions, or which do not exist: their Memcacheds are not reconciled.",
})

func init() { metrics.Registry.MustRegister(deniedNamespaces) }

// namespaces reports the watched namespaces in which the operator lacks permissions. Those that lack them at the start are
// skipped, since their caches would never be filled; once they have them, the operator ends, to be started with them.
type namespaces struct {
	logger logr.Logger
	events *podEvents
	// skipped are those of the start, which are not watched.
	skipped []string
	started time.Time
	restart func()

	mu sync.Mutex
	// denied are those that were reported.
	denied map[string]string
}

// report logs what has changed in denied, the RBAC rules that are missing, by namespace.
func (n *namespaces) report(denied map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, namespace := range slices.Sorted(maps.Keys(denied)) {
		if n.denied[namespace] == "" {
			n.logger.Info("Namespace skipped: it does not exist, or the operator lacks permissions", "namespace", namespace, "remedy", denied[namespace])
			n.events.emit(corev1.EventTypeWarning, "NamespaceDenied", "Watch", "Memcacheds in namespace "+namespace+" are not reconciled: "+denied[namespace])
		}
	}
	restart := false
	for namespace := range n.denied {
		switch {
		case denied[namespace] != "":
		case !slices.Contains(n.skipped, namespace):
			n.logger.Info("The operator has its permissions in the namespace again", "namespace", namespace)
		case time.Since(n.started) < restartAfter:
			denied[namespace] = n.denied[namespace] // It is not watched yet.
		default:
			n.logger.Info("Ending, to be started with a namespace that was skipped: the operator has its permissions there now", "namespace", namespace)
			restart = true
		}
	}
	n.denied = denied
	deniedNamespaces.Set(float64(len(denied)))
	if restart {
		n.restart()
	}
}
