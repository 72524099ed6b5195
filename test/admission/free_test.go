// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// everything is a Memcached of an administrator with every guarded field but auth, which
// excludes metrics.
const everything = `
size: 1
tls: {secretName: web}
imagePullSecrets: [{name: registry}, {name: second}]
image: registry.example.com/memcached
serviceAccountName: cache
priorityClassName: high
tolerations: [{key: a, operator: Exists}]
affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}}
podMetadata: {labels: {a: b}, annotations: {e: f}}
service: {labels: {a: b}, annotations: {e: f}}
metrics: {image: registry.example.com/exporter, serviceMonitor: {labels: {a: b}}, rules: {labels: {a: b}}}
networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{namespaceSelector: {}}]}
podDisruptionBudget: {maxUnavailable: 0}
flash: {size: 1Gi, storageClassName: fast}
patches: [{target: {kind: Deployment}, patch: "spec: {minReadySeconds: 1}"}]
`

// TestPolicy_AllowsOtherFields: fields that give no more than the plain templates require no right.
func TestPolicy_AllowsOtherFields(t *testing.T) {
	t.Parallel()
	const plain, account = "size: 1", "{size: 1, serviceAccountName: cache}"
	for name, test := range map[string]struct{ before, patch string }{
		"accepts labels and annotations of the Memcached": {everything, `{"metadata": {"labels": {"team": "red"}, "annotations": {"a": "b"}}}`},
		"accepts a finalizer of the Memcached":            {everything, `{"metadata": {"finalizers": ["example.com/stay"]}}`},
		"accepts a change that changes nothing":           {everything, `{"spec": {"size": 1}}`},
		"accepts the default, written out":                {account, `{"spec": {"containerPort": 11211}}`},
		"accepts the plain spec in place of everything":   {everything, `[{"op": "replace", "path": "/spec", "value": {}}]`},
		"accepts a free spec in place of everything":      {everything, `[{"op": "replace", "path": "/spec", "value": {"size": 5, "image": "memcached:1.6.38", "memory": "128Mi"}}]`},
		"accepts the removal of the only guarded field":   {account, `{"spec": {"serviceAccountName": null, "size": 5}}`},
		"accepts a size":  {plain, `{"spec": {"size": 5}}`},
		"accepts a pause": {plain, `{"spec": {"paused": true}}`},
		"accepts another tag of the default image":    {plain, `{"spec": {"image": "memcached:1.6.38-alpine"}}`},
		"accepts a digest of the default image":       {plain, `{"spec": {"image": "memcached` + digest + `"}}`},
		"accepts the default image by its full name":  {plain, `{"spec": {"image": "docker.io/library/memcached:1.6.38"}}`},
		"accepts another tag of the exporter's image": {plain, `{"spec": {"metrics": {"image": "prom/memcached-exporter:v0.15.0"}}}`},
		"accepts metrics":                             {plain, `{"spec": {"metrics": {}}}`},
		"accepts arguments":                           {plain, `{"spec": {"extraArgs": ["--disable-cas"]}}`},
		"accepts resources":                           {plain, `{"spec": {"resources": {"requests": {"memory": "1Gi", "cpu": 2, "ephemeral-storage": "1Gi"}}}}`},
		"accepts a node selector":                     {plain, `{"spec": {"nodeSelector": {"disk": "ssd"}}}`},
		"accepts node affinity":                       {plain, `{"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}}}}}`},
		"accepts anti-affinity of its own pods":       {plain, `{"spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "memcached", "memcached_cr": "cache"}}}]}}}}`},
		"accepts a preference for its own pods":       {plain, `{"spec": {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "namespaces": [], "labelSelector": {"matchLabels": {"app": "memcached", "memcached_cr": "cache", "a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}}}]}}}}`},
		"accepts spread constraints":                  {plain, `{"spec": {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "memcached"}}}]}}`},
		"accepts no budget":                           {plain, `{"spec": {"podDisruptionBudget": {"none": {}}}}`},
		"accepts a Service with a cluster IP":         {plain, `{"spec": {"service": {"clusterIP": {}}}}`},
		"accepts empty guarded fields":                {plain, `{"spec": {"tolerations": [], "imagePullSecrets": [], "patches": [], "podMetadata": {"labels": {}}, "service": {"annotations": {}}, "affinity": {"podAntiAffinity": {}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := memcached(suite.NewNamespace(t), "cache", test.before)
			suite.Create(t, mc)
			kind := types.MergePatchType
			if strings.HasPrefix(test.patch, "[") {
				kind = types.JSONPatchType
			}
			c := suite.As(t, author)
			if err := c.Patch(t.Context(), mc, client.RawPatch(kind, []byte(test.patch))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPolicy_GuardsGeneratedNames(t *testing.T) {
	t.Parallel()
	own := `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: memcached, memcached_cr: ""}}}]}}`
	for spec, field := range map[string]string{"tls: {secretName: web}": "spec.tls.secretName", own: "spec.affinity.podAntiAffinity"} {
		mc := memcached(suite.NewNamespace(t), "", spec)
		mc.SetGenerateName("x-")
		c := suite.As(t, author)
		if err := c.Create(t.Context(), mc); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestPolicy_ChecksRightsInTheNamespace: a right in another namespace does not count.
func TestPolicy_ChecksRightsInTheNamespace(t *testing.T) {
	t.Parallel()
	elsewhere, here := suite.NewNamespace(t), suite.NewNamespace(t)
	const tenant = "tenant"
	bindIn(t, elsewhere, tenant, "cluster-admin")
	bindIn(t, here, tenant, "memcached-operator-memcached-editor-role")
	c := suite.As(t, tenant)
	testenv.NoError(t, testenv.Poll(t.Context(), testenv.Timeout, func(ctx context.Context) (bool, error) {
		return c.Create(ctx, memcached(elsewhere, "cache", "{tls: {secretName: web}, serviceAccountName: admin}")) == nil, nil
	}))
	for spec, right := range map[string]string{"tls: {secretName: web}": "get the Secret web", "serviceAccountName: admin": "create deployments.apps"} {
		testenv.NoError(t, testenv.Poll(t.Context(), testenv.Timeout, func(ctx context.Context) (bool, error) {
			err := c.Create(ctx, memcached(here, "cache", spec))
			if err == nil {
				return false, fmt.Errorf("%s is accepted", spec)
			}
			return strings.Contains(err.Error(), right+" in namespace "+here+", which tenant does not have; grant it to them"), nil
		}))
	}
}

// TestPolicy_RequiresTheGroupOfUnknownKinds: a patch of a kind whose group the policy does not know is rejected for
// every author.
func TestPolicy_RequiresTheGroupOfUnknownKinds(t *testing.T) {
	t.Parallel()
	err := suite.Client.Create(t.Context(), memcached(suite.NewNamespace(t), "cache", patch("kind: Gateway", "spec: {}")))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.patches: a patch of the kind Gateway needs target.group") {
		t.Errorf("an administrator is refused with %v", err)
	}
}

// bindIn gives a user the rights of a ClusterRole in a namespace.
func bindIn(t *testing.T, namespace, name, role string) {
	t.Helper()
	testenv.NoError(t, suite.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: name + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}))
}
