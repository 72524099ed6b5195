package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"

	"github.com/example/memcached-operator/hack/cluster/multicall"
)

func etcd() int {
	etcdmain.Main(os.Args) // exits by itself
	return 0
}

// kwok is the body of sigs.k8s.io/kwok/cmd/kwok's main function, which cannot
// be imported.
func kwok() int {
	multicall.DropGlobalFlags()
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}

	ctx := signals.SetupSignalContext()
	ctx, logger := log.InitFlags(ctx, flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprint(os.Stderr, flags.FlagUsages())
		logger.Error("Init config flags", "err", err)
		return 1
	}

	command := kwokcmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("Execute exit", "err", err)
		return 1
	}
	return 0
}
