// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// markdown returns the table of the fields as the documentation has it.
func markdown() string {
	var b strings.Builder
	b.WriteString("| field | required right, in the Memcached's namespace | otherwise |\n|---|---|---|\n")
	for _, field := range Fields {
		name, right := "`"+strings.TrimPrefix(field.Path, "spec.")+"`", fmt.Sprintf("`%s` %s", field.Verb, field.Resource)
		if field.When != "" {
			name += " " + field.When
		}
		if field.And != "" {
			right += ", and " + field.And
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, right, field.Why)
	}
	return b.String()
}

func TestFields_MatchDocumentation(t *testing.T) {
	t.Parallel()
	if table := markdown(); !strings.Contains(read(t, "docs/user/privileged-fields.md"), "\n"+table+"\n") {
		t.Errorf("docs/user/privileged-fields.md does not have this table:\n%s", table)
	}
}

func TestFields_MatchInstallDescriptions(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"config/manifests/bases/memcached-operator.clusterserviceversion.yaml",
		"charts/memcached-operator/README.md.gotmpl",
	} {
		text := read(t, file)
		for _, field := range Fields {
			if name := "`" + strings.TrimPrefix(field.Path, "spec.") + "`"; !strings.Contains(text, name) {
				t.Errorf("%s does not name %s", file, name)
			}
		}
	}
}

// Messages are read in a terminal, and paths are those of the API.
func TestFields_AreComplete(t *testing.T) {
	t.Parallel()
	for _, field := range Fields {
		if !strings.HasPrefix(field.Path, "spec.") || field.Verb == "" || field.Resource == "" || field.Why == "" || field.isSet == nil {
			t.Errorf("%+v is not complete", field)
		}
	}
}
