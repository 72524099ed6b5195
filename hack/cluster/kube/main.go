package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// programs maps the name that the executable is called by to what it is then:
// a function that runs the program and returns its exit status.
var programs = map[string]func() int{
	"etcd":                    etcd,
	"kube-apiserver":          kubeAPIServer,
	"kube-controller-manager": kubeControllerManager,
	"kube-proxy":              kubeProxy,
	"kube-scheduler":          kubeScheduler,
	"kubectl":                 kubectl,
	"kubelet":                 kubelet,
	"kwok":                    kwok,
}

func main() {
	program, found := programs[filepath.Base(os.Args[0])]
	if !found {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "%s: this executable is several programs in one, and is the one it is called by the name of: "+
			"call it through a symbolic link named one of %s\n", os.Args[0], strings.Join(names, ", "))
		os.Exit(2)
	}
	orphaned, err := watchParent()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	status := make(chan int, 1)
	go func() { status <- program() }()
	select {
	case s := <-status:
		os.Exit(s)
	case <-orphaned:
		os.Exit(1) // at once: nobody is left to wait for a graceful end
	}
}

// dropGlobalFlags takes away the flags that packages of other programs here
// registered for the whole process, --version of Kubernetes's servers above
// all: every cobra command would otherwise adopt them.
func dropGlobalFlags() {
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
}
