// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// contextLines is the number of unchanged lines around a change, as in diff -u.
const contextLines = 3

// Print prints a unified diff of each change, as YAML.
func Print(out io.Writer, comparisons []Comparison) error {
	for _, c := range comparisons {
		for _, change := range c.Changes {
			text, err := unified(change)
			if err != nil {
				return fmt.Errorf("%s in namespace %s: %w", change.describe(), c.Namespace, err)
			}
			if _, err := io.WriteString(out, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func unified(c Change) (string, error) {
	before, err := lines(c.Before)
	if err != nil {
		return "", err
	}
	after, err := lines(c.After)
	if err != nil {
		return "", err
	}
	object := c.object()
	name := strings.Join([]string{object.GetKind(), object.GetNamespace(), object.GetName()}, "/")
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: before, B: after, FromFile: fileName("live/", name, c.Before), ToFile: fileName("rendered/", name, c.After), Context: contextLines,
	})
}

// fileName names a side of a diff, /dev/null if the object does not exist on it.
func fileName(side, name string, object *unstructured.Unstructured) string {
	if object == nil {
		return "/dev/null"
	}
	return side + name
}

func lines(object *unstructured.Unstructured) ([]string, error) {
	if object == nil {
		return nil, nil
	}
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	return slices.Collect(strings.Lines(string(text))), nil
}

// PrintSummary prints how many objects differ, and whose pods would be replaced.
func PrintSummary(out io.Writer, comparisons []Comparison) error {
	var created, changed, deleted, differing, replaced int
	var pods int64
	for _, c := range comparisons {
		for _, change := range c.Changes {
			switch {
			case change.Before == nil:
				created++
			case change.After == nil:
				deleted++
			default:
				changed++
			}
		}
		if len(c.Changes) > 0 {
			differing++
		}
		if len(c.Replacements) > 0 {
			replaced++
		}
		for _, r := range c.Replacements {
			pods += r.Pods
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "%d of %d Memcacheds differ: %d objects to create, %d to change, %d to delete.\n", differing, len(comparisons), created, changed, deleted)
	if skipped := skippedKinds(comparisons); len(skipped) > 0 {
		fmt.Fprintf(w, "Skipped, since the API server does not serve them: %s.\n", strings.Join(skipped, ", "))
	}
	if replaced == 0 {
		fmt.Fprintln(w, "No pods would be replaced.")
		return w.Flush()
	}
	fmt.Fprintf(w, "The pods of %d of them would be replaced, %d in all:\n", replaced, pods)
	fmt.Fprintln(w, "NAMESPACE\tNAME\tPODS\tBECAUSE OF")
	for _, c := range comparisons {
		for _, r := range c.Replacements {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s %s: %s\n", c.Namespace, c.Name, r.Pods, r.Kind, r.Name, reason(r))
		}
	}
	return w.Flush()
}

// skippedKinds returns the kinds that any of comparisons skips, sorted.
func skippedKinds(comparisons []Comparison) []string {
	var kinds []string
	for _, c := range comparisons {
		kinds = append(kinds, c.Skipped...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// maxFields is the number of fields that the summary names of one workload.
const maxFields = 3

func reason(r Replacement) string {
	switch {
	case len(r.Fields) == 0:
		return "deleted"
	case len(r.Fields) > maxFields:
		return fmt.Sprintf("%s and %d more", strings.Join(r.Fields[:maxFields], ", "), len(r.Fields)-maxFields)
	default:
		return strings.Join(r.Fields, ", ")
	}
}
