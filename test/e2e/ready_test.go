// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// TestReady_TakesSeconds measures what users wait for. What clients see meanwhile, TestClients does.
func TestReady_TakesSeconds(t *testing.T) {
	parallel(t)
	namespace := suite.NewNamespace(t)
	const size = 3
	bare := bareDeployment(t, namespace, size)
	started := time.Now()
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "served", size, withImage(cluster.OldImage)))
	t.Logf("%d pods: Ready after %.1f s; a Deployment without probes %s", size, time.Since(started).Seconds(), bare)
	started = time.Now()
	suite.Patch(t, mc, `{"spec":{"image":"`+cluster.Image+`"}}`)
	suite.Get(t, mc)
	suite.Ready(t, mc)
	t.Logf("a new image: Ready after %.1f s", time.Since(started).Seconds())
}

// bareDeployment is how long a Deployment of memcached without probes takes to be available.
func bareDeployment(t *testing.T, namespace string, size int) time.Duration {
	t.Helper()
	started := time.Now()
	suite.KubectlInput(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %s, name: bare}
spec:
  replicas: %d
  selector: {matchLabels: {app: bare}}
  template:
    metadata: {labels: {app: bare}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 11211, seccompProfile: {type: RuntimeDefault}}
      containers:
      - {name: memcached, image: "%s", command: [memcached], securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
`, namespace, size, cluster.OldImage), "apply", "-f", "-")
	suite.Kubectl(t, "--namespace="+namespace, "rollout", "status", "deployment/bare")
	return time.Since(started).Round(100 * time.Millisecond)
}
