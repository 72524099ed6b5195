// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const plain = `apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache, namespace: shop}
spec: {size: 2}
`

// result is what a command did.
type result struct {
	code        int
	out, stderr string
}

// run runs the command with args, text as standard input, and the environment env.
func run(t *testing.T, text string, env map[string]string, args ...string) result {
	t.Helper()
	var out, stderr bytes.Buffer
	code := Run(t.Context(), args, Streams{
		In: strings.NewReader(text), Out: &out, Err: &stderr, Getenv: func(name string) string { return env[name] },
	})
	return result{code, out.String(), stderr.String()}
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// badInputs are input and arguments of render, and the beginning of the error. DIR is an empty directory.
var badInputs = map[string]struct {
	in     string
	args   []string
	code   int
	stderr string
	// objects is the number of objects that are printed all the same.
	objects int
}{
	"no file":               {"", nil, 2, "no input: name files by -f, or - for standard input\n", 0},
	"a file without -f":     {"", []string{"cache.yaml"}, 2, `unexpected argument "cache.yaml": name files by -f` + "\n", 0},
	"an unknown flag":       {"", []string{"--bogus"}, 2, "unknown flag: --bogus\n", 0},
	"an unknown format":     {"", []string{"-f", "-", "-o", "xml"}, 2, `--output: "xml" is neither yaml nor json` + "\n", 0},
	"comments in JSON":      {"", []string{"-f", "-", "-o", "json", "--sources"}, 2, "--sources: JSON has no comments; use --output=yaml\n", 0},
	"an invalid namespace":  {"", []string{"-f", "-", "-n", "A"}, 2, `--namespace: invalid namespace "A": a lowercase RFC 1123 label`, 0},
	"a file that is absent": {"", []string{"-f", "DIR/absent"}, 2, "open DIR/absent: no such file or directory\n", 0},
	"a directory":           {"", []string{"-f", "DIR"}, 2, "read DIR: is a directory\n", 0},
	"standard input twice":  {plain, []string{"-f", "-", "-f", "-"}, 2, "-f - is given twice\n", 0},
	"no document":           {"# nothing\n---\n", []string{"-f", "-"}, 2, "standard input: no object found\n", 0},
	"an empty file":         {"", []string{"-f", "-"}, 2, "standard input: no object found\n", 0},
	"an empty List":         {"{apiVersion: v1, kind: List, items: []}", []string{"-f", "-"}, 2, "standard input: no object found\n", 0},
	"binary garbage":        {"\x7fELF\x02\x01\x00\xff\xfe", []string{"-f", "-"}, 2, "standard input: yaml: control characters are not allowed\n", 0},
	"text":                  {"hello", []string{"-f", "-"}, 2, "standard input: it is not an object with apiVersion, kind and metadata\n", 0},
	"broken YAML":           {plain + "---\na: [", []string{"-f", "-"}, 2, "standard input: document 2: yaml: line 1: did not find expected node content\n", 0},
	"templates that are absent": {
		plain, []string{"-f", "-", "--manifests-dir", "DIR/absent"}, 2, "--manifests-dir: open DIR/absent: no such file or directory\n", 0,
	},
	"two kinds of templates": {
		plain, []string{"-f", "-", "--manifests-dir", "DIR", "--helm-values", "DIR"}, 2, "--manifests-dir and --helm-values exclude each other: the chart passes its manifests as --manifests-dir\n", 0,
	},
	"another kind, beside a Memcached": {
		"{apiVersion: v1, kind: Secret}\n---\n" + plain, []string{"-f", "-"}, 0,
		"standard input: document 1: skipped: Secret of v1 is not a Memcached\n", 3,
	},
	"another kind alone": {
		"{apiVersion: v1, kind: Secret}", []string{"-f", "-"}, 2,
		"standard input: skipped: Secret of v1 is not a Memcached\n", 0,
	},
	"a misspelt kind": {
		strings.Replace(plain, "kind: Memcached", "kind: Memcache", 1), []string{"-f", "-"}, 1,
		"standard input: Memcache of cache.example.com/v1alpha1 is not a Memcached of cache.example.com/v1alpha1: remove it from the input\n", 0,
	},
	"no kind": {
		"{spec: {}}", []string{"-f", "-"}, 1, "standard input: apiVersion or kind is missing: a Memcached has apiVersion cache.example.com/v1alpha1 and kind Memcached\n", 0,
	},
	"another API version": {
		strings.Replace(plain, "v1alpha1", "v1beta1", 1), []string{"-f", "-"}, 1,
		`standard input: no matches for kind "Memcached" in version "cache.example.com/v1beta1": use version "cache.example.com/v1alpha1"` + "\n", 0,
	},
	"an unknown field in the second of two documents": {
		plain + "---\n" + strings.Replace(strings.Replace(plain, "name: cache", "name: other", 1), "size: 2", "sise: 2", 1), []string{"-f", "-"}, 1,
		`standard input: document 2: Memcached in version "v1alpha1" cannot be handled as a Memcached: strict decoding error: unknown field "spec.sise" (is size meant?)` + "\n", 3,
	},
	"a field that other kinds have": {
		strings.Replace(plain, "size: 2", "replicas: 2", 1), []string{"-f", "-"}, 1,
		`standard input: Memcached in version "v1alpha1" cannot be handled as a Memcached: strict decoding error: unknown field "spec.replicas" (is size meant?)` + "\n", 0,
	},
	"a misspelt field of an item": {
		strings.Replace(plain, "size: 2", "tolerations: [{keys: a}]", 1), []string{"-f", "-"}, 1,
		`standard input: Memcached in version "v1alpha1" cannot be handled as a Memcached: strict decoding error: unknown field "spec.tolerations[0].keys" (is key meant?)` + "\n", 0,
	},
	"a field that is like no other": {
		strings.Replace(plain, "size: 2", "xyz: 2", 1), []string{"-f", "-"}, 1,
		`standard input: Memcached in version "v1alpha1" cannot be handled as a Memcached: strict decoding error: unknown field "spec.xyz"` + "\n", 0,
	},
	"a duplicate key": {
		plain + "kind: Memcached\n", []string{"-f", "-"}, 1,
		`standard input: Memcached in version "v1alpha1" cannot be handled as a Memcached: strict decoding error: yaml: unmarshal errors:` + "\n" +
			`  line 5: key "kind" already set in map` + "\n", 0,
	},
	"a duplicate key in JSON": {
		`{"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached","metadata":{"name":"a","name":"b"},"spec":{}}`, []string{"-f", "-"}, 1,
		`standard input: Memcached in version "v1alpha1" cannot be handled as a Memcached: strict decoding error: duplicate field "metadata.name"` + "\n", 0,
	},
	"a value that the schema refuses": {
		strings.Replace(plain, "size: 2", "size: -1", 1), []string{"-f", "-"}, 1,
		`standard input: Memcached.cache.example.com "cache" is invalid: [`, 0,
	},
	"a Memcached of the same name": {
		plain + "---\n" + plain, []string{"-f", "-"}, 1,
		"standard input: document 2: the Memcached shop/cache is already in standard input: document 1: rename or remove one of them\n", 3,
	},
	"a generated name": {
		strings.Replace(plain, "name: cache", "generateName: cache-", 1), []string{"-f", "-"}, 1,
		"standard input: the API server chooses a name that begins with metadata.generateName: set metadata.name\n", 0,
	},
	"a privileged field": {
		strings.Replace(plain, "size: 2", "serviceAccountName: x", 1), []string{"-f", "-"}, 1, "standard input: the Memcached shop/cache cannot be rendered: ", 0,
	},
}

func TestRender_RejectsBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for sentence, test := range badInputs {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			args := []string{"render"}
			for _, argument := range test.args {
				args = append(args, strings.ReplaceAll(argument, "DIR", dir))
			}
			got := run(t, test.in, nil, args...)
			if want := "memcached-operator render: " + strings.ReplaceAll(test.stderr, "DIR", dir); got.code != test.code || !strings.HasPrefix(got.stderr, want) {
				t.Errorf("the exit code is %d, want %d, and standard error\n%s\nwant\n%s", got.code, test.code, got.stderr, want)
			}
			if n := strings.Count("\n"+got.out, "\napiVersion: "); n != test.objects {
				t.Errorf("%d objects are printed, want %d:\n%s", n, test.objects, got.out)
			}
		})
	}
}

const site = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Service}
  patch: |-
    - op: add
      path: /metadata/annotations
      value: {example.com/team: cache}
`

func TestRender_UsesTheTemplatesAndFlagsOfTheOperator(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(filepath.Dir(filepath.Dir(file(t, "components/site/kustomization.yaml", site))))
	values := file(t, "values.yaml", "replicaCount: 2\nmanifests:\n  components/site/kustomization.yaml: |\n    "+strings.ReplaceAll(site, "\n", "\n    "))
	for sentence, test := range map[string]struct {
		env        map[string]string
		args       []string
		want, lack string
	}{
		"takes the namespace of the Memcached": {want: "namespace: shop\n"},
		"lays a directory over the templates":  {args: []string{"--manifests-dir", dir}, want: "example.com/team: cache\n"},
		"lays Helm values over the templates":  {args: []string{"--helm-values", values}, want: "example.com/team: cache\n"},
		"takes an image of the environment":    {env: map[string]string{"RELATED_IMAGE_MEMCACHED": "registry.example.com/cache:1"}, want: "image: registry.example.com/cache:1\n"},
		"assigns users elsewhere":              {want: "runAsUser: 11211\n"},
		"assigns no users on OpenShift":        {args: []string{"--openshift"}, lack: "runAsUser"},
		"prints no sources by itself":          {lack: "#"},
		"prints sources":                       {args: []string{"--sources"}, want: "# base/deployment.yaml\napiVersion: apps/v1\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := run(t, plain, test.env, append([]string{"render", "-f", "-"}, test.args...)...)
			if got.code != 0 || got.stderr != "" {
				t.Fatalf("the exit code is %d and standard error\n%s", got.code, got.stderr)
			}
			if !strings.Contains(got.out, test.want) || test.lack != "" && strings.Contains(got.out, test.lack) {
				t.Errorf("the output lacks %q or has %q:\n%s", test.want, test.lack, got.out)
			}
		})
	}
}

func TestRender_ReadsEveryFormOfInput(t *testing.T) {
	t.Parallel()
	const json = `{"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached","metadata":{"name":"cache","namespace":"shop"},"spec":{"size":2}}`
	want := run(t, plain, nil, "render", "-f", "-")
	if want.code != 0 {
		t.Fatal(want.stderr)
	}
	for sentence, text := range map[string]string{
		"JSON":                      json,
		"a List of JSON":            `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[` + json + `]}`,
		"a List of YAML":            "apiVersion: v1\nkind: List\nitems:\n- " + json,
		"flow style":                "{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: cache, namespace: shop}, spec: {size: 2}}",
		"empty documents around it": "---\n# a comment\n---\n" + plain + "---\n",
		"a live Memcached": strings.Replace(plain, "namespace: shop", "namespace: shop, resourceVersion: '5', generation: 7, creationTimestamp: '2026-01-01T00:00:00Z'", 1) +
			"status: {observedGeneration: 7}\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := run(t, text, nil, "render", "-f", "-"); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func TestRender_HelpNamesTheExitCodes(t *testing.T) {
	t.Parallel()
	got := run(t, "", nil, "render", "--help")
	if got.code != 0 || !strings.Contains(got.out, "Exit codes:\n") || !strings.Contains(got.out, "--allow-privileged-fields") {
		t.Errorf("%+v", got)
	}
}

func TestRender_PrintsTheComponentsOfAnObject(t *testing.T) {
	t.Parallel()
	site := file(t, "components/site/kustomization.yaml", `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: NetworkPolicy, name: clients}
  patch: |-
    - op: add
      path: /metadata/labels/team
      value: caches
`)
	got := run(t, strings.Replace(plain, "size: 2", "metrics: {}, networkPolicy: {from: [{podSelector: {}}]}", 1), nil,
		"render", "-f", "-", "--sources", "--allow-privileged-fields", "--manifests-dir", filepath.Dir(filepath.Dir(filepath.Dir(site))))
	var sources []string
	for line := range strings.Lines(got.out) {
		if strings.HasPrefix(line, "#") {
			sources = append(sources, line)
		}
	}
	const want = `# base/service.yaml, changed by components/metrics
# base/deployment.yaml, changed by components/metrics
# base/poddisruptionbudget.yaml
# components/networkPolicy/networkpolicy.yaml, changed by components/site
`
	if got.code != 0 || strings.Join(sources, "") != want {
		t.Errorf("%s\n%s", got.stderr, strings.Join(sources, ""))
	}
}

func TestIs_NamesSubcommandsOnly(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]bool{"": false, "render": true, "check": true, "check --server": true, "--help": false, "--version render": false, "bogus": false} {
		if got := Is(strings.Fields(arguments)); got != want {
			t.Errorf("%q: %v", arguments, got)
		}
	}
}
