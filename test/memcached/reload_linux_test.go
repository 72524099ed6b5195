// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"crypto/tls"
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

// secured is a pod with TLS, client certificates and users.
const secured = "{auth: {secretName: users, key: auth}, tls: {secretName: pair, clientAuth: Require}}"

func users(lines string) secret { return secret{"auth": []byte(lines)} }

// TestReload_OnChangedFiles rotates both Secrets: what is in the cache stays, and so do connections.
func TestReload_OnChangedFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ reloader string }{
		"with the shell of memcached's own image": {},
		"with busybox's shell":                    {busybox},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := certificate.New(t, "cache"), certificate.New(t, "cache")
			known, newcomer := certificate.New(t), certificate.New(t)
			p := start(t, given{spec: secured, reloader: test.reloader, secrets: map[string]secret{
				"users": users("alice:one\nbob:two\n"),
				"pair":  tlsSecret(before, known),
			}})
			old := p.connect(t, trusting(t, before, known))
			testenv.NoError(t, old.Login("alice", "one"))
			testenv.NoError(t, old.Set("key", "value"))

			p.volumes["tls"].write(t, tlsSecret(after, known, newcomer))
			p.volumes["auth"].write(t, users("alice:uno\ncarol:three\n"))
			var client *memcached.Client
			p.eventually(t, "memcached shows the new certificate, and takes a client of the new authority", func() (err error) {
				if client, err = dial(t, p.port, trusting(t, after, newcomer)); err != nil {
					return err
				}
				return client.Login("carol", "three")
			})
			for what, from := range map[string]*memcached.Client{"an old connection": old, "a new connection": client} {
				if value, err := from.Get("key"); err != nil || value != "value" {
					t.Errorf("%s finds %q, %v; want what was in the cache before", what, value, err)
				}
			}
			for user, password := range map[string]string{"alice": "one", "bob": "two"} {
				refused(t, "the old password of "+user, p.connect(t, trusting(t, after, known)).Login(user, password), "authentication failure")
			}
			testenv.NoError(t, p.connect(t, trusting(t, after, known)).Login("alice", "uno"))
			if answers(t, p.port, trusting(t, before, known)) == nil {
				t.Error("memcached still shows the old certificate")
			}
		})
	}
}

// TestReload_KeepsServingOnBrokenFiles sees that files which cannot be used cost nothing, and that the
// next good ones are.
func TestReload_KeepsServingOnBrokenFiles(t *testing.T) {
	t.Parallel()
	first, second, client := certificate.New(t, "cache"), certificate.New(t, "cache"), certificate.New(t)
	broken := tlsSecret(second, client)
	broken["tls.crt"] = second.Certificate[:len(second.Certificate)/2]
	tests := map[string]struct{ users, pair secret }{
		"a certificate of which half is there": {users("alice:two\n"), broken},
		"an empty certificate":                 {users("alice:two\n"), secret{"tls.crt": nil, "tls.key": nil, "ca.crt": nil}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, given{spec: secured, secrets: map[string]secret{"users": users("alice:one\n"), "pair": tlsSecret(first, client)}})
			testenv.NoError(t, p.connect(t, trusting(t, first, client)).Login("alice", "one"))

			// Passwords are read at the same moment, so that theirs tells that it came.
			p.volumes["tls"].write(t, test.pair)
			p.volumes["auth"].write(t, test.users)
			p.eventually(t, "memcached takes the new password, with the certificate it had", func() error {
				return login(t, p, trusting(t, first, client), "alice", "two")
			})

			// No user at all is no password file: those who were stay.
			p.volumes["tls"].write(t, tlsSecret(second, client))
			p.volumes["auth"].write(t, users(""))
			p.eventually(t, "memcached shows the new certificate", func() error {
				return login(t, p, trusting(t, second, client), "alice", "two")
			})
			if err := login(t, p, trusting(t, second, client), "", ""); err == nil {
				t.Error("memcached lets strangers in")
			}
		})
	}
}

// TestReload_DropsAuthority pins a limit of memcached that docs/user/tls.md tells: a reload adds
// authorities for client certificates and drops none. When this fails, memcached has
// learned it.
func TestReload_DropsAuthority(t *testing.T) {
	t.Parallel()
	first, second, dropped, kept := certificate.New(t, "cache"), certificate.New(t, "cache"), certificate.New(t), certificate.New(t)
	p := start(t, given{spec: "tls: {secretName: pair, clientAuth: Require}", secrets: map[string]secret{"pair": tlsSecret(first, dropped)}})
	p.connect(t, trusting(t, first, dropped))
	p.volumes["tls"].write(t, tlsSecret(second, kept))
	p.eventually(t, "memcached takes a client of the new authority", func() error {
		return answers(t, p.port, trusting(t, second, kept))
	})
	if err := answers(t, p.port, trusting(t, second, dropped)); err != nil {
		t.Errorf("memcached dropped an authority without a restart: %v", err)
	}
}

// login tells whether memcached takes a user on a new connection.
func login(t *testing.T, p *pod, config *tls.Config, user, password string) error {
	t.Helper()
	client, err := dial(t, p.port, config)
	if err != nil {
		return err
	}
	return client.Login(user, password)
}
