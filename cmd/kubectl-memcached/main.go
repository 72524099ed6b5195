// SPDX-License-Identifier: Apache-2.0

// Command kubectl-memcached is a kubectl plugin that shows Memcacheds and asks their pods. Called as
// kubectl_complete-memcached it completes its own command line for kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	// The plugins of kubeconfigs that kubectl supports.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/internal/command"
	"github.com/example/memcached-operator/internal/plugin"
)

// version is set by -ldflags when the plugin is built.
var version = "devel"

func main() {
	// What the libraries log would be between the lines of the view; errors are returned.
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
	args := os.Args[1:]
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl_complete-") {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
	code := plugin.Run(ctx, args, version, streams)
	stop()
	os.Exit(code)
}
