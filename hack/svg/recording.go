// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// row is a line of the terminal, and when it is printed in the picture.
type row struct {
	at   float64
	kind string
	text string
}

const (
	rowHeight, rowsShown, columns = 17, 26, 104
	// Pauses are shortened, so that nobody waits for a control plane to start.
	longestPause, shortestPause = 1.5, 0.03
	// commandPause is how long a heading or command stands before its output.
	commandPause = 0.9
)

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// recording draws a terminal that shows the lines of a log as they were printed. What comes before the
// first heading is the build and is not shown.
func recording(log []byte) ([]byte, error) {
	rows, err := parse(string(log))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("the log has no line that begins with ==>")
	}
	var b bytes.Buffer
	terminal(&b, rows)
	b.WriteString("<g clip-path=\"url(#window)\"><g class=\"scroll\">\n")
	for i, r := range rows {
		fmt.Fprintf(&b, "<text class=%q style=\"animation-delay:%.2fs\" x=\"14\" y=\"%d\">%s</text>\n",
			r.kind, r.at, 46+i*rowHeight, html.EscapeString(r.text))
	}
	b.WriteString("</g></g>\n</svg>\n")
	return b.Bytes(), nil
}

// parse reads the rows of a log and gives each its time in the picture.
func parse(log string) ([]row, error) {
	var rows []row
	last, at := 0.0, 0.0
	for line := range strings.Lines(log) {
		seconds, text, found := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		printed, err := strconv.ParseFloat(seconds, 64)
		if !found || err != nil {
			return nil, fmt.Errorf("%q does not begin with seconds and a tab", line)
		}
		r := row{kind: "l", text: strings.ReplaceAll(escapes.ReplaceAllString(text, ""), "\t", "    ")}
		switch {
		case strings.HasPrefix(r.text, "==> "):
			r.kind = "l heading"
		case strings.HasPrefix(r.text, "$ "):
			r.kind = "l command"
		}
		if len(rows) == 0 && r.kind != "l heading" {
			last = printed
			continue
		}
		pause := min(max(printed-last, shortestPause), longestPause)
		if len(rows) > 0 && rows[len(rows)-1].kind != "l" {
			pause = max(pause, commandPause)
		}
		at, last = at+pause, printed
		r.at = at
		rows = append(rows, wrap(r)...)
	}
	return rows, nil
}

// wrap breaks a row that is wider than the terminal.
func wrap(r row) []row {
	text := []rune(r.text)
	var rows []row
	for len(text) > columns {
		rows = append(rows, row{at: r.at, kind: r.kind, text: string(text[:columns])})
		text = text[columns:]
	}
	return append(rows, row{at: r.at, kind: r.kind, text: string(text)})
}

// terminal begins the picture: its window, and how its rows scroll. Where animations are off, the last rows
// are shown.
func terminal(b *bytes.Buffer, rows []row) {
	total := rows[len(rows)-1].at + 0.1
	width, height := 28+columns*75/10, 46+rowsShown*rowHeight
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Recording of make demo">
<style>
text { font: 12.4px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }
.l { opacity: 0; animation: show 0.01s linear forwards }
.heading { fill: #ffffff; font-weight: 700 }
.command { fill: #7ee787 }
.scroll { animation: scroll %.2fs steps(1, end) forwards }
@keyframes show { to { opacity: 1 } }
@keyframes scroll {
`, width, height, width, height, total)
	for i, r := range rows {
		if hidden := i + 1 - rowsShown; hidden > 0 {
			fmt.Fprintf(b, "%.3f%% { transform: translateY(-%dpx) }\n", 100*r.at/total, hidden*rowHeight)
		}
	}
	offset := max(0, len(rows)-rowsShown) * rowHeight
	fmt.Fprintf(b, `100%% { transform: translateY(-%dpx) }
}
@media (prefers-reduced-motion: reduce) { .l { opacity: 1; animation: none } .scroll { animation: none; transform: translateY(-%dpx) } }
</style>
<defs><clipPath id="window"><rect y="30" width="%d" height="%d"/></clipPath></defs>
<rect width="%d" height="%d" rx="8" fill="#0d1117"/>
<circle cx="18" cy="16" r="5" fill="#ff5f56"/><circle cx="36" cy="16" r="5" fill="#ffbd2e"/><circle cx="54" cy="16" r="5" fill="#27c93f"/>
`, offset, offset, width, height-36, width, height)
}
