// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the maximum length of a message. The events API accepts no longer note,
// and `kubectl get` prints a condition's message on one line.
const MaxBytes = 1024

const ellipsis = "…"

// Text returns text on one line of at most MaxBytes bytes. Control and format
// characters, such as line breaks and those that change the text direction, and invalid UTF-8 are escaped. Text
// is idempotent.
func Text(text string) string {
	return TextOf(text, MaxBytes)
}

// TextOf is Text with a limit of its own, of at least three bytes.
func TextOf(text string, limit int) string {
	var b strings.Builder
	fits := 0 // the length of the longest result that leaves room for the ellipsis
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		escape(&b, r, text[i:i+size])
		i += size
		if b.Len() > limit {
			return b.String()[:fits] + ellipsis
		}
		if b.Len() <= limit-len(ellipsis) {
			fits = b.Len()
		}
	}
	return b.String()
}

// escape appends r, encoded as encoded, to b.
func escape(b *strings.Builder, r rune, encoded string) {
	switch {
	case r == utf8.RuneError && len(encoded) == 1:
		fmt.Fprintf(b, `\x%02x`, encoded[0])
	case unicode.IsGraphic(r):
		b.WriteString(encoded)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r > 0xffff:
		fmt.Fprintf(b, `\U%08x`, r)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}
