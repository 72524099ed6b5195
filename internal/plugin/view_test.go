// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestView_RedrawsOnTerminals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := &view{out: &out, write: frame.write, size: func() (int, int, error) { return 20, 3, nil }}
	f := frame{at: now, interval: time.Second, rows: sampled()}
	for range 2 {
		if err := v.show(f); err != nil {
			t.Fatal(err)
		}
	}
	v.close()
	v.close()
	drawn := home + "2026-11-24 12:00:00 " + endOfLine + "… 4 more lines: name" + endOfLine + endOfScreen
	if want := enterScreen + drawn + drawn + leaveScreen; out.String() != want {
		t.Errorf("it draws\n%q, want\n%q", &out, want)
	}
	v.size = func() (int, int, error) { return 0, 0, errors.New("no terminal") }
	if err := v.show(f); err == nil || err.Error() != "reading the size of the terminal: no terminal" {
		t.Errorf("the error is %v", err)
	}
}

func TestView_PrintsTablesElsewhere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(&out, "")
	for range 2 {
		if err := v.show(frame{at: now, interval: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	v.close()
	if got := out.String(); strings.Contains(got, "\x1b") || strings.Count(got, "\nMEMCACHED ") != 2 {
		t.Errorf("it prints\n%s", got)
	}
}

func TestFit_KeepsWithinTheTerminal(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		columns, lines int
		want           string
	}{
		"enough":       {10, 10, "one" + endOfLine + "zweié" + endOfLine + "three" + endOfLine},
		"exactly":      {5, 4, "one" + endOfLine + "zweié" + endOfLine + "three" + endOfLine},
		"narrow":       {4, 10, "one" + endOfLine + "zwei" + endOfLine + "thre" + endOfLine},
		"low":          {9, 3, "one" + endOfLine + "… 2 more " + endOfLine},
		"one line":     {9, 1, "… 3 more " + endOfLine},
		"no size":      {0, 0, endOfLine},
		"a wide glyph": {5, 10, "one" + endOfLine + "zweié" + endOfLine + "three" + endOfLine},
	} {
		if got := fit("one\nzweié\nthree", test.columns, test.lines); got != test.want {
			t.Errorf("%s: %q, want %q", sentence, got, test.want)
		}
	}
}
