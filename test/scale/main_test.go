// SPDX-License-Identifier: Apache-2.0

//go:build scale

// Package scale measures the operator's program with many Memcacheds, on a control plane
// with its controllers running, beside a bare client that makes the same writes in the same
// run. It prints each figure beside its goal and fails where one is missed. `make scale`
// runs it; docs/scale.md says what is measured and holds the results.
package scale

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/test/controlplane"
)

const (
	// writers is how many writes are under way at once, in the operator (its default of
	// --max-concurrent-reconciles) and in the bare client alike.
	writers = 8
	// overlayProgram is the Go file that -profiles adds to the operator.
	overlayProgram = "profiles.go.txt"
)

var (
	sizesFlag    = flag.String("sizes", "100,1000,3000,10000", "numbers of Memcacheds to measure with, separated by commas")
	idleFlag     = flag.Duration("idle", time.Minute, "how long the requests of an operator with nothing to do are counted")
	profilesFlag = flag.String("profiles", "", "directory for profiles of the operator, which is then built with a signal handler that writes them")
)

// suite is what all tests of the package share.
var suite struct {
	// program is the path of the operator's program.
	program string
	// sizes are the numbers of Memcacheds to measure with.
	sizes []int
	// started is when the tests began.
	started time.Time
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	suite.started = time.Now()
	ctrllog.SetLogger(logr.Discard())
	for text := range strings.SplitSeq(*sizesFlag, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 {
			return 1, fmt.Errorf("-sizes: %q is not a number of Memcacheds", text)
		}
		suite.sizes = append(suite.sizes, size)
	}
	dir, err := os.MkdirTemp("", "memcached-operator-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	suite.program = filepath.Join(dir, "memcached-operator")
	if err := build(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// build builds the operator as the Dockerfile does, with -profiles plus overlayProgram.
func build(dir string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.version=scale", "-o", suite.program}
	if *profilesFlag != "" {
		overlay := filepath.Join(dir, "overlay.json")
		content := fmt.Sprintf(`{"Replace": {%q: %q}}`, filepath.Join(controlplane.Root(), "profiles.go"),
			filepath.Join(controlplane.Root(), "test", "scale", "testdata", overlayProgram))
		if err := os.WriteFile(overlay, []byte(content), 0o600); err != nil {
			return err
		}
		args = append(args, "-overlay="+overlay)
	}
	command := exec.Command("go", append(args, ".")...)
	command.Dir = controlplane.Root()
	// With C the program is twice as large.
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the operator: %w\n%s", err, output)
	}
	return nil
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until condition holds, and fails with what was waited for when it does
// not within timeout.
func eventually(t *testing.T, what string, interval, timeout time.Duration, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, timeout, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// inParallel calls do with 0 to count-1, writers at a time. It stops at errors, which it
// returns.
func inParallel(count int, do func(i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, writers)
	for worker := range writers {
		group.Go(func() {
			for errs[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				errs[worker] = do(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
