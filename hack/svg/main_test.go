// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

const images = "../../docs/images/"

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(images + file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// wantXML fails unless picture is well-formed.
func wantXML(t *testing.T, picture []byte) {
	t.Helper()
	for decoder := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDataflow_IsFresh(t *testing.T) {
	t.Parallel()
	picture, err := dataflow(read(t, "dataflow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wantXML(t, picture)
	if !bytes.Equal(picture, read(t, "dataflow.svg")) {
		t.Error("docs/images/dataflow.svg is stale; run: go run ./hack/svg dataflow docs/images/dataflow.yaml > docs/images/dataflow.svg")
	}
}

func TestDataflow_RejectsInvalidSources(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"has an unknown field":          "steps: [{name: a, colour: red}]",
		"has no steps":                  "title: nothing",
		"has a line wider than its box": "steps: [{name: a, text: [a line of more than twenty-seven characters]}]",
		"is no YAML":                    "steps: [",
		"has a text that is not a list": "steps: [{name: a, text: b}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := dataflow([]byte(source)); err == nil {
				t.Errorf("%s was accepted", source)
			}
		})
	}
}

func TestRecording_ShowsLinesInOrder(t *testing.T) {
	t.Parallel()
	picture, err := recording([]byte("0.1\tgo build\n2.0\t\x1b[1m==> A <heading>\x1b[0m\n2.1\t$ kubectl get pods\n90.0\tpod\n"))
	if err != nil {
		t.Fatal(err)
	}
	wantXML(t, picture)
	text := string(picture)
	if strings.Contains(text, "go build") || !strings.Contains(text, "==&gt; A &lt;heading&gt;") {
		t.Errorf("the recording is\n%s", text)
	}
	if first, last := strings.Index(text, "$ kubectl get pods"), strings.Index(text, ">pod<"); first < 0 || last < first {
		t.Errorf("command at %d, its output at %d", first, last)
	}
}

func TestRecording_RejectsALogWithoutTimes(t *testing.T) {
	t.Parallel()
	if _, err := recording([]byte("==> Heading\n")); err == nil {
		t.Error("a line without seconds was accepted")
	}
}

func TestDemoRecording_IsWellFormed(t *testing.T) {
	t.Parallel()
	wantXML(t, read(t, "demo.svg"))
}

func TestScreen_ShowsACommandAndItsOutput(t *testing.T) {
	t.Parallel()
	picture, err := screen([]byte("$ kubectl memcached top <all>\nPOD   FILL\na     98%\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	wantXML(t, picture)
	for _, want := range []string{`<text class="command" x="14" y="46">$ kubectl memcached top &lt;all&gt;</text>`, `<text x="14" y="80">a     98%</text>`} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("%s is missing in\n%s", want, picture)
		}
	}
	if _, err := screen([]byte("POD   FILL\n")); err == nil {
		t.Error("output without a command was accepted")
	}
}
