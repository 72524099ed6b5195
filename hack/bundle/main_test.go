// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifests = "../../bundle/manifests"

// edited is a copy of the bundle's manifests with each old replaced by new.
func edited(t *testing.T, replacements ...string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the bundle is missing, `make bundle` makes it: %v", err)
	}
	replacer := strings.NewReplacer(replacements...)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(replacer.Replace(string(content))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheBundleIsGood(t *testing.T) {
	t.Parallel()
	if err := check(manifests, false); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		dir     string
		digests bool
		want    []string
	}{
		"a field without a descriptor": {
			edited(t, "path: size\n", "path: image\n"), false,
			[]string{"spec.size has no descriptor: give it a marker"},
		},
		"a field within a field without one": {
			edited(t, "path: podMetadata.labels\n", "path: podMetadata\n"), false,
			[]string{"spec.podMetadata.labels has no descriptor"},
		},
		"a status field without one": {
			edited(t, "path: nodes\n", "path: image\n"), false,
			[]string{"status.nodes has no descriptor: give it a marker +operator-sdk:csv:customresourcedefinitions:type=status"},
		},
		"a descriptor without a field": {
			edited(t, "path: size\n", "path: sizes\n"), false,
			[]string{"spec.sizes has a descriptor and is no field", "spec.size has no descriptor"},
		},
		"a version that is not owned": {
			edited(t, "      version: v1alpha1\n  description", "      version: v1\n  description"), false,
			[]string{"memcacheds.cache.example.com v1alpha1 is served, and the ClusterServiceVersion does not own it"},
		},
		"tags where digests were asked for": {
			manifests, true,
			[]string{"annotation containerImage: memcached-operator:", "relatedImages memcached: memcached:", "container manager of memcached-operator-controller-manager: "},
		},
		"no bundle": {t.TempDir(), false, []string{"holds no ClusterServiceVersion"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			err := check(test.dir, test.digests)
			if err == nil {
				t.Fatal("it is not refused")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message does not say %q:\n%v", want, err)
				}
			}
		})
	}
}
