// SPDX-License-Identifier: Apache-2.0

// Command compare compares the API and the permissions of the working tree with those of an
// earlier commit: the CustomResourceDefinition without its descriptions, and the files of
// config/rbac. It prints what differs and exits with status 1.
//
//	go run ./hack/compare main~20
//
// What the operators of the two commits write is compared by TestUpgrade_RollsNoPod of the fault
// suite, with -from.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// directories hold what is compared. Descriptions of the API may change.
var directories = []string{"config/crd/bases", "config/rbac", "config/namespaced"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: compare COMMIT")
		os.Exit(2)
	}
	if err := compare(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s: as in %s\n", strings.Join(directories, ", "), os.Args[1])
}

// compare returns an error for each file that differs from that of commit.
func compare(commit string) error {
	var errs []error
	for _, directory := range directories {
		names, err := git("ls-tree", "-r", "--name-only", commit, directory+"/")
		if err != nil {
			return err
		}
		before := strings.Fields(names)
		err = filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !slices.Contains(before, name) {
				errs = append(errs, fmt.Errorf("%s: not in %s", name, commit))
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, name := range before {
			errs = append(errs, compareFile(commit, name))
		}
	}
	return errors.Join(errs...)
}

// compareFile returns an error for each difference between the documents of the YAML file name and
// those of commit, apart from descriptions.
func compareFile(commit, name string) error {
	text, err := git("show", commit+":"+name)
	if err != nil {
		return err
	}
	before, err := documents([]byte(text))
	if err != nil {
		return fmt.Errorf("%s in %s: %w", name, commit, err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	after, err := documents(content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for _, path := range differences(before, after, "") {
		errs = append(errs, fmt.Errorf("%s: %s differs from %s", name, path, commit))
	}
	return errors.Join(errs...)
}

// documents returns the YAML documents of text.
func documents(text []byte) ([]any, error) {
	var result []any
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var document any
		if err := yaml.Unmarshal(part, &document); err != nil {
			return nil, err
		}
		result = append(result, document)
	}
	return result, nil
}

// differences returns the paths at which a and b differ. Texts called description are not compared;
// fields of that name, which are objects, are.
func differences(a, b any, at string) []string {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		var all []string
		for _, key := range keys(a, b) {
			_, isText := a[key].(string)
			if a[key] == nil {
				_, isText = b[key].(string)
			}
			if key != "description" || !isText {
				all = append(all, differences(a[key], b[key], at+"."+key)...)
			}
		}
		return all
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		var all []string
		for i := range a {
			all = append(all, differences(a[i], b[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
		return all
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []string{cmp.Or(at, "the content")}
}

// keys returns the keys of a and b, sorted.
func keys(a, b map[string]any) []string {
	var all []string
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func git(arguments ...string) (string, error) {
	output, err := exec.Command("git", arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
	}
	return string(output), nil
}
