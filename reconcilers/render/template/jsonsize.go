// SPDX-License-Identifier: Apache-2.0

package template

// JSONSize returns the length of value as JSON in bytes without encoding it. It is exact
// except for fractions, which count as 24 bytes.
func JSONSize(value any) int {
	switch v := value.(type) {
	case map[string]any:
		size := len("{}") + max(0, len(v)-1)
		for key, item := range v {
			size += jsonString(key) + len(":") + JSONSize(item)
		}
		return size
	case []any:
		size := len("[]") + max(0, len(v)-1)
		for _, item := range v {
			size += JSONSize(item)
		}
		return size
	case string:
		return jsonString(v)
	case int64:
		return decimals(v)
	case bool:
		if v {
			return len("true")
		}
		return len("false")
	case nil:
		return len("null")
	default:
		return 24
	}
}

// jsonString returns the length of s as JSON. encoding/json escapes quotes, backslashes,
// control characters and <, > and &.
func jsonString(s string) int {
	size := len(`""`) + len(s)
	for i := range len(s) {
		size += int(escapeLengths[s[i]])
	}
	return size
}

// escapeLengths holds by how many bytes encoding/json lengthens each byte.
var escapeLengths = func() (more [256]uint8) {
	for b := range byte(0x20) {
		more[b] = uint8(len(`\u0000`)) - 1
	}
	for _, b := range []byte("<>&") {
		more[b] = uint8(len(`\u003c`)) - 1
	}
	for _, b := range []byte("\"\\\b\f\n\r\t") {
		more[b] = 1
	}
	return more
}()

func decimals(n int64) int {
	size := 1
	if n < 0 {
		size++
	}
	for n /= 10; n != 0; n /= 10 {
		size++
	}
	return size
}
