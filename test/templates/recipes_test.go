// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

// certificates is a definition in place of cert-manager's.
const certificates = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Certificate, plural: certificates, singular: certificate, listKind: CertificateList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// The shell blocks of the section Recipes.
const (
	makeDirectory = iota
	inspect
	grant
	undo
)

// longestName is a Memcached's name of the maximum length, with which the names of its objects are valid too.
var longestName = "cache-" + strings.Repeat("x", 46)

// recipe is an edit of manifests/README.md, and what becomes of a Memcached. NAME and NAMESPACE stand for those of the Memcached.
type recipe struct {
	// section is the heading of the edit.
	section string
	// permissions are the resources that the operator needs additional permission for.
	permissions []string
	// spec is that of the Memcached, and patch is applied to the Memcached after the edit.
	spec, patch string
	// rejection is in the status until the second block of the section grants the operator what the objects need.
	rejection string
	// objects are those that the edit adds or changes, by kind and pattern of the name, with parts of their YAML, as words.
	objects map[string][]string
}

var recipes = map[string]recipe{
	"mounts a ConfigMap": {section: "Mounted ConfigMap", objects: map[string][]string{
		"ConfigMap NAME-hints-*": {"data: hint: ask the platform team"},
		"Deployment NAME":        {"mountPath: /etc/hints name: hints readOnly: true", "configMap: defaultMode: 420 name: NAME-hints-"},
	}},
	"adds a sidecar": {section: "Sidecar", spec: "containerPort: 11222", objects: map[string][]string{
		"Deployment NAME": {`env: - name: PORT value: "11222" image: busybox:1.35`},
	}},
	"opens a second port": {section: "Second port", objects: map[string][]string{
		"Deployment NAME": {"- --listen=* - --listen=*:11299", "- containerPort: 11299 name: second protocol: TCP"},
		"Service NAME":    {"- name: second port: 11299 protocol: TCP targetPort: second"},
	}},
	"opens a second port of both Services and of the NetworkPolicy": {
		section: "Second port", spec: "{networkPolicy: {from: [{podSelector: {}}]}, service: {clusterIP: {}}}", objects: map[string][]string{
			"Deployment NAME":            {"- containerPort: 11299 name: second protocol: TCP"},
			"Service NAME":               {"- name: second port: 11299 protocol: TCP targetPort: second"},
			"Service NAME-clusterip":     {"- name: second port: 11299 protocol: TCP targetPort: second"},
			"NetworkPolicy NAME-clients": {"ports: - port: memcached protocol: TCP - port: second protocol: TCP"},
		},
	},
	"adds a NetworkPolicy": {section: "NetworkPolicy", objects: map[string][]string{
		"NetworkPolicy NAME-same-namespace": {"podSelector: matchLabels: app: memcached memcached_cr: NAME"},
	}},
	"adds a CronJob": {section: "CronJob", permissions: []string{"cronjobs"}, objects: map[string][]string{
		"CronJob NAME": {`- name: HOST value: NAME - name: PORT value: "11211"`, "schedule: 0 6 * * *"},
	}},
	"adds a Role and a RoleBinding": {
		section: "Role and RoleBinding", permissions: []string{"rolebindings", "roles"}, rejection: "attempting to grant RBAC permissions not currently held",
		objects: map[string][]string{
			"Role NAME-observers":        {"resources: - pods verbs: - get - list - watch"},
			"RoleBinding NAME-observers": {"roleRef: apiGroup: rbac.authorization.k8s.io kind: Role name: NAME-observers", "kind: Group name: cache-observers"},
		},
	},
	"adds a custom resource": {section: "Custom resource", permissions: []string{"certificates"}, objects: map[string][]string{
		"Certificate NAME": {"dnsNames: - NAME.NAMESPACE.svc", "secretName: NAME.tls"},
	}},
	// No node is in the zone.
	"adds a parameter": {section: "Add a parameter", spec: "size: 0", patch: `{"spec": {"parameters": {"zone": "us-2b"}}}`, objects: map[string][]string{
		"Deployment NAME": {"nodeSelector: zone: us-2b"},
	}},
}

// TestRecipes does each edit of manifests/README.md by the page's own commands, in an operator with the installed roles
// and the permissions that the page grants, and undoes it.
func TestRecipes(t *testing.T) {
	t.Parallel()
	cluster, kubeconfig := newCluster(t)
	testenv.NoError(t, cluster.ApplyYAML(t.Context(), certificates))
	testenv.Eventually(t, "the definition should be served", func() bool {
		_, err := cluster.State(t.Context(), "default", stateOptions)
		return err == nil
	})
	t.Run("without permission", func(t *testing.T) {
		for sentence, r := range recipes {
			if len(r.permissions) > 0 {
				t.Run(sentence, func(t *testing.T) {
					t.Parallel()
					newReader(t, cluster, kubeconfig).isRefused(t, r)
				})
			}
		}
	})
	administrator := pages.NewSession(t, t.TempDir(), cluster.Kubeconfig)
	administrator.Run(t, block(t, "Recipes", grant))
	for sentence, r := range recipes {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			newReader(t, cluster, kubeconfig).appliesAndUndoes(t, r, administrator)
		})
	}
}
