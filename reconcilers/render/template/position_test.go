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
`

func TestLineIn_FindsWhatAMessageIsAbout(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		problem Problem
		want    int
	}{
		"the first document by default":       {Problem{Message: "kind is missing"}, 3},
		"a document by its object":            {Problem{Object: "Deployment second", Path: "spec.nothing", Message: "unknown field"}, 11},
		"a key with dots":                     {Problem{Object: "ConfigMap first", Message: `data.a.b/c is "x"`}, 7},
		"an item by its name":                 {Problem{Object: "Deployment second", Path: `spec.containers[name="b"].ports`, Message: "expected a map"}, 16},
		"an item by two keys":                 {Problem{Object: "Deployment second", Path: `spec.containers[name="b"].ports[containerPort=2,protocol="TCP"].x`, Message: "unknown"}, 17},
		"an item by its position":             {Problem{Object: "Deployment second", Path: "spec.containers[1].ports[0].protocol", Message: "unsupported"}, 18},
		"an item by its position after a dot": {Problem{Object: "Deployment second", Message: "spec.containers.1.ports.0.protocol is fixed"}, 18},
		"an item that is not there":           {Problem{Object: "Deployment second", Path: "spec.containers[7].ports", Message: "wrong"}, 12},
		"a quoted value":                      {Problem{Object: "Deployment second", Path: "spec", Message: `the port "TCP" is wrong`}, 18},
		"a path in quotes":                    {Problem{Object: "Deployment second", Message: `unknown field "spec.containers[1].name"`}, 15},
		"an object that is not there":         {Problem{Object: "Service third", Path: "spec", Message: "wrong"}, 3},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := lineIn([]byte(positions), test.problem); got != test.want {
				t.Errorf("the line is %d, want %d", got, test.want)
			}
		})
	}
}

// FuzzLineIn: no file and no message ends the operator.
func FuzzLineIn(f *testing.F) {
	f.Add([]byte(positions), "", "Deployment second", `spec.containers[name="b"].ports: expected a map`)
	f.Add([]byte("- a\n- [b]\n"), "a[0][0].b", "", "x")
	f.Add([]byte("a: &a [1]\nb: *a\n"), "b[0]", "", "x")
	f.Add([]byte("patches:\n- patch: |\n    - {op: add}\n"), "patches[0]", "", `"add" /a/b`)
	f.Fuzz(func(t *testing.T, content []byte, item, object, message string) {
		if line := lineIn(content, Problem{Item: item, Object: object, Message: message}); line < 0 || line > len(content)+1 { // YAML has other line breaks too.
			t.Errorf("the line is %d", line)
		}
	})
}
