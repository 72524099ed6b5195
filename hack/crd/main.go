// SPDX-License-Identifier: Apache-2.0

// Command crd completes the generated CustomResourceDefinition. controller-gen has no
// markers for a value that is either a number, such as cpu: 0.5, or a string, such as
// cpu: 500m: fields of this kind are Schemaless in the Go types, and get their schema
// here. int-or-string would reject 0.5.
package main

import (
	"fmt"
	"maps"
	"os"

	"sigs.k8s.io/yaml"
)

const file = "config/crd/bases/cache.example.com_memcacheds.yaml"

// cpu is the schema of an amount of CPU. It has no type, since a type would allow
// either numbers or strings, so the limits of the other types exclude all their values. A
// CEL rule could reject true and false with a clearer message, but Kubernetes 1.31 cannot
// estimate the cost of a rule on a value without a type.
var cpu = map[string]any{
	"minimum":       0,
	"maximum":       1_000_000,
	"maxLength":     24,
	"pattern":       `^[0-9]+([.][0-9]+)?m?$`,
	"minItems":      1,
	"maxItems":      0,
	"minProperties": 1,
	"maxProperties": 0,
	"not":           map[string]any{"enum": []any{true, false}},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "crd: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition map[string]any
	if err := yaml.Unmarshal(content, &definition); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if completed := complete(definition); completed == 0 {
		return fmt.Errorf("%s has no field cpu without a type: remove this step, or mark the fields in apis/ as Schemaless", file)
	}
	if content, err = yaml.Marshal(definition); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, append([]byte("---\n"), content...), 0o644)
}

// complete adds the schema of cpu to every property cpu without a type below value,
// and returns how many there are.
func complete(value any) int {
	completed := 0
	switch v := value.(type) {
	case map[string]any:
		if schema, ok := v["cpu"].(map[string]any); ok && schema["type"] == nil && schema["x-kubernetes-preserve-unknown-fields"] != nil {
			maps.Copy(schema, cpu)
			completed++
		}
		for _, item := range v {
			completed += complete(item)
		}
	case []any:
		for _, item := range v {
			completed += complete(item)
		}
	}
	return completed
}
