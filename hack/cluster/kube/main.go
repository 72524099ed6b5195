package main

import (
	"os"

	"github.com/example/memcached-operator/hack/cluster/multicall"
)

func main() {
	os.Exit(multicall.Main(map[string]func() int{
		"etcd":                    etcd,
		"kube-apiserver":          kubeAPIServer,
		"kube-controller-manager": kubeControllerManager,
		"kube-scheduler":          kubeScheduler,
		"kubectl":                 kubectl,
		"kwok":                    kwok,
	}))
}
