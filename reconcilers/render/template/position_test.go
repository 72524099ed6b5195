// SPDX-License-Identifier: Apache-2.0

package template

import "testing"

const positions = `# A page of documents.
---
kind: ConfigMap
metadata:
  name: first
data:
  a.b/c: x
---
kind: Deployment
metadata: {name: second}
spec:
  containers:
  - name: a
    ports: [{containerPort: 1}]
  - name: b
    ports:
    - containerPort: 2
      protocol: TCP
patches:
- patch: |-
    kind: Service
    spec:
      type: X
`

func TestLineIn_FindsWhatAMessageIsAbout(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		text string
		want int
	}{
		"the first document by default":       {"kind is missing", 3},
		"a document by its object":            {"Deployment second: spec.nothing: unknown field", 11},
		"a key with dots":                     {`ConfigMap first: data.a.b/c is "x"`, 7},
		"steps that are separated by colons":  {"ConfigMap first: data: a.b/c: unsupported", 7},
		"an item by its name":                 {`Deployment second: spec.containers[name="b"].ports: expected a map`, 16},
		"an item by two keys":                 {`Deployment second: spec.containers[name="b"].ports[containerPort=2,protocol="TCP"].x: unknown`, 17},
		"an item by its position":             {"Deployment second: spec.containers[1].ports[0].protocol: unsupported", 18},
		"an item by its position after a dot": {"Deployment second: spec.containers.1.ports.0.protocol is fixed", 18},
		"an item that is not there":           {"Deployment second: spec.containers[7].ports: wrong", 12},
		"a line within a patch":               {"Deployment second: patches[0]: spec.type: wrong", 23},
		"a quoted value":                      {`Deployment second: spec: the port "TCP" is wrong`, 18},
		"a path in quotes":                    {`Deployment second: unknown field "spec.containers[1].name"`, 15},
		"an object that is not there":         {"Service third: spec: wrong", 3},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := lineIn([]byte(positions), test.text); got != test.want {
				t.Errorf("the line is %d, want %d", got, test.want)
			}
		})
	}
}

// FuzzLineIn: no file and no message ends the operator.
func FuzzLineIn(f *testing.F) {
	f.Add([]byte(positions), `Deployment second: spec.containers[name="b"].ports: expected a map`)
	f.Add([]byte("- a\n- [b]\n"), "a[0][0].b: x")
	f.Add([]byte("a: &a [1]\nb: *a\n"), "b[0]: x")
	f.Add([]byte("patches:\n- patch: |\n    - {op: add}\n"), `patches[0]: "add" /a/b`)
	f.Fuzz(func(t *testing.T, content []byte, text string) {
		if line := lineIn(content, text); line < 0 || line > len(content)+1 { // YAML has other line breaks too.
			t.Errorf("the line is %d", line)
		}
	})
}
