// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// rendered is the objects of a Memcached and the template file of each.
type rendered struct {
	objects []*unstructured.Unstructured
	files   []string
}

// write writes the objects of all results.
func (o *renderOptions) write(out io.Writer, results []rendered) error {
	if o.output == "json" {
		return writeJSON(out, results)
	}
	var text bytes.Buffer
	for _, result := range results {
		for i, object := range result.objects {
			if text.Len() > 0 {
				text.WriteString("---\n")
			}
			if o.sources {
				text.WriteString(sourceComment(result.files[i]))
			}
			content, err := yaml.Marshal(object.Object)
			if err != nil {
				return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
			text.Write(content)
		}
	}
	_, err := out.Write(text.Bytes())
	return err
}

// sourceComment returns a comment with the template file and its component.
func sourceComment(file string) string {
	if path, ok := strings.CutPrefix(file, "components/"); ok {
		component, _, _ := strings.Cut(path, "/")
		return fmt.Sprintf("# %s (component %s)\n", file, component)
	}
	return fmt.Sprintf("# %s\n", file)
}

func writeJSON(out io.Writer, results []rendered) error {
	items := []*unstructured.Unstructured{}
	for _, result := range results {
		items = append(items, result.objects...)
	}
	content, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(content, '\n'))
	return err
}

// counted returns n and noun, in the plural unless n is 1.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
