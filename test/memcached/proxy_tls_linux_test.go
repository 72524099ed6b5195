// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

// TestProxy_ServesTLS: clients speak TLS with the proxy, which speaks none with the nodes; a rotation ends no connection.
func TestProxy_ServesTLS(t *testing.T) {
	t.Parallel()
	before, after := certificate.New(t, "cache"), certificate.New(t, "cache")
	known := certificate.New(t)
	for clientAuth, test := range map[string]struct{ takesNone, takesUnknown bool }{"None": {true, true}, "Request": {true, false}, "Require": {}} {
		t.Run(clientAuth, func(t *testing.T) {
			t.Parallel()
			_, lines := startServers(t, 2)
			p := startProxyFor(t, given{
				spec:    fmt.Sprintf("{proxy: {size: 1}, tls: {secretName: pair, clientAuth: %s, plaintextPort: 11212}}", clientAuth),
				secrets: map[string]secret{"pair": tlsSecret(before, known)},
			}, lines, "")
			old := p.connect(t, trusting(t, before, known))
			testenv.NoError(t, old.Set("key", "value"))
			takes(t, p.port, before, known, test.takesNone, test.takesUnknown)

			p.volumes["tls"].write(t, tlsSecret(after, known))
			var client *memcached.Client
			p.eventually(t, "the proxy shows the new certificate", func() (err error) {
				client, err = dial(t, p.port, trusting(t, after, known))
				return err
			})
			for what, from := range map[string]*memcached.Client{"an old connection": old, "a new connection": client} {
				if value, err := from.Get("key"); err != nil || value != "value" {
					t.Errorf("%s finds %q, %v", what, value, err)
				}
			}
		})
	}
}
