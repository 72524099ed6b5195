// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/testenv"
)

func TestAuth_RequiresPassword(t *testing.T) {
	t.Parallel()
	server := certificate.New(t, "cache")
	plaintext := freePort(t)
	secrets := map[string]secret{
		"users": {"auth": []byte("alice:one two\nbob:a:b"), "others": []byte("carol:three\n")},
		"pair":  tlsSecret(server),
	}
	tests := map[string]struct {
		spec           string
		config         *tls.Config
		port           string
		user, password string
	}{
		"a password with a space":           {spec: "auth: {secretName: users, key: auth}", user: "alice", password: "one two"},
		"a password with a colon":           {spec: "auth: {secretName: users, key: auth}", user: "bob", password: "a:b"},
		"another key of the Secret":         {spec: "auth: {secretName: users, key: others}", user: "carol", password: "three"},
		"with TLS":                          {spec: "{auth: {secretName: users, key: auth}, tls: {secretName: pair, clientAuth: None}}", config: trusting(t, server), user: "alice", password: "one two"},
		"on the plain-text port beside TLS": {spec: fmt.Sprintf("{auth: {secretName: users, key: auth}, tls: {secretName: pair, clientAuth: None, plaintextPort: %s}}", plaintext), port: plaintext, user: "alice", password: "one two"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, given{spec: test.spec, secrets: secrets})
			if test.port != "" {
				p.connect(t, trusting(t, server))
				p.port = test.port
			}
			for _, wrong := range []string{"", "x", test.password + "x", strings.ToUpper(test.password)} {
				refused(t, "the password "+wrong, p.connect(t, test.config).Login(test.user, wrong), "authentication failure")
			}
			stranger := p.connect(t, test.config)
			_, err := stranger.Get("key")
			refused(t, "a get of a stranger", err, "unauthenticated")
			_, err = stranger.Stats("settings")
			refused(t, "a look at the settings of a stranger", err, "unauthenticated")

			client := p.connect(t, test.config)
			testenv.NoError(t, client.Login(test.user, test.password))
			testenv.NoError(t, client.Set("key", "value"))
			got, err := client.Stats("settings")
			testenv.NoError(t, err)
			if got["auth_enabled_ascii"] == "no" || got["binding_protocol"] != "ascii" {
				t.Errorf("memcached has auth_enabled_ascii %s, binding_protocol %s", got["auth_enabled_ascii"], got["binding_protocol"])
			}
		})
	}
}

// refused fails the test unless err is memcached's refusal.
func refused(t *testing.T, what string, err error, reason string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v, want %s", what, err, reason)
	}
}
