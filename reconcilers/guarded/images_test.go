// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"slices"
	"strings"
	"testing"
)

// Test/guard sends the images of this kind to the policy, and compares.
func TestRepository_RemovesTagAndDigest(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("0", 64)
	for image, want := range map[string]string{
		"memcached":                             "memcached",
		"memcached:1.6.45":                      "memcached",
		"memcached" + digest:                    "memcached",
		"memcached:1.6.45" + digest:             "memcached",
		"memcached:5000/x":                      "memcached:5000/x",
		"memcached:5000/x:1":                    "memcached:5000/x",
		"registry.example.com:5000/memcached":   "registry.example.com:5000/memcached",
		"registry.example.com:5000/memcached:1": "registry.example.com:5000/memcached",
		"registry.example.com/a/b/memcached:1":  "registry.example.com/a/b/memcached",
		"[::1]:5000/memcached:1":                "[::1]:5000/memcached",
		"[::1]/memcached":                       "[::1]/memcached",
		"sha256:0123456789abcdef":               "sha256",
		"":                                      "",
	} {
		if got := Repository(image); got != want {
			t.Errorf("the repository of %q is %q, want %q", image, got, want)
		}
	}
}

func TestImages_AllowRepositoriesAndPrefixes(t *testing.T) {
	t.Parallel()
	images, err := ParseImages("memcached, registry.example.com/cache/*,localhost:5000/memcached,,")
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]bool{
		"memcached":                                     true,
		"memcached:1.6.45-alpine":                       true,
		"memcached@sha256:0123":                         true,
		"memcached:5000/evil/x":                         false,
		"memcached-evil":                                false,
		"evil/memcached":                                false,
		"memcached/evil":                                false,
		"docker.io/library/memcached:1":                 true,
		"docker.io/memcached":                           true,
		"library/memcached":                             true,
		"docker.io/library/memcached/evil":              false,
		"docker.io/evil/memcached":                      false,
		"DOCKER.io/library/memcached":                   false,
		"docker.io":                                     false,
		"Memcached":                                     false,
		"registry.example.com/cache/memcached":          true,
		"registry.example.com/cache/a/b/memcached:1":    true,
		"registry.example.com/cache":                    false,
		"registry.example.com/cache-evil/memcached":     false,
		"registry.example.com.evil.org/cache/memcached": false,
		"registry.example.com:443/cache/memcached":      false,
		"registry.example.com/cache/../evil":            false,
		"localhost:5000/memcached:1":                    true,
		"localhost:5000/evil":                           false,
		"localhost/memcached":                           false,
		"":                                              false,
	} {
		if got := images.Allow(image); got != want {
			t.Errorf("%q is allowed: %v, want %v", image, got, want)
		}
	}
	if all, err := ParseImages("*"); err != nil || !all.Allow("registry.example.com/any:1") {
		t.Errorf("* does not allow all: %v", err)
	}
}

func TestParseImages_RejectsInvalidPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"memcached:1.6.45":             `"memcached:1.6.45" has a tag or a digest; leave it out`,
		"memcached@sha256:0":           "has a tag or a digest",
		"registry.example.com:5000":    "has a tag or a digest",
		"memcached*":                   "has * elsewhere than behind its last slash",
		"registry.example.com*":        "has * elsewhere",
		"registry.example.com/*/cache": "has * elsewhere",
		"*/memcached":                  "has * elsewhere",
		"registry.example.com/**":      "has * elsewhere",
		"memcached evil":               "is not a repository",
		"registry.example.com/../evil": "is not a repository",
		"registry.example.com/":        "is not a repository",
		"/memcached":                   "is not a repository",
		"a//b":                         "is not a repository",
		"a'] + ['b":                    "is not a repository",
		"mémcached":                    "is not a repository",
	} {
		if images, err := ParseImages("prom/memcached-exporter," + pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is parsed as %q, %v", pattern, images, err)
		}
	}
}

func TestRepositories_NamesEachOnce(t *testing.T) {
	t.Parallel()
	got := Repositories("memcached:1", "", "example.com/exporter@sha256:0", "memcached:2")
	if want := (Images{"memcached", "example.com/exporter"}); !slices.Equal(got, want) {
		t.Errorf("the repositories are %q, want %q", got, want)
	}
}
