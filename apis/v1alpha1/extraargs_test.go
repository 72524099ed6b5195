// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"testing"
)

// Every option of memcached 1.6.45 that is not for tuning, or that has a field of its
// own, in each form in which memcached would take it.
func TestSpec_RejectsExtraArgs(t *testing.T) {
	table := map[string]refused{}
	refuse := func(args ...string) {
		for _, arg := range args {
			table[fmt.Sprintf("%q", arg)] = refusal(fmt.Sprintf("extraArgs: [%q]", arg), "spec.extraArgs[0]", extraArgsForm)
		}
	}
	// Long options, with getopt's abbreviations of some.
	refuse("--unix-mask=700", "--enable-shutdown", "--enable-ssl", "--port=1", "--port", "--unix-socket=/tmp/x", "--udp-port=1", "--udp-port", "--udp-port=0",
		"--memory-limit=1", "--conn-limit=1", "--lock-memory", "--help", "--license", "--version", "--enable-coredumps", "--verbose", "--verbose=2", "--daemon",
		"--listen=0.0.0.0", "--listen=notls:0.0.0.0:1", "--user=root", "--pidfile=/tmp/x", "--threads=1", "--max-item-size=1", "--enable-sasl",
		"--auth-file=/etc/passwd", "--memory-file=/tmp/x", "--napi-ids=1", "--protocol=binary", "--protocol=auto", "--protocol=auto-negotiate",
		"--udp=1", "--u=root", "--list=0.0.0.0", "--auth=/etc/passwd", "--disable-c", "--ext=modern", "--extended")
	// Short options, alone, with a value, and in a bundle.
	for _, option := range "aAZpsUmMckhiVrvdluPfntDLRCbBISFXWYeoN" {
		refuse(fmt.Sprintf("-%c", option), fmt.Sprintf("-%c 1", option), fmt.Sprintf("-%c1", option), fmt.Sprintf("-%c=1", option), fmt.Sprintf("-C%c", option))
	}
	// Sub-options of --extended.
	for _, option := range []string{
		"ext_path=/x:1m", "ext_page_size=8", "ext_wbuf_size=8", "ext_threads=1", "ext_io_depth=1", "ext_item_size=512", "ext_item_age=1", "ext_low_ttl=1",
		"ext_recache_rate=1", "ext_compact_under=1", "ext_drop_under=1", "ext_max_sleep=1", "ext_max_frag=0.5", "ext_drop_unread",
		"ssl_chain_cert=/x", "ssl_key=/x", "ssl_verify_mode=0", "ssl_keyformat=1", "ssl_ciphers=NULL", "ssl_ca_cert=/x", "ssl_wbuf_size=1", "ssl_session_cache",
		"ssl_kernel_tls", "ssl_min_version=tlsv1.0", "proxy_config=/x", "proxy_arg=x", "proxy_uring", "proxy_memprofile",
		"no_drop_privileges", "drop_privileges", "relaxed_privileges", "sock_cookie_id=1", "idle_timeout=1", "slab_sizes=100-200", "no_chunked_items",
		"inline_ascii_resp", "no_inline_ascii_resp", "no_such_option",
	} {
		refuse("--extended="+option, "--extended=modern,"+option, "--extended="+option+",modern")
	}
	// What is not one option, or no number that fits.
	refuse("", " ", "-", "--", "---disable-cas", "disable-cas", "memcached", "/bin/sh", "sh -c id", "--extended=", "--extended==", "--extended=,",
		" --disable-cas", "--disable-cas ", "--disable-cas=", "--disable-cas=1", "--disable-cas --udp-port=1", "--disable-cas\n", "--disable-cas\n--udp-port=1", "\n--disable-cas", "--disable-cas\t", "--disable-cas\x00",
		"--extended=modern\n", "--extended=modern ", "--extended=modern,", "--extended=hashpower=16,ssl_key=/x", "--extended=hashpower=16 ", "--extended modern",
		"$(VAR)", "$(MEMCACHED_PASSWORD)", "--extended=$(VAR)", "--extended=hashpower=$(VAR)", "--slab-min-size=$(VAR)", "$$(VAR)", "`id`", "--DISABLE-CAS", "--disable_cas",
		"--slab-growth-factor=", "--slab-growth-factor=1", "--slab-growth-factor=1.0", "--slab-growth-factor=-2", "--slab-growth-factor=1,5", "--slab-growth-factor=2e3",
		"--slab-min-size=-1", "--slab-min-size=0x10", "--slab-min-size=12345678901", "--max-reqs-per-event=", "--listen-backlog=1k",
		"--extended=hashpower=-1", "--extended=hashpower=99", "--extended=hot_lru_pct=0", "--extended=hot_lru_pct=80", "--extended=warm_lru_pct=01", "--extended=hash_algorithm=md5", "--extended=slab_automove=3", "--extended=track_sizes=1", "--extended=modern=1", "−-disable-cas")
	testRefused(t, table)
}
