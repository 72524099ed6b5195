// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"strings"
	"testing"
)

const (
	deployment = "deployment/memcached-operator-controller-manager"
	rolledOut  = "kubectl -n memcached-operator-system rollout status --timeout=120s " + deployment
)

// The operator's pod is simulated here; `make e2e` runs it.
func TestInstall_README(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.Run(t, shell("export IMG=registry.example.com/memcached-operator:0.0.1"))
	alternatives := nth(t, "README.md", 2).Alternatives()
	removals := []string{
		"make undeploy IMG=$IMG", "kubectl delete -f dist/install.yaml",
		"helm uninstall memcached-operator --namespace memcached-operator-system",
	}
	if len(alternatives) != len(removals) {
		t.Fatalf("the README has %d ways to install", len(alternatives))
	}
	for i, alternative := range alternatives {
		r.Run(t, alternative)
		r.Run(t, shell(rolledOut))
		r.Run(t, shell(removals[i]))
	}
}

func TestInstall_OneFile(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.Run(t, nth(t, "docs/user/install.md", 2))
	upgrade := nth(t, "docs/user/upgrade.md", 1).Alternatives()
	for _, part := range upgrade[:2] { // the third one is Helm's
		r.Run(t, part)
	}
	if image := r.Run(t, shell("kubectl -n memcached-operator-system get "+deployment+" -o jsonpath='{.spec.template.spec.containers[0].image}'")); !strings.HasSuffix(image, ":0.0.2") {
		t.Errorf("after the upgrade the image is %s", image)
	}
	r.Run(t, nth(t, "docs/user/upgrade.md", 2))
	r.Run(t, nth(t, "docs/user/upgrade.md", 3))
	r.Run(t, nth(t, "docs/user/privileged-fields.md", 1))
}

func TestInstall_Namespaces(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.Run(t, shell("kubectl create namespace team-a; kubectl create namespace team-b"))
	r.Run(t, nth(t, "docs/user/install.md", 3))
	r.Run(t, shell(rolledOut))
	parts := nth(t, "docs/user/privileged-fields.md", 2).Alternatives()
	r.Run(t, parts[len(parts)-1])
	r.Run(t, shell(rolledOut))
}

func TestInstall_Helm(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.Run(t, nth(t, "docs/user/install.md", 4))
	r.Run(t, shell(rolledOut))
	upgrade := nth(t, "docs/user/upgrade.md", 1).Alternatives()
	r.Run(t, upgrade[len(upgrade)-1])
	r.Run(t, shell(rolledOut))
}

func TestInstall_PrivilegedFields(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.Run(t, shell("kubectl create namespace team-a && helm install memcached-operator charts/memcached-operator --namespace memcached-operator-system --create-namespace --set 'watchNamespaces={team-a}'"))
	for _, part := range nth(t, "docs/user/privileged-fields.md", 2).Alternatives() {
		if strings.Contains(part.Content, "helm upgrade") {
			r.Run(t, part)
			r.Run(t, shell(rolledOut))
			return
		}
	}
	t.Fatal("there is no block for Helm")
}
