// SPDX-License-Identifier: Apache-2.0

package render

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/reconcilers/render/template"
)

var update = flag.Bool("update", false, "write the rendered objects to testdata/golden")

const (
	goldenDir   = "testdata/golden"
	plainGolden = "plain.yaml"
	fullGolden  = "full.yaml"

	// goldenHelp is part of each failure.
	goldenHelp = `The golden files guard docs/decisions/0007-an-upgrade-rolls-no-cache.md: a changed pod template replaces the pods of
every Memcached that has it, and their caches are lost. If the change is intended, announce it and write the files:

	go test ./reconcilers/render -run Golden -update`

	// maxDiffLines and maxDiffs bound the output of a failure.
	maxDiffLines = 40
	maxDiffs     = 2
)

// TestRender_Golden renders testdata/memcacheds and compares the objects, byte for byte, with
// testdata/golden: plain.yaml and full.yaml hold whole objects, each other file the
// difference from one of them.
func TestRender_Golden(t *testing.T) {
	buildsTemplates(t)
	r := permissive(t)
	var mu sync.Mutex
	rendered := map[string]string{}
	// A file that is taken as it is, of hundreds of lines, is named and not repeated.
	script := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(readFile(t, "../../manifests/components/proxy/proxy.lua"), "    $1")
	t.Run("case", func(t *testing.T) {
		forEveryMemcached(t, func(t *testing.T, file string) {
			mc := readMemcached(t, file)
			objects := mustRender(t, r, mc)
			mustBeSame(t, "rendered again", mustRender(t, r, mc), objects)
			built, always := mustFullBuild(t, r, mc)
			mustBeSame(t, "against a full build", objects, built)
			containers, _ := template.Lookup(find(t, objects, "Deployment", mc.Name).Object, containerField()[:4]).([]any)
			if first := template.Lookup(containers, []any{0, "name"}); first != "memcached" && len(mc.Spec.Patches) == 0 {
				t.Errorf("the first container is %v, which components patch as memcached's", first)
			}
			if always {
				t.Error("the shipped templates are rendered by full builds, which is slow: see template.valueDependence")
			}
			types := template.NewValidator()
			for _, object := range objects {
				if err := types.Validate(object); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			rendered[strings.TrimSuffix(filepath.Base(file), ".yaml")] = strings.ReplaceAll(toDocuments(t, objects), script, "    # components/proxy/proxy.lua\n")
		})
	})
	if *update {
		writeGoldens(t, rendered)
	}
	want := readGoldens(t)
	if report := compareGoldens(want, rendered); report != "" {
		t.Error(report)
	}
}

// writeGoldens writes the golden file of each rendered case and removes all others.
func writeGoldens(t *testing.T, rendered map[string]string) {
	t.Helper()
	if rendered["plain"] == "" || rendered["full"] == "" {
		t.Fatal("-update needs all cases: run it with -run Golden")
	}
	noError(t, os.RemoveAll(goldenDir))
	noError(t, os.MkdirAll(goldenDir, 0o750))
	bases := map[string]string{plainGolden: rendered["plain"], fullGolden: rendered["full"]}
	for name, text := range bases {
		writeFile(t, filepath.Join(goldenDir, name), text)
	}
	for name, text := range rendered {
		if bases[name+".yaml"] != "" {
			continue
		}
		from, hunks := plainGolden, difference(bases[plainGolden], text)
		if shorter := difference(bases[fullGolden], text); strings.Count(shorter, "\n") < strings.Count(hunks, "\n") {
			from, hunks = fullGolden, shorter
		}
		if got, err := applyDifference(bases[from], hunks); err != nil || got != text {
			t.Fatalf("the difference of %s does not reproduce it: %v", name, err)
		}
		writeFile(t, filepath.Join(goldenDir, name+".diff"), fmt.Sprintf("--- %s\n+++ %s\n%s", from, name, hunks))
	}
}

// readGoldens returns the whole objects of each golden file. A file without a case is an
// error; a case without a file differs from nothing.
func readGoldens(t *testing.T) map[string]string {
	t.Helper()
	bases := map[string]string{plainGolden: readFile(t, filepath.Join(goldenDir, plainGolden)), fullGolden: readFile(t, filepath.Join(goldenDir, fullGolden))}
	want := map[string]string{"plain": bases[plainGolden], "full": bases[fullGolden]}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*"))
	noError(t, err)
	for _, file := range files {
		name, isDiff := strings.CutSuffix(filepath.Base(file), ".diff")
		if _, err := os.Stat(filepath.Join("testdata/memcacheds", strings.TrimSuffix(name, ".yaml")+".yaml")); err != nil {
			t.Errorf("%s has no case; remove it: %v", file, err)
		}
		if !isDiff {
			continue
		}
		from, hunks, err := cutHeader(readFile(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if want[name], err = applyDifference(bases[from], hunks); err != nil {
			t.Errorf("%s does not apply to %s: %v", file, from, err)
		}
	}
	return want
}

// compareGoldens returns a report of the differences, each once with the cases that have it;
// empty if there are none.
func compareGoldens(want, got map[string]string) string {
	cases := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want[name] != got[name] {
			diff := changedLines(difference(want[name], got[name]))
			cases[diff] = append(cases[diff], name)
		}
	}
	if len(cases) == 0 {
		return ""
	}
	diffs := slices.SortedFunc(maps.Keys(cases), func(a, b string) int {
		if c := len(cases[b]) - len(cases[a]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	var report strings.Builder
	for i, diff := range diffs {
		if i == maxDiffs {
			fmt.Fprintf(&report, "\n%d other differences\n", len(diffs)-maxDiffs)
			break
		}
		names := cases[diff]
		fmt.Fprintf(&report, "\nthe rendered objects differ from the golden files (- golden, + rendered) in %d of %d cases: %s\n%s",
			len(names), len(got), strings.Join(names[:min(len(names), 5)], ", "), firstLines(diff, maxDiffLines))
	}
	return report.String() + "\n" + goldenHelp
}

// changedLines returns the removed and added lines of a difference, without context, so that
// equal changes of different cases are equal.
func changedLines(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if line[0] != ' ' {
			b.WriteString(line)
		}
	}
	return b.String()
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= n {
		return text
	}
	return strings.Join(lines[:n], "") + fmt.Sprintf("(%d more lines)\n", len(lines)-n)
}

// TestGolden_ReportsAChangeOnce shows that a new object in all cases gives a short report.
func TestGolden_ReportsAChangeOnce(t *testing.T) {
	t.Parallel()
	want, got := map[string]string{}, map[string]string{}
	object := "---\napiVersion: batch/v1\nkind: CronJob\n" + strings.Repeat("  line: x\n", 200)
	for i := range 70 {
		name := fmt.Sprintf("case-%d", i)
		want[name] = fmt.Sprintf("kind: Service\nname: %d\n", i)
		got[name] = want[name] + object
	}
	report := compareGoldens(want, got)
	if lines := strings.Count(report, "\n"); lines > 60 {
		t.Errorf("the report has %d lines", lines)
	}
	for _, part := range []string{"in 70 of 70 cases", "+kind: CronJob", "-run Golden -update", "0007-an-upgrade-rolls-no-cache.md"} {
		if !strings.Contains(report, part) {
			t.Errorf("the report does not contain %q:\n%s", part, report)
		}
	}
}

// TestGolden_NoticesEveryByte changes bytes of the rendered objects, one at a time.
func TestGolden_NoticesEveryByte(t *testing.T) {
	t.Parallel()
	text := readFile(t, filepath.Join(goldenDir, plainGolden))
	for i := 0; i < len(text); i += 7 {
		changed := text[:i] + string([]byte{text[i] ^ 1}) + text[i+1:]
		if compareGoldens(map[string]string{"plain": text}, map[string]string{"plain": changed}) == "" {
			t.Fatalf("a change of byte %d is not reported", i)
		}
	}
}

// TestGolden_PodTemplate compares the part of the plain objects that determines whether pods are
// replaced with a file of its own, so that a change of it stands out in a review.
func TestGolden_PodTemplate(t *testing.T) {
	t.Parallel()
	objects := mustRender(t, mustNew(t, shipped(t), Defaults{}), readMemcached(t, "testdata/memcacheds/plain.yaml"))
	pod, found, err := unstructured.NestedMap(find(t, objects, "Deployment", "cache").Object, "spec", "template")
	if err != nil || !found {
		t.Fatalf("the Deployment has no pod template: %v", err)
	}
	const file = "testdata/pod-template.yaml"
	got := toYAML(t, pod)
	if *update {
		writeFile(t, file, got)
	}
	if want := readFile(t, file); got != want {
		t.Errorf("%s differs from the rendered pod template (- golden, + rendered):\n%s\n%s", file, firstLines(difference(want, got), maxDiffLines), goldenHelp)
	}
}

// toDocuments returns objects as YAML documents.
func toDocuments(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var documents []string
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		noError(t, err)
		documents = append(documents, string(text))
	}
	return strings.Join(documents, "---\n")
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	noError(t, os.WriteFile(file, []byte(text), 0o600))
}
