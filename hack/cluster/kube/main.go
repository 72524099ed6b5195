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

// programs maps the name that the binary is called by to the program's own
// main function. A further one (kubelet, kube-proxy) is a line here and a
// function in kubernetes.go.
var programs = map[string]func(){
	"etcd":                    etcd,
	"kube-apiserver":          kubeAPIServer,
	"kube-controller-manager": kubeControllerManager,
	"kube-scheduler":          kubeScheduler,
	"kubectl":                 kubectl,
	"kwok":                    kwok,
}

func main() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	program, found := programs[name]
	if !found {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "%s: this binary is several programs in one and goes by the name it is called by: "+
			"call it through a symbolic link named one of %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
	exitWithParent()
	program()
}

// dropGlobalFlags takes away the flags that packages of other programs here
// registered for the whole process, --version of Kubernetes's servers above
// all: every cobra command would otherwise adopt them.
func dropGlobalFlags() {
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
}
