// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// screen draws a terminal that shows the lines of text, the first of which is the command that printed the others.
func screen(text []byte) ([]byte, error) {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if !strings.HasPrefix(lines[0], "$ ") {
		return nil, errors.New("the first line does not begin with $ and a space")
	}
	widest := 0
	for _, line := range lines {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	width, height := 28+widest*75/10, 46+len(lines)*rowHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label=%q>
<style>
text { font: 12.4px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }
.command { fill: #7ee787 }
</style>
<rect width="%d" height="%d" rx="8" fill="#0d1117"/>
<circle cx="18" cy="16" r="5" fill="#ff5f56"/><circle cx="36" cy="16" r="5" fill="#ffbd2e"/><circle cx="54" cy="16" r="5" fill="#27c93f"/>
`, width, height, width, height, html.EscapeString(strings.TrimPrefix(lines[0], "$ ")), width, height)
	for i, line := range lines {
		class := ""
		if i == 0 {
			class = ` class="command"`
		}
		fmt.Fprintf(&b, "<text%s x=\"14\" y=\"%d\">%s</text>\n", class, 46+i*rowHeight, html.EscapeString(line))
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}
