// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

var (
	// quoted matches a name or a path in a message, and the path of a JSON patch.
	quoted = regexp.MustCompile(`"([^"]+)"| (/[^ ;:]+)`)
	// listStep matches the step of a path that selects an item of a list by its position or by its keys.
	listStep = regexp.MustCompile(`^(?:\.?\[(\d+)\]|\.?(\d+)\b|\.?\[((?:[^="\]]+=(?:"[^"]*"|[^,\]]*),?)+)\])`)
	// listKey matches a key of an item in such a step.
	listKey = regexp.MustCompile(`([^=",]+)="?([^",]*)"?`)
)

// located returns p with its line, unless that is known, and with advice.
func (t Tree) located(p Problem) Problem {
	p.Message = withAdvice(p.Message)
	if p.Line == 0 {
		p.Line = lineIn(t[p.File], p)
	}
	return p
}

// advice says what to do about the messages of others.
var advice = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`unknown field( \(in the object of .*\)|$)|^unknown field "`), "; correct its name or its indentation, or remove it"},
	{regexp.MustCompile(`unable to find field ".*" in replacement target$`), "; correct the path, add the field to the template, or set options: {create: true}"},
}

func withAdvice(text string) string {
	for _, a := range advice {
		if a.pattern.MatchString(text) {
			return text + a.text
		}
	}
	return text
}

// lineIn returns the line of content that p is about, 0 if it is not known: that of the field at its path, or of what its
// message begins with or quotes. A line of p counts from the patch that is its item.
func lineIn(content []byte, p Problem) int {
	nodes, _ := parseNodes(content)
	if len(nodes) == 0 {
		return 0
	}
	at, text := position{nodes[0].YNode(), nodes[0].YNode().Line}, p.text()
	for _, node := range nodes {
		if p.Item == "" && node.YNode().Kind == kyaml.MappingNode && p.Object == node.GetKind()+" "+node.GetName() {
			at, text = position{node.YNode(), node.YNode().Line}, joined(p.Path, p.Message)
			break
		}
	}
	at, rest := at.walk(text)
	if line := at.quotedIn(rest); line > 0 && p.Line == 0 {
		return line
	}
	p.Item = ""
	if line := at.lineInPatch(p); line > 0 {
		return line
	}
	return at.line
}

// quotedIn returns the line of the field or value below p with which text begins, or that it quotes; 0 if there is none.
func (p position) quotedIn(text string) int {
	candidates := []string{strings.SplitN(text, ": ", 2)[0]}
	for _, match := range quoted.FindAllStringSubmatch(text, -1) {
		candidates = append(candidates, match[1]+match[2])
	}
	for _, candidate := range candidates {
		if inner, rest := p.walk(candidate); rest == "" && candidate != "" {
			return inner.line
		}
		if line := lineOf(p.node, candidate); line > 0 {
			return line
		}
	}
	return 0
}

// position is a node of a file, and the line where it begins: that of its key in a map.
type position struct {
	node *kyaml.Node
	line int
}

// walk returns the last node on the path with which text begins, and the rest of text.
func (p position) walk(text string) (position, string) {
	for {
		next, rest, ok := p.step(text)
		if !ok {
			return p, text
		}
		p, text = next, strings.TrimPrefix(rest, ": ")
		if len(rest) > 1 && rest[0] == '.' {
			text = rest[1:]
		}
	}
}

func (p position) step(text string) (next position, rest string, ok bool) {
	switch p.node.Kind {
	case kyaml.MappingNode:
		longest := -1
		for i := 0; i+1 < len(p.node.Content); i += 2 {
			key := p.node.Content[i].Value
			after, found := strings.CutPrefix(text, key)
			if found && (after == "" || strings.ContainsRune(".[: ", rune(after[0]))) && len(key) > longest {
				longest = len(key)
				next, rest, ok = position{p.node.Content[i+1], p.node.Content[i].Line}, after, true
			}
		}
	case kyaml.SequenceNode:
		match := listStep.FindStringSubmatch(text)
		if match == nil {
			return p, text, false
		}
		for i, item := range p.node.Content {
			if match[1]+match[2] == strconv.Itoa(i) || match[3] != "" && hasKeys(item, match[3]) {
				return position{item, item.Line}, text[len(match[0]):], true
			}
		}
	default: // A scalar has no parts.
	}
	return next, rest, ok
}

// hasKeys reports whether item has the fields in keys, such as name="memcached".
func hasKeys(item *kyaml.Node, keys string) bool {
	for _, match := range listKey.FindAllStringSubmatch(keys, -1) {
		value := kyaml.NewRNode(item).Field(match[1])
		if value == nil || value.Value.YNode().Value != match[2] {
			return false
		}
	}
	return true
}

// lineOf returns the line of the first key or scalar at and below node that is text, 0 if there is none.
func lineOf(node *kyaml.Node, text string) int {
	if node.Kind == kyaml.ScalarNode && node.Value == text && text != "" {
		return node.Line
	}
	for _, child := range node.Content {
		if line := lineOf(child, text); line > 0 {
			return line
		}
	}
	return 0
}

// lineInPatch returns the line of problem, one of the patch p; 0 if p has no text or it is not a block.
func (p position) lineInPatch(problem Problem) int {
	if p.node.Kind != kyaml.MappingNode {
		return 0
	}
	field := kyaml.NewRNode(p.node).Field("patch")
	if field == nil || !slices.Contains([]kyaml.Style{kyaml.LiteralStyle, kyaml.FoldedStyle}, field.Value.YNode().Style) {
		return 0
	}
	patch := field.Value.YNode()
	if line := cmp.Or(problem.Line, lineIn([]byte(patch.Value), problem)); line > 0 {
		return patch.Line + line
	}
	return 0
}
