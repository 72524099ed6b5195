// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// Control sequences of ECMA-48, which all terminals of today understand.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	endOfLine   = "\x1b[K\r\n"
	endOfScreen = "\x1b[J"
)

// view shows frames: on a terminal one over the other, elsewhere and as JSON one after the other.
type view struct {
	out io.Writer
	// write writes a frame.
	write func(frame, io.Writer) error
	// size returns the columns and lines of the terminal; nil when out is none.
	size    func() (columns, lines int, err error)
	entered bool
}

func newView(out io.Writer, output string) *view {
	if output == "json" {
		return &view{out: out, write: frame.writeJSON}
	}
	v := &view{out: out, write: frame.write}
	// A console of Windows need not understand the sequences.
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) && runtime.GOOS != "windows" {
		v.size = func() (int, int, error) { return term.GetSize(int(file.Fd())) }
	}
	return v
}

// show shows f.
func (v *view) show(f frame) error {
	if v.size == nil {
		return v.write(f, v.out)
	}
	columns, lines, err := v.size() // 0 on a serial line
	if err != nil {
		return fmt.Errorf("reading the size of the terminal: %w", err)
	}
	var text, screen bytes.Buffer
	if err := v.write(f, &text); err != nil {
		return err
	}
	if !v.entered {
		v.entered = true
		screen.WriteString(enterScreen)
	}
	screen.WriteString(home)
	screen.WriteString(fit(strings.TrimRight(text.String(), "\n"), cmp.Or(columns, 80), cmp.Or(lines, 24)))
	screen.WriteString(endOfScreen)
	_, err = screen.WriteTo(v.out)
	return err
}

// close leaves the screen, on a terminal.
func (v *view) close() {
	if v.entered {
		v.entered = false
		_, _ = io.WriteString(v.out, leaveScreen)
	}
}

// fit returns text within columns and lines. Instead of the lines that do not fit it says how many there are.
func fit(text string, columns, lines int) string {
	all := strings.Split(text, "\n")
	lines = max(lines-1, 1) // the cursor stands in the last line
	if len(all) > lines {
		hidden := len(all) - lines + 1
		all = append(all[:lines-1:lines-1], fmt.Sprintf("… %d more lines: name a Memcached, or enlarge the terminal", hidden))
	}
	var b strings.Builder
	for _, line := range all {
		if runes := []rune(line); len(runes) > columns {
			line = string(runes[:max(columns, 0)])
		}
		b.WriteString(line + endOfLine)
	}
	return b.String()
}
