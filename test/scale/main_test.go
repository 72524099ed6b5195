// SPDX-License-Identifier: Apache-2.0

//go:build scale

// Package scale measures the operator's program with many Memcacheds, on a control plane
// with its controllers running, beside a bare client that makes the same writes in the same
// run. It prints each figure beside its goal and fails where one is missed. `make scale`
// runs it; docs/user/scale.md says what is measured and holds the results.
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

	"github.com/example/memcached-operator/test/controlplane"
	"github.com/example/memcached-operator/test/testenv"
)

const (
	// writers is how many writes are under way at once, in the operator (its default of
	// --max-concurrent-reconciles) and in the bare client alike.
	writers = 8
	// eventsKept is the maximum time for which client-go keeps an event in memory, to count others that are equal:
	// every 6 minutes it drops those that are older than 6 minutes.
	eventsKept = 12 * time.Minute
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
	testenv.Env
	// sizes are the numbers of Memcacheds to measure with.
	sizes []int
	// started is when the tests began.
	started time.Time
}

func TestMain(m *testing.M) {
	flag.Parse()
	suite.started = time.Now()
	for text := range strings.SplitSeq(*sizesFlag, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 {
			fmt.Fprintf(os.Stderr, "-sizes: %q is not a number of Memcacheds\n", text)
			os.Exit(1)
		}
		suite.sizes = append(suite.sizes, size)
	}
	os.Exit(testenv.Main(m, &suite.Env, testenv.Setup{NoControlPlane: true, Build: build}))
}

// build builds the operator as the Dockerfile does, with -profiles plus overlayProgram.
func build(ctx context.Context, path string) error {
	args := []string{"build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w -X main.version=scale", "-o", path}
	if *profilesFlag != "" {
		overlay := filepath.Join(filepath.Dir(path), "overlay.json")
		content := fmt.Sprintf(`{"Replace": {%q: %q}}`, filepath.Join(controlplane.Root(), "profiles.go"),
			filepath.Join(controlplane.Root(), "test", "scale", "testdata", overlayProgram))
		if err := os.WriteFile(overlay, []byte(content), 0o600); err != nil {
			return err
		}
		args = append(args, "-overlay="+overlay)
	}
	command := exec.CommandContext(ctx, "go", append(args, ".")...)
	command.Dir = controlplane.Root()
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Dockerfile; with C it is twice as large
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the operator: %w\n%s", err, output)
	}
	return nil
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
