// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// repository is the root of the repository.
const repository = "../.."

// busybox is an image without memcached, and another shell than memcached's own image.
const busybox = "busybox:1.35"

// imageOf is the root directory that stands for an image, and what the image runs when it
// is told nothing.
func imageOf(t *testing.T, image string) (dir string, entrypoint []string) {
	t.Helper()
	name, _, _ := strings.Cut(image, ":")
	switch name {
	case "docker.io/library/memcached":
		return unpacked(t), []string{"memcached"}
	case "docker.io/prom/memcached-exporter":
		return imageWith(t, filepath.Join(repository, "bin", "memcached_exporter")), []string{"memcached_exporter"}
	case "memcached-operator-exporter":
		return imageWith(t, filepath.Join(repository, "bin", "memcached-operator")), []string{"memcached-operator"}
	case "busybox":
		return imageWith(t, filepath.Join(unpacked(t), "usr", "bin", "busybox"), "sh", "cat", "sha256sum", "sleep", "kill", "nc"), nil
	}
	t.Fatalf("there is no image %s here", image)
	return "", nil
}

// imageWith is a root directory with one program in it, under other names, too.
func imageWith(t *testing.T, program string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{"usr/bin", "dev", "etc", "proc", "sys"} {
		testenv.NoError(t, os.MkdirAll(filepath.Join(dir, path), 0o755))
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "etc", "hosts"), nil, 0o600))
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatalf("run make test: %v", err)
	}
	file := filepath.Join(dir, "usr", "bin", filepath.Base(program))
	testenv.NoError(t, os.WriteFile(file, content, 0o755))
	for _, name := range names {
		testenv.NoError(t, os.Symlink(filepath.Base(program), filepath.Join(filepath.Dir(file), name)))
	}
	return dir
}

// unpacked is the root directory with memcached in it, which hack/memcached.sh makes.
func unpacked(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(repository, "bin", "memcached-root"))
	testenv.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "usr", "bin", "memcached")); err == nil {
		return dir
	}
	release, err := os.ReadFile("/etc/os-release")
	if err == nil && regexp.MustCompile(`(?m)^ID=debian$`).Match(release) {
		t.Fatal("bin/memcached-root has no memcached: run make test, or hack/memcached.sh")
	}
	t.Skip("the real memcached comes from Debian's packages, and this is not Debian")
	return ""
}
