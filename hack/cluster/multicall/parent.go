package multicall

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// parentPIDVariable names the environment variable that ties a program's life
// to that of its parent: it holds the parent's process id. The cluster command
// sets it for all that it starts; ../cluster.go sets it.
const parentPIDVariable = "CLUSTER_PARENT_PID"

// parentCheckInterval bounds how long a program outlives its parent.
const parentCheckInterval = 250 * time.Millisecond

// watchParent returns a channel that is closed once this process's parent is
// gone, so that a supervisor killed with SIGKILL, which cannot stop its
// children, leaves none behind. A process whose parent died is given another;
// watching for that works on every Unix, which Linux's PR_SET_PDEATHSIG does
// not. Without the variable the channel is nil and so never ready.
func watchParent() (<-chan struct{}, error) {
	value, set := os.LookupEnv(parentPIDVariable)
	if !set {
		return nil, nil
	}
	parent, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("%s: want the process id of the parent: %w", parentPIDVariable, err)
	}
	// The variable is for this process alone: kubectl starts editors and plugins.
	if err := os.Unsetenv(parentPIDVariable); err != nil {
		return nil, err
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for os.Getppid() == parent {
			time.Sleep(parentCheckInterval)
		}
	}()
	return gone, nil
}
