// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/testenv"
)

// secret is the data of a Secret.
type secret map[string][]byte

// volume is a mounted Secret, or an empty directory if it has no source. As with the kubelet, each file of a Secret is a link
// through the link ..data, which is replaced at once when the Secret changes.
type volume struct {
	dir    string
	group  int
	source *corev1.SecretVolumeSource
}

// volumesOf makes the volumes of a pod that are Secrets or empty directories.
func volumesOf(t *testing.T, spec corev1.PodSpec, secrets map[string]secret) map[string]*volume {
	t.Helper()
	volumes := map[string]*volume{}
	for _, v := range spec.Volumes {
		if v.EmptyDir != nil {
			volumes[v.Name] = emptyDir(t, v.EmptyDir)
			continue
		}
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

// emptyDir makes an empty directory, which is in memory and has its size limit if the user may mount one.
func emptyDir(t *testing.T, source *corev1.EmptyDirVolumeSource) *volume {
	t.Helper()
	made := &volume{dir: t.TempDir()}
	if source.Medium == corev1.StorageMediumMemory && os.Getuid() == 0 {
		testenv.NoError(t, syscall.Mount("tmpfs", made.dir, "tmpfs", 0, fmt.Sprintf("size=%d", source.SizeLimit.Value())))
		t.Cleanup(func() { testenv.NoError(t, syscall.Unmount(made.dir, syscall.MNT_DETACH)) })
	}
	testenv.NoError(t, os.Chmod(made.dir, 0o777))
	return made
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
