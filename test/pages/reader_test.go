// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"os"
	"os/exec"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// reader is a reader with a checkout of the repository and an empty cluster, whose simulated node makes
// pods ready.
type reader struct {
	*testenv.Env
	*Session
}

func newReader(t *testing.T) *reader {
	t.Helper()
	env := testenv.New(t, testenv.Setup{})
	r := &reader{env, NewSession(t, checkout(t), env.Kubeconfig)}
	r.Run(t, shell("kubectl delete customresourcedefinition memcacheds.cache.example.com"))
	return r
}

// checkout returns a directory with a copy of the repository, committed to git, and links to the tools in
// bin/. What is built in it stays there.
func checkout(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `
git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || cp -a --parents "$f" "$0"; done' "$1"
cp -as "$PWD/bin" "$1/bin"
rm -f "$1/bin/memcached-operator"
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
