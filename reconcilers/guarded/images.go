// SPDX-License-Identifier: Apache-2.0

package guarded

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

// Images are patterns of the images that every author may name. A pattern is a
// repository, such as memcached or registry.example.com/cache/memcached, of which any tag
// and digest is allowed; or all repositories below a prefix, such as
// registry.example.com/cache/*; or * for all.
type Images []string

// ParseImages parses patterns that are separated by commas.
func ParseImages(text string) (Images, error) {
	var images Images
	for pattern := range strings.SplitSeq(text, ",") {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" {
			continue
		}
		if err := checkPattern(pattern); err != nil {
			return nil, fmt.Errorf("%q %w", pattern, err)
		}
		images = append(images, pattern)
	}
	return images, nil
}

func checkPattern(pattern string) error {
	prefix, wildcard := strings.CutSuffix(pattern, "*")
	switch {
	case wildcard && prefix != "" && !strings.HasSuffix(prefix, "/"), strings.Contains(prefix, "*"):
		return errors.New("has * elsewhere than behind its last slash; write registry.example.com/cache/* for all repositories below it, or * for all")
	case strings.ContainsFunc(pattern, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\`, r) }),
		strings.Contains(pattern, ".."), strings.HasPrefix(pattern, "/"), strings.Contains(pattern, "//"), strings.HasSuffix(pattern, "/"):
		return errors.New("is not a repository such as memcached or registry.example.com/cache/memcached")
	case Repository(pattern) != pattern:
		return errors.New("has a tag or a digest; leave it out, since any of the repository is allowed")
	}
	return nil
}

// Repositories returns the patterns that allow the repositories of references to images;
// empty ones are skipped.
func Repositories(references ...string) Images {
	var images Images
	for _, reference := range references {
		if repository := Repository(reference); repository != "" && !slices.Contains(images, repository) {
			images = append(images, repository)
		}
	}
	return images
}

// Repository returns an image without its tag and digest. A colon before a slash is that
// of a registry's port, so the repository of memcached:5000/x is not memcached.
func Repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name
}

// Allow reports whether a pattern matches an image. The registry docker.io and its library may be written or not, in
// both: memcached is docker.io/library/memcached.
func (i Images) Allow(image string) bool {
	repository := fullName(Repository(image))
	if strings.Contains(repository, "..") {
		return false
	}
	return slices.ContainsFunc(i, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return prefix == "" || strings.HasPrefix(repository, withRegistry(prefix))
		}
		return repository == fullName(pattern)
	})
}

// fullName returns the repository called name with its registry and, of one that the default registry has in no other
// directory, with the directory library.
func fullName(name string) string {
	name = withRegistry(name)
	if rest, ok := strings.CutPrefix(name, defaultRegistry); ok && !strings.Contains(rest, "/") {
		return defaultRegistry + "library/" + rest
	}
	return name
}

const defaultRegistry = "docker.io/"

// withRegistry returns name behind the default registry, unless it names one: its first part does if it could not be a
// directory, by a dot, a colon or a capital, or if it is localhost.
func withRegistry(name string) string {
	first, _, found := strings.Cut(name, "/")
	if found && (first == "localhost" || strings.ContainsAny(first, ".:") || strings.ToLower(first) != first) {
		return name
	}
	return defaultRegistry + name
}

// exclude reports whether an image is set and no pattern matches it.
func (i Images) exclude(image *cachev1alpha1.Image) bool {
	return isSet(image) && !i.Allow(string(*image))
}
