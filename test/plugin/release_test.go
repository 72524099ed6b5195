// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// manifest is the part of krew's manifest that names archives.
type manifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, ShortDescription, Description, Homepage string

		Platforms []struct {
			Selector         struct{ MatchLabels map[string]string }
			URI, SHA256, Bin string
		}
	}
}

func output(t *testing.T, directory, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = directory
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text)
}

// TestRelease_HasAManifestForKrew builds the archive of this platform; the others are built in the same way.
func TestRelease_HasAManifestForKrew(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	out := filepath.Join(directory, "out")
	output(t, controlplane.Root(), "env", "PLUGIN_PLATFORMS="+platform, "RELEASE_URL=https://example.com/v1.2.3", "hack/plugin.sh", "1.2.3", out)
	content, err := os.ReadFile(filepath.Join(out, "memcached.yaml"))
	testenv.NoError(t, err)
	var m manifest
	testenv.NoError(t, yaml.UnmarshalStrict(content, &m))
	if m.Kind != "Plugin" || m.Metadata.Name != "memcached" || m.Spec.Version != "v1.2.3" || m.Spec.ShortDescription == "" || len(m.Spec.ShortDescription) > 50 || len(m.Spec.Platforms) != 1 {
		t.Fatalf("the manifest is\n%s", content)
	}
	entry := m.Spec.Platforms[0]
	archive := filepath.Join(out, filepath.Base(entry.URI))
	packed, err := os.ReadFile(archive)
	testenv.NoError(t, err)
	sum := sha256.Sum256(packed)
	if entry.SHA256 != hex.EncodeToString(sum[:]) || !strings.HasPrefix(entry.URI, "https://example.com/v1.2.3/kubectl-memcached-1.2.3-") ||
		entry.Selector.MatchLabels["os"]+"/"+entry.Selector.MatchLabels["arch"] != platform {
		t.Errorf("the platform is %+v", entry)
	}
	if files := output(t, directory, "tar", "-xzvf", archive); files != "LICENSE\n"+entry.Bin+"\n" {
		t.Errorf("the archive has\n%s", files)
	}
	binary := filepath.Join(directory, entry.Bin)
	if version := output(t, directory, binary, "--version"); version != "kubectl memcached version 1.2.3\n" {
		t.Errorf("the version is %q", version)
	}
	file, err := elf.Open(binary)
	testenv.NoError(t, err)
	defer file.Close()
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 || file.Section(".interp") != nil {
		t.Errorf("the binary needs %v, %v", libraries, err)
	}
}

// TestOperator_DoesNotContainThePlugin compares the packages of the operator's binary.
func TestOperator_DoesNotContainThePlugin(t *testing.T) {
	t.Parallel()
	packages := output(t, controlplane.Root(), "go", "list", "-deps", ".")
	for _, unwanted := range []string{"memcached-operator/internal/plugin", "k8s.io/cli-runtime", "k8s.io/streaming"} {
		if strings.Contains(packages, unwanted) {
			t.Errorf("the operator's binary contains %s", unwanted)
		}
	}
	if !strings.Contains(packages, "internal/command\n") {
		t.Errorf("these are not the packages of the operator:\n%s", packages)
	}
}
