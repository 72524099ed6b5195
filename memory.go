// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

// memoryLimitVariable holds the container's memory limit in bytes. The install sets it by
// the downward API, which gives the node's allocatable memory where there is no limit.
const memoryLimitVariable = "CONTAINER_MEMORY_LIMIT"

// memoryLimitPercent is how much of the container's limit the Go runtime may use before
// it collects garbage more often. The rest is for what the runtime does not manage, and
// for the time that a collection takes.
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

// setMemoryLimit tells the Go runtime of the container's memory limit, unless GOMEMLIMIT
// has told it another one.
func setMemoryLimit(container int64) {
	if container > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(container / 100 * memoryLimitPercent)
	}
}

// garbagePercent is how much garbage there may be, in percent of what is in use, outside builds
// of the templates. Go's own figure is 100; the operator is asked to be small more than to be
// fast.
const garbagePercent = 50

// limitGarbage sets how much garbage there may be, unless GOGC says it.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
