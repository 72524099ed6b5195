// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"text/tabwriter"
)

// table is what the suite reports in the end.
type table struct {
	mu   sync.Mutex
	rows []*row
}

// row is a goal, what was measured, and whether it was met.
type row struct {
	goal, figure string
	violated     bool
}

// measure adds a goal to the table. It is met when t passes; the test says by set what was
// measured.
func measure(t *testing.T, goal string) *row {
	t.Helper()
	r := &row{goal: goal, figure: "not measured"}
	suite.table.mu.Lock()
	defer suite.table.mu.Unlock()
	suite.table.rows = append(suite.table.rows, r)
	t.Cleanup(func() { r.violated = t.Failed() })
	return r
}

// set sets the figure.
func (r *row) set(format string, arguments ...any) {
	r.figure = fmt.Sprintf(format, arguments...)
}

// print writes the table and returns the number of violations.
func (b *table) print(w io.Writer) int {
	violations := 0
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(cells ...any) {
		// What cannot be printed is lost; the exit status tells the same.
		_, _ = fmt.Fprintf(out, "%s\t%s\t%s\n", cells...)
	}
	line("goal", "figure", "result")
	for _, r := range b.rows {
		result := "met"
		if r.violated {
			result = "VIOLATED"
			violations++
		}
		line(r.goal, r.figure, result)
	}
	_ = out.Flush()
	return violations
}
