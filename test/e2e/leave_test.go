// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/e2e/cluster"
	"github.com/example/memcached-operator/test/testenv"
)

// clients are three clients that keep the addresses of the Service "served" for the TTL of the DNS, and ask each one twice a
// second. They write a line for each address that does not answer, and one when they look the name up again.
const clients = `
name=served.$(awk '/^search/ {print $2}' /etc/resolv.conf).
for client in 1 2 3; do
  while :; do
    addresses=$(nslookup -type=a $name | sed -n '/^Name:/,$ s/^Address: //p')
    until=$(($(date +%s) + 5))
    while [ $(date +%s) -lt $until ]; do
      for address in $addresses; do
        printf 'version\r\nquit\r\n' | nc -w 2 $address 11211 | grep -q VERSION || echo "client $client: no answer from $address"
      done
      sleep 0.5
    done
    echo "client $client looked $(echo $addresses | wc -w) addresses up"
  done &
done
wait`

// TestPods_ComeAndGoUnnoticed changes size and image and deletes a pod under clients that keep to the TTL of the DNS.
func TestPods_ComeAndGoUnnoticed(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	const size = 3
	bare := bareDeployment(t, namespace, size)
	started := time.Now()
	mc := suite.Ready(t, suite.NewMemcached(t, namespace, "served", size, withImage(cluster.OldImage)))
	t.Logf("%d pods: Ready after %s; a Deployment without probes %s", size, time.Since(started).Round(100*time.Millisecond), bare)
	inside := suite.Inside(t, namespace)
	inside.Addresses(t, mc.Name, size)
	suite.Start(t, namespace, "clients", clients)

	for _, step := range []struct {
		what string
		take func()
	}{
		{"a new image", func() { suite.Patch(t, mc, `{"spec":{"image":"`+cluster.Image+`"}}`) }},
		{"a smaller size", func() { suite.Patch(t, mc, `{"spec":{"size":2}}`) }},
		{"a larger size", func() { suite.Patch(t, mc, `{"spec":{"size":3}}`) }},
		{"a deleted pod", func() {
			pod := suite.Pods(t, namespace, mc.Name)[0]
			suite.Delete(t, &pod)
		}},
	} {
		before := suite.Pods(t, namespace, mc.Name)
		started := time.Now()
		step.take()
		suite.Get(t, mc)
		suite.Ready(t, mc)
		took := time.Since(started)
		for _, pod := range before {
			if now := suite.Pods(t, namespace, mc.Name); !strings.Contains(cluster.Lives(now), string(pod.UID)) {
				suite.EventuallyGone(t, &pod)
			}
		}
		t.Logf("%s: Ready after %s", step.what, took.Round(100*time.Millisecond))
	}
	// What the last step left behind shows until each client has looked the name up again.
	var log string
	lookups := func() int {
		log = suite.Kubectl(t, "--namespace="+namespace, "logs", "clients")
		return strings.Count(log, " looked ")
	}
	before := lookups()
	testenv.Eventually(t, "the clients look the name up again", func() bool { return lookups() >= before+6 })
	t.Logf("the clients looked the name up %d times", strings.Count(log, " looked "))
	if lost := strings.Count(log, "no answer"); lost > 0 || strings.Count(log, " looked 3 ") == 0 {
		t.Errorf("%d times an address did not answer:\n%s", lost, log)
	}
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
