package main

import (
	"os"
	_ "time/tzdata" // CronJobs may name a time zone; the machine need not know it

	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's login plugins
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/example/memcached-operator/hack/cluster/multicall"
)

// The functions below are the bodies of upstream's main functions of
// k8s.io/kubernetes/cmd/*, which cannot be imported.

func kubeAPIServer() int {
	return cli.Run(apiserver.NewAPIServerCommand())
}

func kubeControllerManager() int {
	return cli.Run(controllermanager.NewControllerManagerCommand())
}

func kubeScheduler() int {
	return cli.Run(scheduler.NewSchedulerCommand())
}

func kubectl() int {
	multicall.DropGlobalFlags()
	// As upstream: plugins and .kuberc are read before flags are parsed, and
	// log at the verbosity asked for.
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints it as kubectl does, and exits
	}
	return 0
}
