// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/testenv"
)

// secret is the data of a Secret.
type secret map[string][]byte

// volume is a mounted Secret. As with the kubelet, each of its files is a link through
// the link ..data, which is replaced at once when the Secret changes.
type volume struct {
	dir    string
	group  int
	source *corev1.SecretVolumeSource
}

// volumesOf makes the volumes of a pod that are Secrets.
func volumesOf(t *testing.T, spec corev1.PodSpec, secrets map[string]secret) map[string]*volume {
	t.Helper()
	volumes := map[string]*volume{}
	for _, v := range spec.Volumes {
		if v.Secret == nil {
			continue
		}
		data, ok := secrets[v.Secret.SecretName]
		if !ok {
			t.Fatalf("volume %s: no Secret %s", v.Name, v.Secret.SecretName)
		}
		made := &volume{dir: t.TempDir(), group: -1, source: v.Secret}
		if os.Getuid() == 0 {
			made.group = int(*spec.SecurityContext.FSGroup)
		}
		testenv.NoError(t, os.Chmod(made.dir, 0o755))
		made.write(t, data)
		for _, item := range v.Secret.Items {
			testenv.NoError(t, os.Symlink(filepath.Join("..data", item.Path), filepath.Join(made.dir, item.Path)))
		}
		volumes[v.Name] = made
	}
	return volumes
}

// write puts data in the place of what the volume held.
func (v *volume) write(t *testing.T, data secret) {
	t.Helper()
	dir, err := os.MkdirTemp(v.dir, "..")
	testenv.NoError(t, err)
	testenv.NoError(t, os.Chmod(dir, 0o755))
	for _, item := range v.source.Items {
		value, ok := data[item.Key]
		if !ok {
			t.Fatalf("Secret %s has no key %s", v.source.SecretName, item.Key)
		}
		file := filepath.Join(dir, item.Path)
		testenv.NoError(t, os.WriteFile(file, value, 0o600))
		testenv.NoError(t, os.Chown(file, -1, v.group))
		testenv.NoError(t, os.Chmod(file, os.FileMode(*v.source.DefaultMode)))
	}
	link := filepath.Join(v.dir, "..data")
	old, _ := os.Readlink(link)
	testenv.NoError(t, os.Symlink(filepath.Base(dir), link+"_tmp"))
	testenv.NoError(t, os.Rename(link+"_tmp", link))
	if old != "" {
		testenv.NoError(t, os.RemoveAll(filepath.Join(v.dir, old)))
	}
}
