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

	"github.com/example/memcached-operator/reconcilers/render"
)

// rendered is the objects of a Memcached and, with --sources, the source of each.
type rendered struct {
	objects []*unstructured.Unstructured
	sources []render.Source
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
				text.WriteString(sourceComment(result.sources[i]))
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

// sourceComment returns a comment with the template file, and the components that change the object.
func sourceComment(source render.Source) string {
	text := "# " + source.File
	if len(source.Components) > 0 {
		text += ", changed by components/" + strings.Join(source.Components, ", components/")
	}
	return text + "\n"
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
