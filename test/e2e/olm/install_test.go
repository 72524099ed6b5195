// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package olm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/e2e/cluster"
)

// install is the operator in a namespace, installed by OLM.
type install struct {
	*cluster.Operator
	// source is the CatalogSource: its name, and its namespace.
	source, sourceNamespace string
	// subscription is the name of the Subscription.
	subscription string
}

// newSource makes a CatalogSource of a catalog's image in a namespace and waits until it serves.
func newSource(t *testing.T, namespace, name, image string) {
	t.Helper()
	apply(t, `
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {namespace: %s, name: %s}
spec:
  sourceType: grpc
  image: %s
  grpcPodConfig: {securityContextConfig: restricted}
`, namespace, name, image)
	serves(t, namespace, name)
}

// serves waits until OLM is connected to the pod of a CatalogSource.
func serves(t *testing.T, namespace, name string) {
	t.Helper()
	until(t, sources, namespace, name, "serving", func(s *source) bool { return s.Status.ConnectionState.LastObservedState == "READY" })
}

// newInstall is an install that is still to be made, in a namespace with an OperatorGroup for targets
// and a catalog of its own.
func newInstall(t *testing.T, namespace, image string, targets ...string) install {
	t.Helper()
	newGroup(t, namespace, namespace, targets...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(suite.Kubectl(t, "--namespace="+namespace, "get", "-o", "yaml", "subscriptions,installplans,clusterserviceversions"))
		}
	})
	newSource(t, namespace, "releases", image)
	return installIn(namespace, "releases", namespace)
}

// installed returns an install of version, by automatic approval, that is made as newInstall says.
func installed(t *testing.T, version, namespace, image string, targets ...string) install {
	t.Helper()
	i := newInstall(t, namespace, image, targets...)
	i.subscribe(t, "Automatic")
	i.succeeds(t, version)
	return i
}

func installIn(namespace, source, sourceNamespace string) install {
	operator := suite.Installed()
	operator.Namespace = namespace
	return install{operator, source, sourceNamespace, "memcached-operator"}
}

// newGroup makes an OperatorGroup for targets, or for all namespaces when there are none.
func newGroup(t *testing.T, namespace, name string, targets ...string) {
	t.Helper()
	spec := "{}"
	if len(targets) > 0 {
		spec = fmt.Sprintf("{targetNamespaces: [%s]}", strings.Join(targets, ", "))
	}
	apply(t, `
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {namespace: %s, name: %s}
spec: %s
`, namespace, name, spec)
}

// subscribe makes the Subscription; approval is Automatic or Manual.
func (i install) subscribe(t *testing.T, approval string, more ...string) {
	t.Helper()
	apply(t, `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {namespace: %s, name: %s}
spec:
  name: memcached-operator
  channel: candidate-v0
  source: %s
  sourceNamespace: %s
  installPlanApproval: %s
  %s
`, i.Namespace, i.subscription, i.source, i.sourceNamespace, approval, strings.Join(more, "\n  "))
}

// proposes waits for the InstallPlan of a version and returns its name.
func (i install) proposes(t *testing.T, version string) string {
	t.Helper()
	name := ""
	until(t, subscriptions, i.Namespace, i.subscription, "an InstallPlan for "+version, func(s *subscription) bool {
		name = s.Status.InstallPlanRef.Name
		return name != "" && s.Status.CurrentCSV == version
	})
	until(t, plans, i.Namespace, name, "a plan for "+version, func(p *plan) bool {
		return slices.Contains(p.Spec.ClusterServiceVersionNames, version)
	})
	return name
}

// approve approves an InstallPlan, as an administrator does.
func (i install) approve(t *testing.T, plan string) {
	t.Helper()
	patch(t, plans, i.Namespace, plan, `{"spec":{"approved":true}}`)
}

// succeeds waits until a version is installed, its operator runs and leads, and the version
// before it is gone.
func (i install) succeeds(t *testing.T, version string) {
	t.Helper()
	until(t, csvs, i.Namespace, version, "installed", func(c *csv) bool { return c.Status.Phase == "Succeeded" })
	until(t, subscriptions, i.Namespace, i.subscription, version+" is installed", func(s *subscription) bool {
		return s.Status.InstalledCSV == version && s.Status.State == "AtLatestKnown"
	})
	i.Settled(t)
	i.Leader(t)
}

// uninstall deletes the Subscription and the ClusterServiceVersion and waits until the operator
// is gone.
func (i install) uninstall(t *testing.T, version string) {
	t.Helper()
	suite.Kubectl(t, "--namespace="+i.Namespace, "delete", "subscription/"+i.subscription, "clusterserviceversion/"+version)
	suite.EventuallyGone(t, i.Manager())
}
