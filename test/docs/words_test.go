// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

// everywhere is the key of oldNames for all directories, in which no identifier may have the name.
const everywhere = "."

// oldNames are identifiers that were replaced by standard terms, with what replaced them, by the
// directory whose files must not declare them again.
var oldNames = map[string]map[string]string{
	everywhere: {
		"SetUp": "SetupWithManager", "LeftOut": "SkippedKinds", "leaveOut": "skip", "lookAgain": "requeueAfter", "waitAgain": "deletionPollInterval",
		"podOwner": "mapPodToMemcached", "everyMemcached": "mapToAllMemcacheds", "remembering": "ownWriteFilter", "slimPod": "stripPod",
		"Absence": "Unavailability", "hurry": "trigger", "complain": "logOnce", "Leftovers": "StaleKinds", "ForeignError": "OwnershipConflictError",
		"ReasonForeignObject": "ReasonOwnershipConflict", "notOurs": "conflict", "Unconfirmed": "NotYetCached", "Overtaken": "ChangedDuringWrite",
		"perturbed": "mutated", "mustKeep": "checkImmutable", "forgetSchema": "resetOpenAPI", "verdict": "result", "wellFormed": "sanitize",
		"allowGarbage": "setGCPercent", "world": "env", "newWorld": "newEnv",
	},
	"reconcilers": {
		"tell": "recordEvents", "outcome": "result", "recheck": "conflictRecheckInterval", "optional": "discovery.Watcher", "look": "Refresh",
	},
	"reconcilers/discovery": {"optional": "Watcher", "look": "Refresh"},
	"reconcilers/preflight": {
		"Learn": "LoadSchema", "Findings": "Result", "Installed": "CheckCRD", "Served": "CheckKinds", "Permitted": "CheckPermissions",
	},
	"reconcilers/apply": {
		"Skipped": "Unchanged", "Refused": "Conflict", "isOurs": "isManagedByUs", "belongsTo": "isOwnedBy", "takeOver": "adopt", "handOver": "transferFields",
		"migrate": "upgradeManagedFields", "reclaim": "takeListOwnership", "gap": "drift", "held": "liveContent", "fit": "toTyped", "needed": "needsApply",
		"Recent": "PendingWrites",
	},
	"reconcilers/render":          oldRenderNames,
	"reconcilers/render/template": oldRenderNames,
	"reconcilers/status":          {"judge": "evaluate", "clip": "truncate"},
	"reconcilers/olm":             {"Reporter": "OperatorConditionReconciler", "decide": "desiredCondition"},
}

var oldRenderNames = map[string]string{
	"plan": "prebuilt", "slots": "placeholders", "place": "placeholder", "mark": "placeholder", "whole": "fullBuild", "prove": "verify",
	"agrees": "matches", "located": "sourcedReplacement", "try": "validate", "finish": "setMetadata", "mains": "gone",
}

// oldWords are passages that no page, message or comment of the shipped files says, with what
// they say now. CHANGELOG.md is exempt.
var oldWords = map[string]string{
	"somebody else":             "another owner, another manager",
	"makes it so":               "server-side applies it",
	"what holds":                "what is unchanged",
	"is news":                   "has changed",
	"ForeignObject":             "OwnershipConflict",
	"LeftOut":                   "KindUnavailable",
	"LeaveOut":                  "Skip",
	"this is OpenShift":         "Detected OpenShift",
	"is used from now on":       "Optional API available",
	"it is left so":             "Applied object was modified by admission; not retrying",
	"no API server is known":    "no cluster configured",
	"caches are not filled yet": "caches not synced",
	"ending to watch":           "stopping the watch on",
	"no way to an API server":   "creating API clients",
	"is not a template's to":    "is managed by the operator; remove it from the template",
	"Mend the template":         "Fix the template",
	"is not there yet":          "Roadmap",
}

func TestWords_AreStandardTerms(t *testing.T) {
	t.Parallel()
	findings := map[string][]string{}
	for _, file := range files(t, ".", ".go") {
		parsed := parse(t, file)
		for directory, names := range map[string][]string{everywhere: identifiers(parsed), path.Dir(file): declared(parsed)} {
			for _, name := range names {
				if now, old := oldNames[directory][name]; old {
					findings[file] = append(findings[file], fmt.Sprintf("has %s: call it %s", name, now))
				}
			}
		}
	}
	for file, text := range texts(t) {
		// A passage may be broken into lines.
		text = strings.ToLower(strings.Join(strings.Fields(text), " "))
		for old, now := range oldWords {
			if strings.Contains(text, strings.ToLower(old)) {
				findings[file] = append(findings[file], fmt.Sprintf("says %q: say %q", old, now))
			}
		}
	}
	for file, found := range findings {
		t.Errorf("%s %s", file, strings.Join(found, "; "))
	}
}

// identifiers returns all identifiers of a Go file, those of fields and variables among them.
func identifiers(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(node ast.Node) bool {
		if identifier, ok := node.(*ast.Ident); ok {
			names = append(names, identifier.Name)
		}
		return true
	})
	return names
}

// declared returns the names that a Go file declares at its top level, methods among them.
func declared(file *ast.File) []string {
	var names []string
	for _, declaration := range file.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			names = append(names, declaration.Name.Name)
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(controlplane.Root(), file), nil, parser.ParseComments|parser.SkipObjectResolution)
	testenv.NoError(t, err)
	return parsed
}

// texts returns what people read, by file: pages, manifests, and the messages of the operator.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, page := range pages(t) {
		if page != "CHANGELOG.md" {
			found[page] = read(t, page)
		}
	}
	for _, directory := range []string{"charts", "config", "manifests"} {
		for _, file := range files(t, directory, ".yaml", ".txt", ".tpl", ".gotmpl") {
			found[file] = strings.ReplaceAll(read(t, file), "#", "") // comments are read too
		}
	}
	for _, directory := range []string{"internal", "reconcilers", "apis"} {
		for _, file := range files(t, directory, ".go") {
			if !strings.HasSuffix(file, "_test.go") {
				found[file] = literals(t, file)
			}
		}
	}
	return found
}

// literals returns the string literals of a Go file, a line each: its messages are among them.
func literals(t *testing.T, file string) string {
	t.Helper()
	var all []string
	ast.Inspect(parse(t, file), func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			testenv.NoError(t, err)
			all = append(all, text)
		}
		return true
	})
	return strings.Join(slices.Compact(all), "\n")
}
