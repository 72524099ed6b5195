// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"flag"
	"fmt"
)

// usage is the text of --help before the flags.
const usage = `memcached-operator runs memcached on Kubernetes.

It watches Memcached objects (cache.example.com/v1alpha1) and applies a Deployment, a
Service and a PodDisruptionBudget for each of them, as its YAML templates define.
It needs the CustomResourceDefinition in the cluster, and permission for the kinds in
the templates. Documentation: https://github.com/example/memcached-operator#readme

Usage:
  memcached-operator [flags]
  memcached-operator render -f FILE...
  memcached-operator diff [-n NAMESPACE | -A] [NAME...]

Commands:
  render   print the objects of Memcacheds without a cluster; memcached-operator render --help
  diff     compare what this version would apply with a cluster; memcached-operator diff --help

Examples:
  # the cluster of ~/.kube/config, without metrics and probes
  memcached-operator --metrics-bind-address=0 --health-probe-bind-address=0
  # with templates in ./my-templates, for the namespaces a and b only
  memcached-operator --manifests-dir=my-templates --watch-namespaces=a,b

Flags:
`

// printUsage returns a function that prints the text of --help.
func printUsage(flags *flag.FlagSet) func() {
	return func() {
		_, _ = fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
}
