package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// parentPIDVariable names the environment variable that ties a program's life
// to that of its parent: it holds the parent's process id. The cluster command
// sets it for all that it starts; hack/cluster/run.go has its other half.
const parentPIDVariable = "CLUSTER_PARENT_PID"

// parentCheckInterval bounds how long a program outlives its parent.
const parentCheckInterval = 250 * time.Millisecond

// exitWithParent ends this process once its parent is gone, so that a
// supervisor killed with SIGKILL, which cannot stop its children, leaves none
// behind. A process whose parent died is given another; watching for that
// works on every Unix, which Linux's PR_SET_PDEATHSIG does not.
func exitWithParent() {
	value, set := os.LookupEnv(parentPIDVariable)
	if !set {
		return
	}
	parent, err := strconv.Atoi(value)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=%q: want the process id of the parent\n", parentPIDVariable, value)
		os.Exit(2)
	}
	// The variable is for this process alone: kubectl starts editors and plugins.
	_ = os.Unsetenv(parentPIDVariable)
	go func() {
		for os.Getppid() == parent {
			time.Sleep(parentCheckInterval)
		}
		// Nobody is left to read an exit code or to wait for a graceful end.
		os.Exit(1)
	}()
}
