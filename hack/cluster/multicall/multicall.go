// Package multicall runs one of several programs that share an executable, told apart by the name that the executable is
// called by. Linking is the slow part of building Kubernetes, and its programs share most of their code.
package multicall

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Main runs the program of programs that the executable is called by the name of. It returns the exit status of the
// program, or 1 once the parent process is gone (see watchParent), when the caller should exit at once.
func Main(programs map[string]func() int) int {
	program, found := programs[filepath.Base(os.Args[0])]
	if !found {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "%s: this executable contains several programs and runs the one that it is called by the name of: "+
			"call it through a symbolic link named one of %s\n", os.Args[0], strings.Join(names, ", "))
		return 2
	}
	orphaned, err := watchParent()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	status := make(chan int, 1)
	go func() { status <- program() }()
	select {
	case s := <-status:
		return s
	case <-orphaned:
		return 1
	}
}

// DropGlobalFlags removes the flags that packages of other programs registered for the whole process, such as --version
// of Kubernetes's servers: every cobra command would otherwise adopt them.
func DropGlobalFlags() {
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
}
