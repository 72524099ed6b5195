// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// flow is the text that a picture of the data flow is drawn from.
type flow struct {
	Title string `json:"title"`
	Steps []step `json:"steps"`
}

// step is a box of the flow. Inputs stand above it and point to it; outputs stand below it.
type step struct {
	Name    string   `json:"name"`
	Text    []string `json:"text"`
	Inputs  []note   `json:"inputs"`
	Outputs []note   `json:"outputs"`
}

// note is a box beside the flow. An extension is drawn in another colour.
type note struct {
	Name      string   `json:"name"`
	Text      []string `json:"text"`
	Extension bool     `json:"extension"`
}

const (
	stepWidth, stepGap = 176, 30
	lineHeight         = 16
	margin             = 16
	noteGap            = 12
	arrowLength        = 30
	// longestLine is how many characters of the font fit into a box.
	longestLine = 27
)

// height returns the height of a box with a name and lines of text.
func height(text []string) int { return 30 + lineHeight*len(text) }

// stackHeight returns the height of notes that stand on each other.
func stackHeight(notes []note) int {
	total := 0
	for _, n := range notes {
		total += height(n.Text) + noteGap
	}
	return total
}

// dataflow draws the flow that source describes in YAML.
func dataflow(source []byte) ([]byte, error) {
	var f flow
	if err := yaml.UnmarshalStrict(source, &f); err != nil {
		return nil, fmt.Errorf("reading the flow: %w", err)
	}
	if len(f.Steps) == 0 {
		return nil, fmt.Errorf("the flow has no steps")
	}
	above, body, below := 0, 0, 0
	for _, s := range f.Steps {
		if err := fits(s); err != nil {
			return nil, err
		}
		above, body, below = max(above, stackHeight(s.Inputs)), max(body, height(s.Text)), max(below, stackHeight(s.Outputs))
	}
	top := margin + above + arrowLength
	bottom := top + body
	wide := 2*margin + len(f.Steps)*(stepWidth+stepGap) - stepGap
	var b bytes.Buffer
	header(&b, f.Title, wide, bottom+arrowLength+below+margin)
	for i, s := range f.Steps {
		x := margin + i*(stepWidth+stepGap)
		box(&b, "step", x, top, body, s.Name, s.Text)
		if i > 0 {
			arrow(&b, x-stepGap+2, top+body/2, x-2, top+body/2)
		}
		drawInputs(&b, x, top, s.Inputs)
		drawOutputs(&b, x, bottom, s.Outputs)
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// fits returns an error for the first line that is wider than its box.
func fits(s step) error {
	lines := append([]string{s.Name}, s.Text...)
	for _, n := range slices.Concat(s.Inputs, s.Outputs) {
		lines = append(append(lines, n.Name), n.Text...)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > longestLine {
			return fmt.Errorf("step %s: %q has more than %d characters", s.Name, line, longestLine)
		}
	}
	return nil
}

// drawInputs stacks notes upwards from the step whose box begins at x, top.
func drawInputs(b *bytes.Buffer, x, top int, notes []note) {
	if len(notes) == 0 {
		return
	}
	y := top - arrowLength + noteGap
	arrow(b, x+stepWidth/2, top-arrowLength, x+stepWidth/2, top-2)
	for _, n := range slices.Backward(notes) {
		y -= height(n.Text) + noteGap
		box(b, class(n), x, y, height(n.Text), n.Name, n.Text)
	}
}

// drawOutputs stacks notes downwards from the step whose box begins at x and ends at bottom.
func drawOutputs(b *bytes.Buffer, x, bottom int, notes []note) {
	if len(notes) == 0 {
		return
	}
	arrow(b, x+stepWidth/2, bottom+2, x+stepWidth/2, bottom+arrowLength-2)
	y := bottom + arrowLength
	for _, n := range notes {
		box(b, class(n), x, y, height(n.Text), n.Name, n.Text)
		y += height(n.Text) + noteGap
	}
}

func class(n note) string {
	if n.Extension {
		return "extension"
	}
	return "note"
}

// header begins a picture whose colours suit light and dark pages.
func header(b *bytes.Buffer, title string, width, height int) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
<style>
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
.name { font-weight: 600; font-size: 13px }
rect { rx: 6px; stroke-width: 1.2px }
.page { fill: #ffffff; stroke: none }
.step { fill: #ddf4ff; stroke: #0969da }
.note { fill: #f6f8fa; stroke: #8c959f }
.extension { fill: #fff8c5; stroke: #9a6700 }
line { stroke: #57606a; stroke-width: 1.4px; marker-end: url(#head) }
</style>
<defs><marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="#57606a"/></marker></defs>
<rect class="page" width="%d" height="%d"/>
`, width, height, width, height, html.EscapeString(title), width, height)
}

// box draws a box with a name and lines of text.
func box(b *bytes.Buffer, class string, x, y, height int, name string, text []string) {
	fmt.Fprintf(b, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", class, x, y, stepWidth, height)
	y += 20
	fmt.Fprintf(b, "<text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", x+stepWidth/2, y, html.EscapeString(name))
	for _, line := range text {
		y += lineHeight
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x+stepWidth/2, y, html.EscapeString(line))
	}
}

func arrow(b *bytes.Buffer, x1, y1, x2, y2 int) {
	fmt.Fprintf(b, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", x1, y1, x2, y2)
}
