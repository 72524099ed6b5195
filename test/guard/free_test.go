// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// whole is a Memcached of an administrator's with every guarded field but auth, which
// excludes metrics.
const whole = `
size: 1
tls: {secretName: web}
imagePullSecrets: [{name: registry}, {name: second}]
image: registry.example.com/memcached
extraArgs: [--disable-cas, --disable-watch]
serviceAccountName: cache
priorityClassName: high
tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists, effect: NoExecute, tolerationSeconds: 3}]
podMetadata: {labels: {a: b, c: d}, annotations: {e: f, g: h}}
service: {labels: {a: b, c: d}, annotations: {e: f, g: h}}
metrics: {image: registry.example.com/exporter, serviceMonitor: {labels: {a: b, c: d}}, rules: {labels: {a: b, c: d}}}
networkPolicy: {from: [{podSelector: {}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}], metricsFrom: [{namespaceSelector: {}}]}
podDisruptionBudget: {maxUnavailable: 0}
patches:
- {target: {kind: Deployment}, patch: "spec: {minReadySeconds: 1}"}
- {target: {kind: Service}, patch: "metadata: {annotations: {x: y}}"}
`

func TestLeavingAndTakingAwayIsFree(t *testing.T) {
	t.Parallel()
	for sentence, row := range map[string]struct{ before, patch string }{
		"the size beside all of them":              {whole, `{"spec": {"size": 5}}`},
		"the memory beside all of them":            {whole, `{"spec": {"memory": "128Mi"}}`},
		"labels of the Memcached itself":           {whole, `{"metadata": {"labels": {"team": "red"}, "annotations": {"a": "b"}}}`},
		"a pause":                                  {whole, `{"spec": {"paused": true}}`},
		"TLS away":                                 {whole, `{"spec": {"tls": null}}`},
		"TLS away, and another image":              {"{size: 1, tls: {secretName: web}}", `{"spec": {"tls": null, "image": "memcached:1.6.44"}}`},
		"another port beside TLS":                  {whole, `{"spec": {"tls": {"plaintextPort": 11311}}}`},
		"client certificates":                      {whole, `{"spec": {"tls": {"clientAuth": "Require"}}}`},
		"authentication away":                      {"{size: 1, auth: {secretName: users}}", `{"spec": {"auth": null}}`},
		"the default key, written out":             {"{size: 1, auth: {secretName: users}}", `{"spec": {"auth": {"key": "auth"}}}`},
		"no Secret to pull images":                 {whole, `{"spec": {"imagePullSecrets": null}}`},
		"an empty list of them":                    {whole, `{"spec": {"imagePullSecrets": []}}`},
		"one Secret to pull images away":           {whole, `{"spec": {"imagePullSecrets": [{"name": "second"}]}}`},
		"Secrets to pull images turned round":      {whole, `{"spec": {"imagePullSecrets": [{"name": "second"}, {"name": "registry"}]}}`},
		"the image away beside TLS":                {whole, `{"spec": {"image": null}}`},
		"the exporter's image away":                {whole, `{"spec": {"metrics": {"image": null}}}`},
		"metrics away":                             {whole, `{"spec": {"metrics": null, "networkPolicy": {"metricsFrom": null}}}`},
		"metrics beside TLS":                       {"{size: 1, tls: {secretName: web}}", `{"spec": {"metrics": {"serviceMonitor": {}, "rules": {}}}}`},
		"arguments away beside TLS":                {whole, `{"spec": {"extraArgs": null}}`},
		"the service account away":                 {whole, `{"spec": {"serviceAccountName": null}}`},
		"the priority away":                        {whole, `{"spec": {"priorityClassName": null}}`},
		"tolerations away":                         {whole, `{"spec": {"tolerations": null}}`},
		"one toleration away":                      {whole, `{"spec": {"tolerations": [{"key": "b", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}]}}`},
		"pod labels away":                          {whole, `{"spec": {"podMetadata": {"labels": null}}}`},
		"one pod label away":                       {whole, `{"spec": {"podMetadata": {"labels": {"a": null}}}}`},
		"one pod annotation away":                  {whole, `{"spec": {"podMetadata": {"annotations": {"e": null}}}}`},
		"pod metadata away":                        {whole, `{"spec": {"podMetadata": null}}`},
		"one Service label away":                   {whole, `{"spec": {"service": {"labels": {"a": null}}}}`},
		"the Service's additions away":             {whole, `{"spec": {"service": null}}`},
		"one label of the ServiceMonitor away":     {whole, `{"spec": {"metrics": {"serviceMonitor": {"labels": {"a": null}}}}}`},
		"another interval of it":                   {whole, `{"spec": {"metrics": {"serviceMonitor": {"interval": "1m"}}}}`},
		"another threshold of the alerts":          {whole, `{"spec": {"metrics": {"rules": {"memoryPercent": 80}}}}`},
		"patches away":                             {whole, `{"spec": {"patches": null}}`},
		"an empty list of patches":                 {whole, `{"spec": {"patches": []}}`},
		"everything away":                          {whole, `[{"op": "replace", "path": "/spec", "value": {}}]`},
		"an image without a Secret":                {"size: 1", `{"spec": {"image": "memcached:1.6.44"}}`},
		"the Secrets away, and another image":      {"{size: 1, imagePullSecrets: [{name: registry}]}", `{"spec": {"imagePullSecrets": null, "image": "memcached:1.6.44"}}`},
		"the image away beside Secrets to pull it": {"{size: 1, image: registry.example.com/memcached, imagePullSecrets: [{name: registry}]}", `{"spec": {"image": null}}`},
		"arguments without a Secret":               {"size: 1", `{"spec": {"extraArgs": ["--disable-cas"]}}`},
		"the network policy away":                  {whole, `{"spec": {"networkPolicy": null}}`},
		"one peer away":                            {whole, `{"spec": {"networkPolicy": {"from": [{"podSelector": {}}]}}}`},
		"peers turned round":                       {whole, `{"spec": {"networkPolicy": {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}, {"podSelector": {}}]}}}`},
		"the peers of the metrics away":            {whole, `{"spec": {"networkPolicy": {"metricsFrom": null}}}`},
		"the number of the budget away":            {whole, `{"spec": {"podDisruptionBudget": {"maxUnavailable": null}}}`},
		"the budget away":                          {whole, `{"spec": {"podDisruptionBudget": null}}`},
		"no budget in place of an administrator's": {whole, `{"spec": {"podDisruptionBudget": {"maxUnavailable": null, "disabled": true}}}`},
		"no budget":                                {"size: 1", `{"spec": {"podDisruptionBudget": {"disabled": true}}}`},
		"placement":                                {"size: 1", `{"spec": {"nodeSelector": {"disk": "ssd"}, "affinity": {"podAntiAffinity": {}}}}`},
		"resources":                                {"size: 1", `{"spec": {"resources": {"requests": {"memory": "1Gi"}}}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			mc := memcached(namespace, victim, row.before)
			fatal(t, cluster.Client.Create(t.Context(), mc))
			kind := types.MergePatchType
			if strings.HasPrefix(row.patch, "[") {
				kind = types.JSONPatchType
			}
			c, err := as()
			fatal(t, err)
			if err := c.Patch(t.Context(), mc, client.RawPatch(kind, []byte(row.patch))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWritingAllOfItBackIsFree(t *testing.T) {
	t.Parallel()
	for how, write := range ways(true) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			fatal(t, cluster.Client.Create(t.Context(), memcached(namespace, victim, whole)))
			c, err := as()
			fatal(t, err)
			fatal(t, write(t.Context(), c, memcached(namespace, victim, strings.Replace(whole, "size: 1", "size: 2", 1))))
		})
	}
}

// `kubectl scale` and a HorizontalPodAutoscaler write the scale subresource, the
// operator the status.
func TestScalingIsFree(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mc := memcached(namespace, victim, whole)
	fatal(t, cluster.Client.Create(t.Context(), mc))
	c, err := as()
	fatal(t, err)
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 7}}
	fatal(t, c.SubResource("scale").Update(t.Context(), mc, client.WithSubResourceBody(scale)))
	fatal(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc))
	if size := mc.Object["spec"].(map[string]any)["size"]; size != int64(7) {
		t.Errorf("the size is %v", size)
	}
}

// An author who may not update the subresources cannot use them to write the rest.
func TestSubresourcesReachNoGuardedField(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mc := memcached(namespace, victim, "size: 1")
	fatal(t, cluster.Client.Create(t.Context(), mc))
	hostile := mc.DeepCopy()
	hostile.Object["spec"].(map[string]any)["tls"] = map[string]any{"secretName": "web"}
	fatal(t, cluster.Client.Status().Update(t.Context(), hostile))
	if after := state(t, namespace); strings.Contains(after, "web") {
		t.Errorf("an update of the status wrote\n%s", after)
	}
}

func TestAGeneratedNameHelpsNobody(t *testing.T) {
	t.Parallel()
	mc := memcached(newNamespace(t), "", "tls: {secretName: web}")
	mc.SetGenerateName("x-")
	c, err := as()
	fatal(t, err)
	if err := c.Create(t.Context(), mc); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "naming the Secret web") {
		t.Errorf("it is refused with %v", err)
	}
}

// A right in another namespace is none in this one.
func TestRightsCountWhereTheMemcachedIs(t *testing.T) {
	t.Parallel()
	elsewhere, here := newNamespace(t), newNamespace(t)
	const neighbour = "neighbour"
	bindIn(t, elsewhere, neighbour, "cluster-admin")
	bindIn(t, here, neighbour, "memcached-operator-memcached-editor-role")
	c, err := user(neighbour)
	fatal(t, err)
	// Once the one is accepted, the other is refused for what it is.
	fatal(t, eventually(t.Context(), func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, memcached(elsewhere, victim, "{tls: {secretName: web}, serviceAccountName: admin}"))
		return err == nil, nil
	}))
	for spec, words := range map[string]string{"tls: {secretName: web}": "naming the Secret web", "serviceAccountName: admin": "create deployments.apps"} {
		fatal(t, eventually(t.Context(), func(ctx context.Context) (bool, error) {
			err := c.Create(ctx, memcached(here, victim, spec))
			if err == nil {
				return false, fmt.Errorf("%s is accepted", spec)
			}
			return strings.Contains(err.Error(), words) && strings.Contains(err.Error(), "in the namespace "+here+", which neighbour lacks"), nil
		}))
	}
}

// An author with the rights to all Kubernetes kinds does not get away with a kind whose
// group nobody knows.
func TestAnUnknownKindNeedsItsGroup(t *testing.T) {
	t.Parallel()
	err := cluster.Client.Create(t.Context(), memcached(newNamespace(t), victim, patch("kind: Gateway", "spec: {}")))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.patches: target.group is missing beside the kind Gateway") {
		t.Errorf("an administrator is refused with %v", err)
	}
}

// The API server bounds what a policy may cost, and refuses what goes beyond.
func TestTheDearestMemcachedIsChecked(t *testing.T) {
	t.Parallel()
	spec := "tls: {secretName: web}\nauth: {secretName: users}\nimagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}]\n" +
		"podMetadata: {labels: {a: b}}\nservice: {labels: {a: b}}\nimage: memcached:1.6.44\npodDisruptionBudget: {maxUnavailable: 0}\n" +
		"networkPolicy: {from: [" + strings.Repeat("{podSelector: {matchLabels: {role: web, tier: front}}}, ", 16) + "]}\npatches:\n"
	patches := make([]string, 0, 8)
	for i := range 8 { // With the 4 kinds of the spec, as many as can be asked about.
		kind := fmt.Sprintf("Kind%c, group: example.com", 'a'+i)
		patches = append(patches, "- {target: {kind: "+kind+"}, patch: '"+strings.Repeat("x", 4096)+"'}")
	}
	namespace := newNamespace(t)
	most := spec + strings.Join(patches, "\n")
	fatal(t, cluster.Client.Create(t.Context(), memcached(namespace, victim, most)))
	// Every Secret kept, and all else another.
	other := strings.NewReplacer("xx", "yy", "front", "back", "a: b", "a: c", "1.6.44", "1.6.43", "maxUnavailable: 0", "maxUnavailable: 1").Replace(most)
	fatal(t, ways(true)["replace"](t.Context(), cluster.Client, memcached(namespace, victim, other)))
	c, err := as()
	fatal(t, err)
	if err := c.Create(t.Context(), memcached(namespace, "other", most)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "naming the Secret web") {
		t.Errorf("the author is refused with %v", err)
	}
	more := strings.Replace(most, "auth: {secretName: users}", "metrics: {rules: {labels: {a: b}}}", 1)
	err = cluster.Client.Create(t.Context(), memcached(namespace, "another", more))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "patches of so many kinds") {
		t.Errorf("one kind more is refused with %v", err)
	}
}
