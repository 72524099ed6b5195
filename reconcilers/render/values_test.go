// SPDX-License-Identifier: Apache-2.0

package render

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func quantity(s string) *resource.Quantity { return new(resource.MustParse(s)) }

// computedValues are specs and the values computed from them.
var computedValues = map[string]struct {
	spec     cachev1alpha1.MemcachedSpec
	defaults Defaults
	want     Values
}{
	"returns nothing for an empty spec": {},
	"gives the container 1.2 times the memory, rounded up": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("1Gi")},
		want: Values{Memory: &MemoryValues{Megabytes: "1024", Container: "1229Mi"}},
	},
	"computes the values of the template from the defaults": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("64Mi"), MaxItemSize: quantity("1Mi")},
		want: Values{Memory: &MemoryValues{Megabytes: "64", Container: "77Mi"}, MaxItemSize: &ItemSizeValues{Bytes: "1048576"}},
	},
	"adds 12.8 MiB to a small memory": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("16Mi")},
		want: Values{Memory: &MemoryValues{Megabytes: "16", Container: "29Mi"}},
	},
	"rounds the memory down to mebibytes": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("100M")},
		want: Values{Memory: &MemoryValues{Megabytes: "95", Container: "115Mi"}},
	},
	"converts the largest memory": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("1Ti")},
		want: Values{Memory: &MemoryValues{Megabytes: "1048576", Container: "1258292Mi"}},
	},
	"keeps the chunk size for an item of half a mebibyte": {
		spec: cachev1alpha1.MemcachedSpec{MaxItemSize: quantity("512Ki")},
		want: Values{MaxItemSize: &ItemSizeValues{Bytes: "524288"}},
	},
	"sets chunks of 4 KiB for an item of 100 KiB": {
		spec: cachev1alpha1.MemcachedSpec{MaxItemSize: quantity("100Ki")},
		want: Values{MaxItemSize: &ItemSizeValues{Bytes: "102400", ChunkKibibytes: "4"}},
	},
	"converts the smallest item": {
		spec: cachev1alpha1.MemcachedSpec{MaxItemSize: quantity("1Ki")},
		want: Values{MaxItemSize: &ItemSizeValues{Bytes: "1024", ChunkKibibytes: "1"}},
	},
	"sets no flag for verbosity 0": {spec: cachev1alpha1.MemcachedSpec{Verbosity: new(int32(0))}},
	"sets a flag for verbosity 3":  {spec: cachev1alpha1.MemcachedSpec{Verbosity: new(int32(3))}, want: Values{Verbosity: &VerbosityValues{Flag: "-vvv"}}},
	"appends arguments to the command": {
		spec: cachev1alpha1.MemcachedSpec{ExtraArgs: []cachev1alpha1.ExtraArg{"--disable-cas"}},
		want: Values{ExtraArgs: []string{"memcached", "--disable-cas"}},
	},
	"enables the reloader with tls, in the image of the environment": {
		spec:     cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls"}},
		defaults: Defaults{ReloaderImage: "busybox:1"},
		want:     Values{Reloader: &ReloaderValues{Enabled: true, Image: "busybox:1"}},
	},
	"enables the reloader with auth": {
		spec: cachev1alpha1.MemcachedSpec{Auth: &cachev1alpha1.Auth{SecretName: "users"}},
		want: Values{Reloader: &ReloaderValues{Enabled: true}},
	},
	"sets no mode for clientAuth None": {
		spec: cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthNone)}},
		want: Values{TLS: &TLSValues{}, Reloader: &ReloaderValues{Enabled: true}},
	},
	"sets mode 1 for clientAuth Request": {
		spec: cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthRequest)}},
		want: Values{TLS: &TLSValues{VerifyMode: "1"}, Reloader: &ReloaderValues{Enabled: true}},
	},
	"sets mode 2 for clientAuth Require, and TLS for metrics": {
		spec: cachev1alpha1.MemcachedSpec{
			TLS:     &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthRequire)},
			Metrics: &cachev1alpha1.Metrics{},
		},
		want: Values{TLS: &TLSValues{VerifyMode: "2"}, Reloader: &ReloaderValues{Enabled: true}, Metrics: &MetricsValues{TLS: true}},
	},
	"uses the exporter image of the environment": {
		spec:     cachev1alpha1.MemcachedSpec{Metrics: &cachev1alpha1.Metrics{}},
		defaults: Defaults{ExporterImage: "exporter:1"},
		want:     Values{Metrics: &MetricsValues{Image: "exporter:1"}},
	},
	"prefers the exporter image of the Memcached": {
		spec:     cachev1alpha1.MemcachedSpec{Metrics: &cachev1alpha1.Metrics{Image: new(cachev1alpha1.Image("exporter:2"))}},
		defaults: Defaults{ExporterImage: "exporter:1"},
		want:     Values{Metrics: &MetricsValues{Image: "exporter:2"}},
	},
	"ignores the exporter image without metrics": {defaults: Defaults{ExporterImage: "exporter:1", ReloaderImage: "busybox:1"}},
}

func TestValues_AreComputedFromTheSpec(t *testing.T) {
	t.Parallel()
	for name, test := range computedValues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.defaults.valuesFor(&cachev1alpha1.Memcached{Spec: test.spec}, false)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestPullPolicy_MatchesKubernetes(t *testing.T) {
	t.Parallel()
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for image, want := range map[string]string{
		"":                                      "",
		"memcached":                             "Always",
		"memcached:latest":                      "Always",
		"memcached:latest" + digest:             "Always",
		"memcached:1.6":                         "",
		"memcached:1.6" + digest:                "",
		"memcached" + digest:                    "",
		"memcached:not-latest":                  "",
		"example.com:5000/memcached":            "Always",
		"example.com:5000/latest:1.6":           "",
		"example.com:5000/a/memcached" + digest: "",
	} {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			if got := pullPolicy(image); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
