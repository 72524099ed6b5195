// SPDX-License-Identifier: Apache-2.0

package render

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
)

func quantity(s string) *resource.Quantity { return new(resource.MustParse(s)) }

// tlsMemory is that of a Memcached with spec.tls alone.
var tlsMemory = &ContainerMemoryValues{Request: "134Mi", Limit: "173Mi", BufferMegabytes: "24"}

// computedValues are specs and the values computed from them.
var computedValues = map[string]struct {
	spec     cachev1alpha1.MemcachedSpec
	defaults Defaults
	want     Values
}{
	"returns nothing for an empty spec": {},
	"adds connections, threads and the hash table to the memory": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("1Gi")},
		want: Values{Memory: &MemoryValues{Megabytes: "1024"}, ContainerMemory: &ContainerMemoryValues{Request: "1154Mi", Limit: "1193Mi", BufferMegabytes: "24"}},
	},
	"computes the values of the template from the defaults": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("64Mi"), MaxItemSize: quantity("1Mi")},
		want: Values{
			Memory: &MemoryValues{Megabytes: "64"}, ContainerMemory: &ContainerMemoryValues{Request: "104Mi", Limit: "143Mi", BufferMegabytes: "24"},
			MaxItemSize: &ItemSizeValues{Bytes: "1048576"},
		},
	},
	"needs less for few connections": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("16Mi"), MaxConnections: new(int32(100)), Threads: new(int32(1))},
		want: Values{Memory: &MemoryValues{Megabytes: "16"}, ContainerMemory: &ContainerMemoryValues{Request: "29Mi", Limit: "68Mi", BufferMegabytes: "3"}},
	},
	"needs more for TLS": {
		spec: cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls"}},
		want: Values{TLS: &TLSValues{}, ContainerMemory: tlsMemory, Reloader: &ReloaderValues{Enabled: true}},
	},
	"rounds the memory down to mebibytes, and bounds the buffers": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("100M"), MaxConnections: new(int32(500000))},
		want: Values{Memory: &MemoryValues{Megabytes: "95"}, ContainerMemory: &ContainerMemoryValues{Request: "4699Mi", Limit: "4738Mi", BufferMegabytes: "4095"}},
	},
	"converts the largest memory": {
		spec: cachev1alpha1.MemcachedSpec{Memory: quantity("1Ti")},
		want: Values{Memory: &MemoryValues{Megabytes: "1048576"}, ContainerMemory: &ContainerMemoryValues{Request: "1097762Mi", Limit: "1097801Mi", BufferMegabytes: "24"}},
	},
	"leaves out the preStop for which there is no time": {
		spec: cachev1alpha1.MemcachedSpec{TerminationGracePeriodSeconds: new(int64(7))},
		want: Values{OmitPreStop: true},
	},
	"keeps the preStop for which there is time":     {spec: cachev1alpha1.MemcachedSpec{TerminationGracePeriodSeconds: new(int64(8))}},
	"keeps the preStop that the Memcached asks for": {spec: cachev1alpha1.MemcachedSpec{TerminationGracePeriodSeconds: new(int64(3)), PreStop: &cachev1alpha1.PreStop{SleepSeconds: 2}}},
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
		want:     Values{ContainerMemory: tlsMemory, TLS: &TLSValues{}, Reloader: &ReloaderValues{Enabled: true, Image: "busybox:1"}},
	},
	"enables the reloader with auth": {
		spec: cachev1alpha1.MemcachedSpec{Auth: &cachev1alpha1.Auth{SecretName: "users"}},
		want: Values{Reloader: &ReloaderValues{Enabled: true}},
	},
	"sets no mode for clientAuth None": {
		spec: cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthNone)}},
		want: Values{ContainerMemory: tlsMemory, TLS: &TLSValues{}, Reloader: &ReloaderValues{Enabled: true}},
	},
	"sets mode 1 for clientAuth Request": {
		spec: cachev1alpha1.MemcachedSpec{TLS: &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthRequest)}},
		want: Values{ContainerMemory: tlsMemory, TLS: &TLSValues{VerifyMode: "1"}, Reloader: &ReloaderValues{Enabled: true}},
	},
	"sets mode 2 for clientAuth Require, and TLS for metrics": {
		spec: cachev1alpha1.MemcachedSpec{
			TLS:     &cachev1alpha1.TLS{SecretName: "tls", ClientAuth: new(cachev1alpha1.ClientAuthRequire)},
			Metrics: &cachev1alpha1.Metrics{},
		},
		want: Values{ContainerMemory: tlsMemory, TLS: &TLSValues{VerifyMode: "2"}, Reloader: &ReloaderValues{Enabled: true}, Metrics: &MetricsValues{Access: true, TLS: true}},
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
	"uses the operator's own exporter where memcached requires a user": {
		spec:     cachev1alpha1.MemcachedSpec{Metrics: &cachev1alpha1.Metrics{}, Auth: &cachev1alpha1.Auth{SecretName: "users"}},
		defaults: Defaults{ExporterImage: "exporter:1", AccessExporterImage: "own:1"},
		want:     Values{Reloader: &ReloaderValues{Enabled: true}, Metrics: &MetricsValues{Image: "own:1", Access: true, Auth: true}},
	},
	"ignores the exporter image without metrics": {defaults: Defaults{ExporterImage: "exporter:1", ReloaderImage: "busybox:1"}},
}

func TestValues_AreComputedFromTheSpec(t *testing.T) {
	t.Parallel()
	for name, test := range computedValues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.defaults.valuesFor(&cachev1alpha1.Memcached{Spec: test.spec}, plainPod{shippedCapacity, 7}, false)
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
