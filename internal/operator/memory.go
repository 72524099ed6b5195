// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

// memoryLimitVariable is the environment variable with the container's memory limit in bytes. The install
// sets it through the downward API, which gives the node's allocatable memory if there is no limit.
const memoryLimitVariable = "CONTAINER_MEMORY_LIMIT"

// memoryLimitPercent is GOMEMLIMIT in percent of the container's limit. The rest is for memory that the Go
// runtime does not manage, and for allocations during a garbage collection.
const memoryLimitPercent = 90

// parseMemoryLimit returns the container's memory limit, or 0 when it is unknown.
func parseMemoryLimit(getenv func(string) string) (int64, error) {
	text := getenv(memoryLimitVariable)
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit < 1 {
		return 0, fmt.Errorf("%s: %q is not a positive number of bytes; set it from limits.memory by a resourceFieldRef, or leave it out",
			memoryLimitVariable, text)
	}
	return limit, nil
}

// setMemoryLimit sets the Go runtime's memory limit from the container's, unless GOMEMLIMIT is set.
func setMemoryLimit(container int64) {
	if container > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(container / 100 * memoryLimitPercent)
	}
}

// garbagePercent is GOGC when the operator is idle. Go's default is 100; here a small memory footprint is more
// important than speed.
const garbagePercent = 50

// setGCPercent sets garbagePercent, unless GOGC is set.
func setGCPercent() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
