// Node is what a real node runs, kubelet and kube-proxy, in one executable; ../kube has the control plane. The two are
// apart because the control plane with simulated nodes builds without the kubelet's many packages.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"github.com/example/memcached-operator/hack/cluster/multicall"
)

func main() {
	os.Exit(multicall.Main(map[string]func() int{
		"kube-proxy": func() int { return cli.Run(proxy.NewProxyCommand()) },
		"kubelet":    func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	}))
}
