// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/certificate"
	"github.com/example/memcached-operator/test/pages"
	"github.com/example/memcached-operator/test/testenv"
)

// recipe returns the templates that a recipe of manifests/README.md writes, with replace instead of the page's values.
func recipe(t *testing.T, section string, replace ...string) fs.FS {
	t.Helper()
	const page = "manifests/README.md"
	session := pages.NewSession(t, t.TempDir(), "")
	session.Replace = strings.NewReplacer(replace...)
	session.Run(t, pages.InSection(t, page, "Recipes", 0))
	session.Run(t, pages.InSection(t, page, section, 0))
	return os.DirFS(filepath.Join(session.Directory, "site"))
}

func TestRecipes_SecondPort(t *testing.T) {
	t.Parallel()
	server := certificate.New(t, "cache")
	plaintext := freePort(t)
	for sentence, test := range map[string]struct {
		spec string
		// ports are served beside the Memcached's and the second one, all of them with the same items.
		plaintext []string
		tls       bool
	}{
		"serves both ports":                        {},
		"serves both ports with TLS":               {spec: "tls: {secretName: pair, clientAuth: None}", tls: true},
		"serves three ports beside plaintext port": {spec: "tls: {secretName: pair, clientAuth: None, plaintextPort: " + plaintext + "}", tls: true, plaintext: []string{plaintext}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			second := freePort(t)
			p := start(t, given{spec: test.spec, site: recipe(t, "Second port", "11299", second), secrets: map[string]secret{"pair": tlsSecret(server)}})
			config := trusting(t, server)
			if !test.tls {
				config = nil
			}
			testenv.NoError(t, p.connect(t, config).Set("key", "value"))
			client, err := dial(t, second, config)
			testenv.NoError(t, err)
			if value, err := client.Get("key"); err != nil || value != "value" {
				t.Errorf("the second port shows %q, %v", value, err)
			}
			for _, port := range test.plaintext {
				testenv.NoError(t, answers(t, port, nil))
			}
		})
	}
}

func TestRecipes_Sidecar(t *testing.T) {
	t.Parallel()
	p := start(t, given{site: recipe(t, "Sidecar")})
	p.eventually(t, "the sidecar prints statistics", func() error {
		if text := p.output.String(); !strings.Contains(text, "STAT uptime ") || !strings.Contains(text, "\nEND") {
			return errors.New("it has not")
		}
		return nil
	})
}
