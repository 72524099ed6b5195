// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

// reader follows the pages about the Memcached `cache` in the namespace `shop`, which is called otherwise
// here.
type reader struct {
	*pages.Session
	namespace string
	// address is the local address in place of the page's.
	address string
}

func newReader(t *testing.T, pagePort string) *reader {
	t.Helper()
	// Not restricted, as a new namespace is.
	namespace := suite.NewNamespace(t, "pod-security.kubernetes.io/enforce", "baseline")
	r := &reader{Session: pages.NewSession(t, t.TempDir(), suite.Kubeconfig), namespace: namespace}
	r.address = testenv.FreeAddress(t)
	host, port, _ := net.SplitHostPort(r.address)
	r.Replace = strings.NewReplacer(
		"-n shop", "-n "+namespace, "namespace: shop", "namespace: "+namespace,
		"deployment/cache "+pagePort, "deployment/cache --address="+host+" "+port+":"+pagePort, "localhost:"+pagePort, r.address)
	return r
}

func (r *reader) write(t *testing.T, name string, content []byte) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(filepath.Join(r.Directory, name), content, 0o600))
}

// apply applies the first Memcached of a page, with edits, and waits until it is ready.
func (r *reader) apply(t *testing.T, page string, edits ...func(*cachev1alpha1.MemcachedSpec)) {
	t.Helper()
	for _, b := range pages.Read(t, page) {
		if b.Language == "yaml" && strings.Contains(b.Content, "kind: Memcached\n") {
			mc := &cachev1alpha1.Memcached{}
			testenv.NoError(t, yaml.Unmarshal([]byte(b.Content), mc))
			suite.Ready(t, suite.NewMemcached(t, r.namespace, mc.Name, 1, append([]func(*cachev1alpha1.MemcachedSpec){
				func(spec *cachev1alpha1.MemcachedSpec) { *spec = mc.Spec },
			}, edits...)...))
			return
		}
	}
	t.Fatalf("%s has no Memcached", page)
}

// forwardAndRun runs a block whose first line forwards a port in the background.
func (r *reader) forwardAndRun(t *testing.T, b pages.Block) string {
	t.Helper()
	forward, rest := b, b
	var isBackground bool
	forward.Content, rest.Content, _ = strings.Cut(b.Content, "\n")
	if forward.Content, isBackground = strings.CutSuffix(forward.Content, " &"); !isBackground {
		t.Fatalf("%s does not begin with a command in the background", b)
	}
	r.Start(t, forward)
	testenv.Eventually(t, "the port should be forwarded", func() bool {
		connection, err := net.Dial("tcp", r.address)
		if err == nil {
			err = connection.Close()
		}
		return err == nil
	})
	return r.Run(t, rest)
}

// mustPrint fails unless printed has all of want.
func mustPrint(t *testing.T, b pages.Block, printed string, want ...string) {
	t.Helper()
	for _, words := range want {
		if !strings.Contains(printed, words) {
			t.Errorf("%s does not print %q but:\n%s", b, words, printed)
		}
	}
}

func TestPages_AuthAndTLS(t *testing.T) {
	parallel(t)
	auth, tls := pages.Shell(t, "docs/user/auth.md"), pages.Shell(t, "docs/user/tls.md")
	r := newReader(t, "11211")
	pair := certificate.New(t, "cache."+r.namespace+".svc")
	r.write(t, "tls.crt", pair.Certificate)
	r.write(t, "tls.key", pair.Key)
	r.write(t, "ca.crt", pair.Certificate)
	for i, part := range tls[0].Alternatives() {
		if i > 0 {
			suite.Kubectl(t, "-n", r.namespace, "delete", "secret/cache-tls")
		}
		r.Run(t, part)
	}
	r.Run(t, auth[0])
	r.apply(t, "docs/user/auth.md")
	mustPrint(t, tls[1], r.forwardAndRun(t, tls[1]), "notAfter=")
	mustPrint(t, auth[1], r.Run(t, auth[1]), "STORED", "END")
}

func TestPages_Connect(t *testing.T) {
	parallel(t)
	connect, monitoring := pages.Shell(t, "docs/user/connect.md"), pages.Shell(t, "docs/user/monitoring.md")
	r := newReader(t, "9150")
	r.apply(t, "docs/user/monitoring.md")
	mustPrint(t, connect[0], r.Run(t, connect[0]), "STORED", "hello", "END")
	mustPrint(t, monitoring[0], r.forwardAndRun(t, monitoring[0]), "memcached_up 1")
}
