// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/command"
)

// result is what a command did.
type result struct {
	code        int
	out, stderr string
}

// run runs the plugin with text as standard input, without an environment.
func run(t *testing.T, text string, args ...string) result {
	t.Helper()
	var out, stderr bytes.Buffer
	code := Run(t.Context(), args, "1.2.3", command.Streams{In: strings.NewReader(text), Out: &out, Err: &stderr, Getenv: func(string) string { return "" }})
	return result{code, out.String(), stderr.String()}
}

func TestRun_RejectsBadInput(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent")
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":           {[]string{"bogus"}, `: unknown command "bogus" for "kubectl memcached"`},
		"an unknown flag":              {[]string{"status", "--bogus"}, " status: unknown flag: --bogus"},
		"two names":                    {[]string{"status", "a", "b"}, ` status: unexpected argument "b": the usage is kubectl memcached status [NAME] [flags]`},
		"a kubeconfig that is absent":  {[]string{"status", "--kubeconfig", absent}, " status: reading the kubeconfig: stat " + absent + ": no such file or directory"},
		"no interval":                  {[]string{"status", "--interval", "0s"}, " status: --interval: 0s is not positive"},
		"an unknown form of status":    {[]string{"status", "-o", "yaml"}, ` status: --output: "yaml" is not json`},
		"an unknown form of top":       {[]string{"top", "-o", "yaml"}, ` top: --output: "yaml" is not json`},
		"no time to answer":            {[]string{"status", "--timeout", "-1s"}, " status: --timeout: -1s is not positive"},
		"a negative count":             {[]string{"top", "--count", "-1"}, " top: --count: -1 is negative"},
		"a negative interval":          {[]string{"top", "--interval", "-1s"}, " top: --interval: -1s is not positive"},
		"a name in all namespaces":     {[]string{"top", "-A", "cache"}, " top: --all-namespaces: name a Memcached in one namespace only"},
		"an unknown form":              {[]string{"servers", "-o", "xml"}, ` servers: --output: "xml" is not one of list, json, django, mcrouter and loki`},
		"no key":                       {[]string{"where"}, " where: the key is missing: the usage is kubectl memcached where KEY [NAME] [flags]"},
		"an empty key":                 {[]string{"where", ""}, " where: the key has 0 bytes: memcached's keys have 1 to 250"},
		"a long key":                   {[]string{"where", strings.Repeat("k", 251)}, " where: the key has 251 bytes: memcached's keys have 1 to 250"},
		"a key that is a command":      {[]string{"where", "a\r\nflush_all"}, ` where: the key "a\r\nflush_all" has white space or control characters, which memcached's keys cannot have`},
		"no Memcached to flush":        {[]string{"flush"}, " flush: the name is missing: the usage is kubectl memcached flush NAME [flags]"},
		"a pause of the past":          {[]string{"flush", "cache", "--pause", "-1s"}, " flush: --pause: -1s is less than 0"},
		"a file that cannot be read":   {[]string{"render", "-f", absent}, " render: open " + absent + ": no such file or directory"},
		"a kubeconfig of diff, absent": {[]string{"diff", "--kubeconfig", absent}, " diff: reading the kubeconfig: stat " + absent + ": no such file or directory"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := run(t, "", test.args...); got.code != exitFailed || got.out != "" || got.stderr != "kubectl memcached"+test.want+"\n" {
				t.Errorf("the exit code is %d and the output\n%s%s\nwant\nkubectl memcached%s", got.code, got.out, got.stderr, test.want)
			}
		})
	}
}

func TestRender_RendersTheGoodOneOfTwo(t *testing.T) {
	t.Parallel()
	const memcached = "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: %}\nspec: {size: %}\n"
	good := strings.Replace(strings.Replace(memcached, "%", "good", 1), "%", "1", 1)
	bad := strings.Replace(strings.Replace(memcached, "%", "bad", 1), "%", "-1", 1)
	got := run(t, bad+"---\n"+good, "render", "-f", "-")
	const want = "kubectl memcached render: standard input: document 1: "
	if got.code != exitIncomplete || !strings.HasPrefix(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.out, "name: good\n") || strings.Contains(got.out, "name: bad\n") {
		t.Errorf("the exit code is %d and the output\n%s%s", got.code, got.out, got.stderr)
	}
}

func TestHelp_NamesThePlugin(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"status", "top", "servers", "where", "flush", "advise", "doctor", "render", "diff"} {
		got := run(t, "", name, "--help")
		if got.code != 0 || !strings.Contains(got.out, "\n  kubectl memcached "+name+" ") || strings.Contains(got.out, "memcached-operator "+name) {
			t.Errorf("%s: the exit code is %d and the help\n%s%s", name, got.code, got.out, got.stderr)
		}
	}
	for _, version := range []string{"--version", "version"} {
		if got := run(t, "", version); got.out != "kubectl memcached version 1.2.3\n" {
			t.Errorf("%s prints %q", version, got.out)
		}
	}
	if got := run(t, "", "status", "--help"); !strings.Contains(got.out, "connecting included. (default 2s)") {
		t.Errorf("the default of --timeout is not 2s:\n%s", got.out)
	}
}

func TestCompletion_CompletesWithoutACluster(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"":             "render\t",
		"servers -o ":  "mcrouter\n",
		"servers --cl": "--cluster-domain\t",
	} {
		if got := run(t, "", append([]string{"__complete"}, strings.Split(words, " ")...)...); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%q is completed by\n%s%s", words, got.out, got.stderr)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := run(t, "", "completion", shell); got.code != 0 || !strings.Contains(got.out, "kubectl-memcached") {
			t.Errorf("the completion of %s has exit code %d: %s", shell, got.code, got.stderr)
		}
	}
}
