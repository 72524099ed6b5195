// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"k8s.io/cli-runtime/pkg/printers"
)

// table is rows of cells below a head. A row that is shorter than the head may end in text of any length.
type table struct {
	head []string
	rows [][]string
}

// add adds a row. Cells are text of the cluster and of memcached: what would end them or control the terminal is replaced.
func (t *table) add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = printers.EscapeTerminal(oneLine(cell))
	}
	t.rows = append(t.rows, row)
}

// remove removes a column, which each row has.
func (t *table) remove(column int) {
	t.head = slices.Delete(t.head, column, column+1)
	for i, row := range t.rows {
		t.rows[i] = slices.Delete(row, column, column+1)
	}
}

// oneLine keeps a text of several lines within its cell.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// write writes the columns as kubectl does.
func (t *table) write(out io.Writer) error {
	var text bytes.Buffer
	columns := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		if _, err := io.WriteString(columns, strings.Join(row, "\t")+"\n"); err != nil {
			return err
		}
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	_, err := text.WriteTo(out)
	return err
}
