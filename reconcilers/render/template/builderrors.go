// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"path"
	"regexp"
	"strings"
)

// buildErrorPath matches the chain of directories in an error of kustomize.
var buildErrorPath = regexp.MustCompile(`(?s)^.*(?:recursed accumulation of path|couldn't make target for path) '/([^']*)': (.*)$`)

// buildErrors maps errors of kustomize to messages that say what to do, and to the file if the chain of directories does not
// end with it.
var buildErrors = []struct {
	pattern    *regexp.Regexp
	file, text string
}{
	{
		regexp.MustCompile(`(?s)^.*merging resources from '([^']*)': may not add resource with an already registered id: (\w+)\.\S*/([^']*)\.\[noNs\].*$`),
		"", "$1: another file has a $2 called $3 too; give this one another metadata.name, or change the other one by a patch",
	}, {
		regexp.MustCompile(`(?s)^.*expected kind 'Component' for path '/([^']*)' but got '([^']*)'.*$`),
		"$1/" + kustomizationFile, "kind is $2; a component has kind Component and apiVersion kustomize.config.k8s.io/v1alpha1",
	}, {
		regexp.MustCompile(`(?s)(\w+) operation does not apply: doc is missing (?:from )?(?:path|key): "?([^":]*)"?.*$`),
		"", "a JSON patch cannot $1 $2: the object has no such index, or lacks a map above it; correct the path, or add what is above it first",
	}, {
		regexp.MustCompile(`(?s)error in remove for path: '([^']*)'.*$`),
		"", "a JSON patch cannot remove $1: the object has no such field or index; correct the path, or remove the operation",
	}, {
		regexp.MustCompile(`(?s)no resource matches strategic merge patch "(\w+)\.\S*/([^"]*)\.\[noNs\]".*$`),
		"", "a patch changes $1 $2, which is in no template; name an object by the metadata.name of its template, such as memcached, not by its name in a cluster",
	}, {
		regexp.MustCompile(`(?s)trouble configuring builtin PatchTransformer .*unable to parse SM or JSON patch from \[(.*)\]$`),
		"", "a patch is neither a partial object nor a list of operations ($1); write a JSON patch as a YAML list, one - op: with path: and value: an item",
	}, {
		regexp.MustCompile("(?s)received error yaml: cannot decode !!str .* as a !!(int|float|bool) for the following resource:.*$"),
		"", "a replacement copies a string to a field of type $1; a string of a Memcached, such as one of spec.parameters, cannot become another type, so choose another target",
	},
}

// readableBuildError returns the problem that err, one of kustomize, reports: with the last of its chain of directories as the
// file, and in words that do not need those of kustomize.
func readableBuildError(err error) error {
	problem := Problem{Message: err.Error()}
	parts := buildErrorPath.FindStringSubmatch(problem.Message)
	if parts != nil {
		problem.File = path.Join(parts[1], kustomizationFile)
		problem.Message = strings.ReplaceAll(strings.TrimSuffix(parts[2], `"`), `\"`, `"`)
	}
	for _, e := range buildErrors {
		if e.pattern.MatchString(problem.Message) {
			problem.File = cmp.Or(e.pattern.ReplaceAllString(problem.Message, e.file), problem.File)
			problem.Message = e.pattern.ReplaceAllString(problem.Message, e.text)
			return problem
		}
	}
	if parts == nil {
		return err
	}
	return problem
}
