// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a file and its directories.
func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestParse_MemoryLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  environment
		want int64
		err  string
	}{
		"is unknown without the variable":    {env: nil, want: 0},
		"is unknown when it is empty":        {env: environment{memoryLimitVariable: ""}, want: 0},
		"is a number of bytes":               {env: environment{memoryLimitVariable: "268435456"}, want: 256 << 20},
		"rejects a quantity":                 {env: environment{memoryLimitVariable: "256Mi"}, err: `CONTAINER_MEMORY_LIMIT: "256Mi" is not a positive number of bytes`},
		"rejects zero":                       {env: environment{memoryLimitVariable: "0"}, err: "not a positive number"},
		"rejects what no machine could have": {env: environment{memoryLimitVariable: "99999999999999999999"}, err: "not a positive number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := parse(nil, test.env.get, io.Discard)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil || o.memoryLimit != test.want {
				t.Errorf("the limit is %d, %v, want %d", o.memoryLimit, err, test.want)
			}
		})
	}
}
