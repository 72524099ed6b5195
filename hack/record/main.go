// SPDX-License-Identifier: Apache-2.0

// Command record runs the script of `make demo` and writes what it prints as docs/images/demo.svg: an animation in browsers, and its last screen
// where pictures do not move.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	columns, rows = 112, 30
	// The height in pixels of a line; a letter of 12.4 px is 7.5 wide in a monospaced font.
	lineHeight = 17
	textWidth  = columns * 15 / 2
	padding    = 16
	// longestPause is how long the recording shows no change, in which the demo may have waited longer.
	longestPause = 900 * time.Millisecond
	lastPause    = 5 * time.Second
)

// line is a line on the screen and when it appears.
type line struct {
	text, class string
	at          time.Duration
}

func main() {
	log.SetFlags(0)
	// What make prints has paths of the machine.
	if output, err := exec.Command("make", "build", "kube").CombinedOutput(); err != nil {
		log.Fatalf("make build kube: %v\n%s", err, output)
	}
	command := exec.Command("hack/demo.sh")
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := command.Start(); err != nil {
		log.Fatal(err)
	}
	lines := read(io.TeeReader(output, os.Stdout))
	if err := command.Wait(); err != nil {
		log.Fatalf("hack/demo.sh: %v", err)
	}
	if err := os.WriteFile("docs/images/demo.svg", picture(lines), 0o600); err != nil {
		log.Fatal(err)
	}
}

// read returns the lines of output as they come, those that are too long broken between words.
func read(output io.Reader) []line {
	var lines []line
	var at time.Duration
	last := time.Now()
	scanner := bufio.NewScanner(output)
	for scanner.Scan() {
		at, last = at+min(time.Since(last), longestPause), time.Now()
		text, class := scanner.Text(), "output"
		switch {
		case strings.Contains(text, "  … "): // a ticker
			continue
		case strings.Contains(text, "\x1b[1m"):
			class = "heading"
		case strings.Contains(text, "\x1b[2m"):
			class = "command"
		}
		text = strings.NewReplacer("\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "").Replace(text)
		for _, part := range wrap(text) {
			lines = append(lines, line{part, class, at})
		}
	}
	return lines
}

// wrap breaks text into lines that fit, between words where there is a space.
func wrap(text string) []string {
	var parts []string
	for utf8.RuneCountInString(text) > columns {
		head := string([]rune(text)[:columns])
		if space := strings.LastIndexByte(head, ' '); space > columns/2 {
			head = head[:space+1]
		}
		parts = append(parts, strings.TrimRight(head, " "))
		text = "    " + strings.TrimPrefix(text, head)
	}
	return append(parts, text)
}

// picture returns the SVG of lines. Without animations every line is there, and the last ones are in view.
func picture(lines []line) []byte {
	var svg bytes.Buffer
	end := lines[len(lines)-1].at + lastPause
	const width, height = textWidth + 2*padding, rows*lineHeight + 2*padding
	scrolled := max(len(lines)-rows, 0)
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Recording of make demo">
<style>
text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.l { animation: show 10ms backwards }
.s { animation: scroll %.2fs steps(1, end) backwards }
@keyframes show { from { opacity: 0 } }
@keyframes scroll {
0%% { transform: translateY(0) }
`, width, height, width, height, end.Seconds())
	for i, l := range lines {
		if i >= rows {
			fmt.Fprintf(&svg, "%.2f%% { transform: translateY(-%dpx) }\n", 100*l.at.Seconds()/end.Seconds(), (i-rows+1)*lineHeight)
		}
	}
	fmt.Fprintf(&svg, `100%% { transform: translateY(-%dpx) }
}
</style>
<rect width="%d" height="%d" rx="8" fill="#0d1117"/>
<clipPath id="screen"><rect x="%d" y="%d" width="%d" height="%d"/></clipPath>
<g clip-path="url(#screen)">
<g class="s" transform="translate(0,-%d)" font-size="12.4">
`, scrolled*lineHeight, width, height, padding, padding, textWidth, rows*lineHeight, scrolled*lineHeight)
	attributes := map[string]string{"output": `fill="#e6edf3"`, "heading": `fill="#ffffff" font-weight="700"`, "command": `fill="#7ee787"`}
	for i, l := range lines {
		if l.text == "" {
			continue
		}
		text := strings.ReplaceAll(html.EscapeString(l.text), " ", "\u00a0") // spaces would be joined
		fmt.Fprintf(&svg, `<text class="l" x="%d" y="%d" %s style="animation-delay:%.2fs">%s</text>`+"\n", padding, padding+i*lineHeight+13, attributes[l.class], l.at.Seconds(), text)
	}
	svg.WriteString("</g>\n</g>\n</svg>\n")
	return svg.Bytes()
}
