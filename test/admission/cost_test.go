// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/example/memcached-operator/test/testenv"
)

// repeated returns a YAML list or map of n items, in which % stands for the number.
func repeated(n int, item, open, end string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(item, "%", fmt.Sprint(i))
	}
	return open + strings.Join(items, ", ") + end
}

// largest returns the spec that costs the policy most of those that the schema accepts:
// every list at its maximum, and every right another one.
func largest(secret, kinds string) string {
	expressions := repeated(4, "{key: e%, operator: In, values: "+repeated(8, "v%", "[", "]")+"}", "[", "]")
	selector := "{matchLabels: {app: memcached, memcached_cr: cache, " + repeated(6, "l%: v", "", "") + "}, matchExpressions: " + expressions + "}"
	required := repeated(2, "{topologyKey: zone, labelSelector: "+selector+"}", "[", "]")
	preferred := repeated(2, "{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: "+selector+"}}", "[", "]")
	terms := "{requiredDuringSchedulingIgnoredDuringExecution: " + required + ", preferredDuringSchedulingIgnoredDuringExecution: " + preferred + "}"
	path := "registry.example.com" + strings.Repeat("/memcached", 41)
	patches := make([]string, 8)
	for i := range patches {
		target := fmt.Sprintf("{kind: %s%d%s, group: %s.example.com}", kinds, i, strings.Repeat("x", 50), strings.Repeat(fmt.Sprintf("g%d.", i), 60)+"g")
		patches[i] = "{target: " + target + ", patch: '" + strings.Repeat("x", 4000) + "'}"
	}
	return secret + "\nimagePullSecrets: " + repeated(8, "{name: "+strings.Repeat("s", 240)+"%}", "[", "]") +
		"\nflash: {size: 1Gi, storageClassName: " + strings.Repeat("s", 240) + "}\nimage: " + path + digest + "\nserviceAccountName: cache\npriorityClassName: high" +
		"\nmetrics: {image: " + path + digest + ", serviceMonitor: {}, rules: {}}" +
		"\ntolerations: " + repeated(16, "{key: k%, operator: Exists}", "[", "]") +
		"\naffinity: {podAffinity: " + terms + ", podAntiAffinity: " + terms + "}" +
		"\npodMetadata: {labels: " + repeated(16, "l%: v", "{", "}") + ", annotations: " + repeated(16, "a%: v", "{", "}") + "}" +
		"\nservice: {labels: " + repeated(16, "l%: v", "{", "}") + ", annotations: " + repeated(16, "a%: v", "{", "}") + "}" +
		"\nnetworkPolicy: {from: " + repeated(8, "{podSelector: "+selector+"}", "[", "]") + "}" +
		"\npodDisruptionBudget: {maxUnavailable: 0}\npatches: [" + strings.Join(patches, ", ") + "]\n"
}

// TestPolicy_AllowsTheLargestMemcached: the API server limits the cost of a policy and rejects requests that exceed
// it, those of administrators too.
func TestPolicy_AllowsTheLargestMemcached(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	first := largest("tls: {secretName: "+strings.Repeat("t", 250)+"}", "A")
	suite.Create(t, memcached(namespace, "cache", first))
	testenv.NoError(t, replace(t.Context(), suite.Client, memcached(namespace, "cache", largest("tls: {secretName: other}", "B"))))
	withUsers := strings.ReplaceAll(first, "\nmetrics: ", "\nauth: {secretName: "+strings.Repeat("u", 250)+"}\nmetrics: ")
	suite.Create(t, memcached(namespace, "users", withUsers))

	c := suite.As(t, author)
	for name, spec := range map[string]string{"first": first, "second": withUsers} {
		err := create(t.Context(), c, memcached(namespace, name, spec))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.tls.secretName: creating or changing") {
			t.Errorf("the author is refused with %v", err)
		}
	}
	// Their messages are the last to be computed.
	editing := suite.As(t, editor)
	err := replace(t.Context(), editing, memcached(namespace, "cache", first))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.patches: creating or changing") {
		t.Errorf("the editor is refused with %v", err)
	}
}
