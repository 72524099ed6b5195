// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// clusters has the kubeconfigs of the clusters that no reader has now. Their simulated nodes make pods ready.
var clusters = make(chan string, 2)

func TestMain(m *testing.M) {
	var suite testenv.Env
	os.Exit(testenv.Main(m, &suite, testenv.Setup{Prepare: func(context.Context) error {
		other, err := controlplane.Start()
		if err != nil {
			return err
		}
		suite.Cleanup(other.Stop)
		clusters <- suite.Kubeconfig
		clusters <- other.Kubeconfig
		return nil
	}}))
}

// reader is a reader with a checkout of the repository and a cluster without an operator.
type reader struct{ *Session }

// leaveNothing deletes what the pages install.
const leaveNothing = `
kubectl delete namespace --ignore-not-found memcached-operator-system memcached-operator-local team-a team-b monitoring
kubectl get customresourcedefinitions,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,validatingwebhookconfigurations -o name |
  { grep memcached || true; } | xargs -r kubectl delete
`

func newReader(t *testing.T) *reader {
	t.Helper()
	kubeconfig := <-clusters
	t.Cleanup(func() { clusters <- kubeconfig })
	r := &reader{NewSession(t, checkout(t), kubeconfig)}
	r.Run(t, shell(leaveNothing))
	return r
}

// checkout returns a directory with a copy of the repository, committed to git, and links to the tools in
// bin/. What is built in it stays there; the operator of `make build` is copied, so that it is linked again only where its source is
// changed.
func checkout(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `
git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || cp -a --parents "$f" "$0"; done' "$1"
cp -as "$PWD/bin" "$1/bin"
[ ! -e bin/memcached-operator ] || cp --remove-destination bin/memcached-operator "$1/bin"
cd "$1"
git init -q
git add -A
git -c user.name=reader -c user.email=reader@example.com commit -qm copy
`, "checkout", directory)
	command.Dir = controlplane.Root()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return directory
}

// shell returns a block of commands that is not on a page, for what a page expects to be there.
func shell(commands string) Block {
	return Block{Page: "the test", Content: commands}
}

// nth returns the nth shell block of a page, from 1.
func nth(t *testing.T, page string, n int) Block {
	t.Helper()
	blocks := Shell(t, page)
	if len(blocks) < n {
		t.Fatalf("%s has %d shell blocks", page, len(blocks))
	}
	return blocks[n-1]
}
