// SPDX-License-Identifier: Apache-2.0

package render

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func TestValues(t *testing.T) {
	t.Parallel()
	quantity := func(s string) *resource.Quantity { return new(resource.MustParse(s)) }
	for sentence, test := range map[string]struct {
		spec     cachev1alpha1.MemcachedSpec
		defaults Defaults
		want     Values
	}{
		"nothing comes of nothing": {},
		"the container gets 1.2 times the memory, rounded up": {
			spec: cachev1alpha1.MemcachedSpec{Memory: quantity("1Gi")},
			want: Values{Memory: &MemoryValues{Megabytes: "1024", Container: "1229Mi"}},
		},
		"the default written out comes to what the template says": {
			spec: cachev1alpha1.MemcachedSpec{Memory: quantity("64Mi"), MaxItemSize: quantity("1Mi")},
			want: Values{Memory: &MemoryValues{Megabytes: "64", Container: "77Mi"}, MaxItemSize: &ItemSizeValues{Bytes: "1048576"}},
		},
		"a small memory gets 12.8 MiB more": {
			spec: cachev1alpha1.MemcachedSpec{Memory: quantity("16Mi")},
			want: Values{Memory: &MemoryValues{Megabytes: "16", Container: "29Mi"}},
		},
		"a memory that is no whole number of mebibytes is cut off": {
			spec: cachev1alpha1.MemcachedSpec{Memory: quantity("100M")},
			want: Values{Memory: &MemoryValues{Megabytes: "95", Container: "115Mi"}},
		},
		"the largest memory": {
			spec: cachev1alpha1.MemcachedSpec{Memory: quantity("1Ti")},
			want: Values{Memory: &MemoryValues{Megabytes: "1048576", Container: "1258292Mi"}},
		},
		"an item of half a mebibyte needs no other chunks": {
			spec: cachev1alpha1.MemcachedSpec{MaxItemSize: quantity("512Ki")},
			want: Values{MaxItemSize: &ItemSizeValues{Bytes: "524288"}},
		},
		"an item of 100 kibibytes is made of chunks of 4": {
			spec: cachev1alpha1.MemcachedSpec{MaxItemSize: quantity("100Ki")},
			want: Values{MaxItemSize: &ItemSizeValues{Bytes: "102400", ChunkKibibytes: "4"}},
		},
		"the smallest item": {
			spec: cachev1alpha1.MemcachedSpec{MaxItemSize: quantity("1Ki")},
			want: Values{MaxItemSize: &ItemSizeValues{Bytes: "1024", ChunkKibibytes: "1"}},
		},
		"verbosity 0 is no flag": {spec: cachev1alpha1.MemcachedSpec{Verbosity: new(int32(0))}},
		"verbosity 3 is a flag":  {spec: cachev1alpha1.MemcachedSpec{Verbosity: new(int32(3))}, want: Values{Verbosity: &VerbosityValues{Flag: "-vvv"}}},
		"arguments follow the command": {
			spec: cachev1alpha1.MemcachedSpec{ExtraArgs: []cachev1alpha1.ExtraArg{"--disable-cas"}},
			want: Values{ExtraArgs: []string{"memcached", "--disable-cas"}},
		},
		"the reloader comes with tls, in the image of the environment": {
			spec:     cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls"}},
			defaults: Defaults{ReloaderImage: "busybox:1"},
			want:     Values{Reloader: &ReloaderValues{Enabled: true, Image: "busybox:1"}},
		},
		"the reloader comes with auth": {
			spec: cachev1alpha1.MemcachedSpec{Auth: &cachev1alpha1.Auth{SecretName: "users"}},
			want: Values{Reloader: &ReloaderValues{Enabled: true}},
		},
		"clientAuth None verifies nothing": {
			spec: cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthNone)}},
			want: Values{TLS: &TLSValues{}, Reloader: &ReloaderValues{Enabled: true}},
		},
		"clientAuth Request is mode 1": {
			spec: cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthRequest)}},
			want: Values{TLS: &TLSValues{VerifyMode: "1"}, Reloader: &ReloaderValues{Enabled: true}},
		},
		"clientAuth Require is mode 2, and metrics speak TLS too": {
			spec: cachev1alpha1.MemcachedSpec{
				TLS:     &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthRequire)},
				Metrics: &cachev1alpha1.Metrics{},
			},
			want: Values{TLS: &TLSValues{VerifyMode: "2"}, Reloader: &ReloaderValues{Enabled: true}, Metrics: &MetricsValues{TLS: true}},
		},
		"the exporter's image of the environment": {
			spec:     cachev1alpha1.MemcachedSpec{Metrics: &cachev1alpha1.Metrics{}},
			defaults: Defaults{ExporterImage: "exporter:1"},
			want:     Values{Metrics: &MetricsValues{Image: "exporter:1"}},
		},
		"the exporter's image of the Memcached comes first": {
			spec:     cachev1alpha1.MemcachedSpec{Metrics: &cachev1alpha1.Metrics{Image: new(cachev1alpha1.Image("exporter:2"))}},
			defaults: Defaults{ExporterImage: "exporter:1"},
			want:     Values{Metrics: &MetricsValues{Image: "exporter:2"}},
		},
		"an exporter's image without metrics is not used": {defaults: Defaults{ExporterImage: "exporter:1", ReloaderImage: "busybox:1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := test.defaults.valuesFor(&cachev1alpha1.Memcached{Spec: test.spec}, false)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestPullPolicy_IsThatOfKubernetes(t *testing.T) {
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
