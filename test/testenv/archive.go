// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// Untar returns the text of the files in a compressed archive by their names, without the directory that holds them all.
func Untar(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.Open(file)
	NoError(t, err)
	defer func() { _ = content.Close() }()
	decompressed, err := gzip.NewReader(content)
	NoError(t, err)
	files := map[string]string{}
	for archive := tar.NewReader(decompressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		NoError(t, err)
		text, err := io.ReadAll(archive)
		NoError(t, err)
		_, name, _ := strings.Cut(header.Name, "/")
		files[name] = string(text)
	}
}
