// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	shellpages "github.com/example/memcached-operator/test/pages"
)

// needsRegistry is why a block is not run: the machine of the tests has no registry to push to. What such
// a block builds is built by `make e2e`.
const needsRegistry = "needs a registry"

// blocks says for each shell block of a page, in order, which test runs it, or why none does.
var blocks = map[string][]string{
	"README.md":                      {".ci/run runs these targets", needsRegistry, "TestInstall_README"},
	"docs/user/auth.md":              {"TestPages_AuthAndTLS", "TestPages_AuthAndTLS"},
	"docs/user/check.md":             {"TestCheck"},
	"docs/user/connect.md":           {"TestPages_Connect"},
	"docs/user/diff.md":              slices.Repeat([]string{"TestQuickstart"}, 2),
	"docs/user/install-olm.md":       slices.Concat([]string{needsRegistry}, slices.Repeat([]string{"TestDocs_InstallOLM"}, 7), []string{"is an example that stops an upgrade"}, slices.Repeat([]string{"TestDocs_InstallOLM"}, 2)),
	"docs/user/install.md":           {needsRegistry, "TestInstall_OneFile", "TestInstall_Namespaces", "TestInstall_Helm"},
	"docs/user/kubectl-plugin.md":    {"TestPlugin"},
	"docs/user/metrics.md":           {"TestPages_Metrics"},
	"docs/user/monitoring.md":        {"TestPages_Connect", "TestPages_Grafana"},
	"docs/user/privileged-fields.md": {"TestInstall_OneFile", "TestInstall_PrivilegedFields"},
	"docs/user/quickstart.md":        {"TestQuickstart", "TestQuickstart", "TestQuickstart", "TestQuickstart", "make e2e runs these targets"},
	"docs/user/render.md":            slices.Repeat([]string{"TestRender"}, 2),
	"docs/user/scale.md":             {".ci/run runs the first one; the others take hours"},
	"docs/user/status.md":            {"TestQuickstart", "TestQuickstart"},
	"docs/user/templates.md":         slices.Repeat([]string{"TestTemplates"}, 5),
	"docs/user/tls.md":               {"TestPages_AuthAndTLS", "TestPages_AuthAndTLS"},
	"docs/user/upgrade.md":           {"TestInstall_OneFile", "TestInstall_OneFile", "TestInstall_OneFile", "TestRollOut_HaltsWhenOneIsStalled"},
	"docs/crd-versions.md":           slices.Repeat([]string{"TestVersions_AddStoreMigrateRemove"}, 11),
	"docs/release.md":                {"builds for four platforms", "is an example", "runs for an hour", "is part of make e2e-olm"},
	"manifests/README.md":            slices.Concat(slices.Repeat([]string{"TestRender"}, 4), slices.Repeat([]string{"TestRecipes"}, 12)),
	"docs/testing.md":                {".ci/run runs the first one; the others take hours"},
	"test/README.md":                 {"are single commands of the make targets in .ci/run"},
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testNames returns the names of all tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range files(t, ".", "_test.go") {
		for _, found := range testFunction.FindAllStringSubmatch(read(t, file), -1) {
			names[found[1]] = true
		}
	}
	return names
}

// TestClaims_NameTests checks the table of docs/testing.md: each test exists, and each decision has one.
func TestClaims_NameTests(t *testing.T) {
	t.Parallel()
	tests, page := testNames(t), read(t, "docs/testing.md")
	for _, found := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)").FindAllStringSubmatch(page, -1) {
		if !tests[found[1]] {
			t.Errorf("docs/testing.md names %s, which does not exist", found[1])
		}
	}
	for _, decision := range files(t, "docs/decisions", ".md") {
		if name := strings.TrimPrefix(decision, "docs/"); !strings.Contains(page, name) {
			t.Errorf("docs/testing.md names no test of %s", decision)
		}
	}
}

func TestShellBlocks_AreRun(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	for page, runs := range blocks {
		shell := shellpages.Shell(t, page)
		if len(shell) != len(runs) {
			t.Errorf("%s has %d shell blocks, and %d are run or have a reason", page, len(shell), len(runs))
			continue
		}
		for i, run := range runs {
			if strings.HasPrefix(run, "Test") && !tests[run] {
				t.Errorf("%s is run by %s, which does not exist", shell[i], run)
			}
		}
	}
}
