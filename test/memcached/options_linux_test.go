// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// settings are what memcached says of itself, by its own names.
type settings map[string]string

func TestOptions_ReachMemcached(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec string
		want settings
	}{
		"nothing": {"", settings{
			"maxbytes": "67108864", "maxconns": "1024", "num_threads": "4", "item_size_max": "1048576", "udpport": "0",
			"verbosity": "0", "idle_timeout": "0", "inter": "NULL", "shutdown_command": "no", "auth_enabled_ascii": "no", "ssl_enabled": "no",
		}},
		"memory": {"memory: 100Mi", settings{"maxbytes": "104857600"}},
		"memory that is no whole number of megabytes": {"memory: 50M", settings{"maxbytes": "49283072"}},
		"the least memory":                            {"memory: 16Mi", settings{"maxbytes": "16777216"}},
		"much memory":                                 {"memory: 1Ti", settings{"maxbytes": "1099511627776"}},
		"connections":                                 {"maxConnections: 4000", settings{"maxconns": "4000"}},
		"the least connections":                       {"{threads: 1, maxConnections: 20}", settings{"maxconns": "20"}},
		"the least connections for many threads":      {"{threads: 64, maxConnections: 650}", settings{"maxconns": "650"}},
		"one thread":                                  {"threads: 1", settings{"num_threads": "1"}},
		"many threads":                                {"threads: 64", settings{"num_threads": "64"}},
		"the smallest items":                          {"maxItemSize: 1Ki", settings{"item_size_max": "1024", "slab_chunk_max": "1024"}},
		"small items":                                 {"maxItemSize: 100Ki", settings{"item_size_max": "102400", "slab_chunk_max": "4096"}},
		"items of half a megabyte":                    {"maxItemSize: 512Ki", settings{"item_size_max": "524288", "slab_chunk_max": "524288"}},
		"items of an odd size":                        {"maxItemSize: 1025Ki", settings{"item_size_max": "1049600", "slab_chunk_max": "1024"}},
		"items of several megabytes":                  {"maxItemSize: 1536Ki", settings{"item_size_max": "1572864", "slab_chunk_max": "524288"}},
		"items of half the memory":                    {"maxItemSize: 32Mi", settings{"item_size_max": "33554432"}},
		"the largest items":                           {"{memory: 2Gi, maxItemSize: 1Gi}", settings{"item_size_max": "1073741824"}},
		"idle timeout":                                {"idleTimeoutSeconds: 5400", settings{"idle_timeout": "5400"}},
		"the longest idle timeout":                    {"idleTimeoutSeconds: 31536000", settings{"idle_timeout": "31536000"}},
		"no verbosity":                                {"verbosity: 0", settings{"verbosity": "0"}},
		"verbosity 1":                                 {"verbosity: 1", settings{"verbosity": "1"}},
		"verbosity 2":                                 {"verbosity: 2", settings{"verbosity": "2"}},
		"verbosity 3":                                 {"verbosity: 3", settings{"verbosity": "3"}},
		"values on disk":                              {"{memory: 128Mi, flash: {size: 1Gi}}", settings{"maxbytes": "134217728", "ext_item_age": "0"}},
		"large values on disk":                        {"{memory: 64Mi, maxItemSize: 4Mi, flash: {size: 8Gi}}", settings{"item_size_max": "4194304", "ext_item_age": "0"}},
		"every option": {
			"{memory: 1Gi, maxConnections: 2000, threads: 2, maxItemSize: 96Ki, idleTimeoutSeconds: 90, verbosity: 1, extraArgs: [--disable-flush-all, --extended=no_maxconns_fast]}",
			settings{
				"maxbytes": "1073741824", "maxconns": "2000", "num_threads": "2", "item_size_max": "98304", "slab_chunk_max": "32768",
				"idle_timeout": "90", "verbosity": "1", "flush_enabled": "no", "maxconns_fast": "no", "udpport": "0",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			startsWith(t, test.spec, test.want)
		})
	}
}

// startsWith runs the pod of a spec, and looks at memcached's settings.
func startsWith(t *testing.T, spec string, want settings) {
	t.Helper()
	p := start(t, given{spec: spec})
	got, err := p.connect(t, nil).Stats("settings")
	testenv.NoError(t, err)
	if got["tcpport"] != p.port {
		t.Errorf("memcached's port is %s, want %s", got["tcpport"], p.port)
	}
	for setting, value := range want {
		if got[setting] != value {
			t.Errorf("memcached has %s %q, want %q", setting, got[setting], value)
		}
	}
}

// TestMaxItemSize_IsTheLimit: the largest value is a little smaller than the item, which contains the key and memcached's
// own header.
func TestMaxItemSize_IsTheLimit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec string
		fits int
	}{
		"the smallest items":         {"maxItemSize: 1Ki", 900},
		"small items":                {"maxItemSize: 100Ki", 100 << 10 * 99 / 100},
		"items of one megabyte":      {"", 1 << 20 * 99 / 100},
		"items of an odd size":       {"maxItemSize: 1025Ki", 1025 << 10 * 99 / 100},
		"items of several megabytes": {"maxItemSize: 3Mi", 3 << 20 * 99 / 100},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := start(t, given{spec: test.spec}).connect(t, nil)
			value := strings.Repeat("x", test.fits)
			testenv.NoError(t, client.Set("largest", value))
			got, err := client.Get("largest")
			testenv.NoError(t, err)
			if got != value {
				t.Errorf("of %d bytes, %d came back", len(value), len(got))
			}
			if err := client.Set("larger", value+value); err == nil {
				t.Errorf("memcached stores %d bytes", 2*len(value))
			}
		})
	}
}
