// SPDX-License-Identifier: Apache-2.0

// Package pages runs the shell blocks of the documentation as a reader does, in bash.
package pages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/controlplane"
)

// Block is a fenced block of a page.
type Block struct {
	// Page is the path of the page in the repository, Line the line of the opening fence, and Section
	// the heading above it.
	Page     string
	Line     int
	Section  string
	Language string
	Content  string
	// Test is the name of the test that runs the block, and Reason why none does, as the comment in the line above says:
	// <!-- run by TestName --> or <!-- not run: reason -->.
	Test, Reason string
}

func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Read returns the blocks of a page.
func Read(t testing.TB, page string) []Block {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), page))
	if err != nil {
		t.Fatal(err)
	}
	return parse(page, string(content))
}

func parse(page, content string) []Block {
	var blocks []Block
	var open *Block
	section, number, above := "", 0, ""
	for line := range strings.Lines(content) {
		number++
		text := strings.TrimSpace(line)
		language, fence := strings.CutPrefix(text, "```")
		switch {
		case fence && open == nil:
			open = &Block{Page: page, Line: number, Section: section, Language: language, Test: directive(above, "run by "), Reason: directive(above, "not run: ")}
		case fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.Content += line
		case strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(text, "# ")
		}
		above = text
	}
	return blocks
}

// directive returns the rest of the comment in line if that begins with start.
func directive(line, start string) string {
	comment, ok := strings.CutPrefix(line, "<!-- "+start)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(comment, " -->")
}

// Shell returns the shell blocks of a page.
func Shell(t testing.TB, page string) []Block {
	t.Helper()
	var shell []Block
	for _, b := range Read(t, page) {
		if b.Language == "sh" || b.Language == "bash" {
			shell = append(shell, b)
		}
	}
	return shell
}

// InSection returns a shell block of a section of a page, from 0.
func InSection(t testing.TB, page, section string, index int) Block {
	t.Helper()
	blocks := slices.DeleteFunc(Shell(t, page), func(b Block) bool { return b.Section != section })
	if index >= len(blocks) {
		t.Fatalf("the section %q of %s has %d shell blocks", section, page, len(blocks))
	}
	return blocks[index]
}

// Alternatives splits b at empty lines and comment lines, for blocks with one command for each install.
func (b Block) Alternatives() []Block {
	var parts []Block
	part := b
	part.Content = ""
	for line := range strings.Lines(b.Content) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			if part.Content != "" {
				parts = append(parts, part)
			}
			part.Content = ""
			continue
		}
		part.Content += line
	}
	if part.Content != "" {
		parts = append(parts, part)
	}
	return parts
}

// timeout matches what a page waits at most. A reader has a machine to himself, a test has one that may be busy.
var timeout = regexp.MustCompile(`--timeout=[0-9]+s`)

// Session is a reader's shell. Variables that one block exports are set in the next ones.
type Session struct {
	// Directory is where blocks run.
	Directory string
	// Replace changes what differs from the page, such as the names of images; nil changes nothing.
	Replace *strings.Replacer

	environment []string
	file        string
}

// NewSession returns a session in directory with the kubeconfig of a cluster. Programs of bin/ and
// bin/kube are in its PATH; helm is Helm 4.
func NewSession(t testing.TB, directory, kubeconfig string) *Session {
	t.Helper()
	bin := filepath.Join(controlplane.Root(), "bin")
	home := t.TempDir()
	if err := os.Symlink(filepath.Join(bin, "helm4"), filepath.Join(home, "helm")); err != nil {
		t.Fatal(err)
	}
	return &Session{
		Directory: directory,
		file:      filepath.Join(home, "exported"),
		environment: append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+home,
			"PATH="+strings.Join([]string{home, bin, filepath.Join(bin, "kube"), os.Getenv("PATH")}, string(os.PathListSeparator))),
	}
}

// Setenv sets a variable for the blocks that follow.
func (s *Session) Setenv(name, value string) { s.environment = append(s.environment, name+"="+value) }

// Run runs b, which has to succeed, and returns what it prints.
func (s *Session) Run(t testing.TB, b Block) string {
	t.Helper()
	return s.run(t, b, "")
}

// RunUntil runs b. Each `make run` in it, which runs in the foreground, is interrupted as by Ctrl-C once
// the shell command until succeeds.
func (s *Session) RunUntil(t testing.TB, b Block, until string) string {
	t.Helper()
	return s.run(t, b, fmt.Sprintf(interruptRun, until))
}

// interruptRun is a function in place of make. It gives up after two minutes.
const interruptRun = `make() {
  if [ "$1" != run ]; then
    command make "$@"
    return
  fi
  local status=1
  set -m
  command make "$@" &
  set +m
  for _ in $(seq 600); do
    kill -0 $! 2> /dev/null || break
    if %s > /dev/null 2>&1; then
      status=0
      break
    fi
    sleep 0.2
  done
  kill -INT -- -$! 2> /dev/null || true
  wait $! || true
  return $status
}
`

func (s *Session) run(t testing.TB, b Block, prelude string) string {
	t.Helper()
	var output bytes.Buffer
	command := s.command(context.WithoutCancel(t.Context()), b, prelude)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", b, err, b.Content, &output)
	}
	return output.String()
}

// Start starts b, which runs in the foreground, and interrupts it as Ctrl-C does when the test ends.
func (s *Session) Start(t testing.TB, b Block) {
	t.Helper()
	var output bytes.Buffer
	command := s.command(context.WithoutCancel(t.Context()), b, "")
	command.Stdout, command.Stderr = &output, &output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT)
		_ = command.Wait() // make reports the interrupt
		if t.Failed() {
			t.Logf("%s:\n%s", b, &output)
		}
	})
}

func (s *Session) command(ctx context.Context, b Block, prelude string) *exec.Cmd {
	content := b.Content
	content = timeout.ReplaceAllString(content, "--timeout=5m")
	if s.Replace != nil {
		content = s.Replace.Replace(content)
	}
	script := fmt.Sprintf("[ ! -e %[1]q ] || . %[1]q\n%[2]s%[3]s\nexport -p > %[1]q\n", s.file, prelude, content)
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env = s.Directory, s.environment
	command.WaitDelay = 10 * time.Second // for what a block leaves in the background
	return command
}
