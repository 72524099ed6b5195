// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/internal/plugin/caches"
)

const serversLong = `Servers prints the addresses of a Memcached for the configuration of clients, sorted as text, since clients must all use
the same order:

  list      address:port, one a line
  json      a list of objects with pod, node, address, port and whether the pod is ready
  django    a CACHES setting of Django, by pymemcache
  mcrouter  a configuration of mcrouter with the pool and a route to it
  loki      a memcached_client block of Loki, with the name in which it discovers the addresses itself

Addresses of pods change when pods are replaced: clients in the cluster should use the name in status.endpoint. With
spec.stableNames all forms but json have the stable names, in their order. Forms with addresses leave out pods that have none yet.

It needs permission to get the Memcached and list pods.`

const serversExample = `  kubectl memcached servers cache
  kubectl memcached servers cache -o mcrouter`

// server is an address of a Memcached.
type server struct {
	Pod     string `json:"pod"`
	Node    string `json:"node"`
	Address string `json:"address"`
	Port    int32  `json:"port"`
	Ready   bool   `json:"ready"`
}

func (s server) String() string { return net.JoinHostPort(s.Address, strconv.Itoa(int(s.Port))) }

// serverForms are the values of --output.
var serverForms = map[string]func(out io.Writer, mc *cachev1alpha1.Memcached, servers []server, domain string) error{
	"list": writeList, "json": writeJSON, "django": writeDjango, "mcrouter": writeMcrouter, "loki": writeLoki,
}

func (p *program) newServersCommand() *cobra.Command {
	connection := newConnection()
	var output, domain string
	cmd := &cobra.Command{
		Use:               "servers [NAME]",
		Short:             "Print the addresses of a Memcached as list, JSON, or for Django, mcrouter or Loki",
		Long:              serversLong,
		Example:           serversExample,
		Args:              atMost(1),
		ValidArgsFunction: p.completeNames(connection, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, found := serverForms[output]
			if !found {
				return fmt.Errorf("--output: %q is not one of list, json, django, mcrouter and loki", output)
			}
			mc, pods, err := p.readPods(cmd, connection, strings.Join(args, ""))
			if err != nil {
				return err
			}
			servers, without := serversOf(pods)
			if err := write(p.streams.Out, mc, servers, domain); err != nil {
				return err
			}
			if without > 0 && output != "loki" && (output == "json" || len(mc.Status.Servers) == 0) {
				p.printError(cmd, fmt.Errorf("left out because they have no address yet: %d of %d pods", without, len(pods)))
				return errIncomplete
			}
			return nil
		},
	}
	connection.addFlags(cmd, false)
	p.completeFlags(cmd, connection)
	cmd.Flags().StringVarP(&output, "output", "o", "list", "Form of the output: list, json, django, mcrouter or loki.")
	cmd.Flags().StringVar(&domain, "cluster-domain", "cluster.local", "DNS domain of the cluster, for -o loki.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"list", "json", "django", "mcrouter", "loki"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// readPods returns the named Memcached, or the only one, and its pods.
func (p *program) readPods(cmd *cobra.Command, connection *connection, name string) (*cachev1alpha1.Memcached, []corev1.Pod, error) {
	s, err := connection.open(p.dial)
	if err != nil {
		return nil, nil, err
	}
	mc, err := s.Get(cmd.Context(), s.namespace, name)
	if err != nil {
		return nil, nil, err
	}
	pods, err := s.Pods(cmd.Context(), mc.Namespace, mc.Name)
	return mc, pods[client.ObjectKeyFromObject(mc)], err
}

// serversOf returns the servers in pods, sorted by their addresses as text, and the number of pods without an address.
func serversOf(pods []corev1.Pod) (servers []server, without int) {
	servers = []server{}
	for i := range pods {
		pod := &pods[i]
		if pod.Status.PodIP == "" {
			without++
			continue
		}
		servers = append(servers, server{Pod: pod.Name, Node: pod.Spec.NodeName, Address: pod.Status.PodIP, Port: caches.Port(pod), Ready: caches.IsReady(pod)})
	}
	slices.SortFunc(servers, func(a, b server) int { return strings.Compare(a.String(), b.String()) })
	return servers, without
}

// serverTexts returns the stable names of mc, or else the addresses of servers.
func serverTexts(mc *cachev1alpha1.Memcached, servers []server) []string {
	if len(mc.Status.Servers) > 0 {
		return mc.Status.Servers
	}
	texts := []string{}
	for _, server := range servers {
		texts = append(texts, server.String())
	}
	return texts
}

func writeList(out io.Writer, mc *cachev1alpha1.Memcached, servers []server, _ string) error {
	for _, server := range serverTexts(mc, servers) {
		if _, err := fmt.Fprintln(out, server); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(out io.Writer, _ *cachev1alpha1.Memcached, servers []server, _ string) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(servers)
}

func writeDjango(out io.Writer, mc *cachev1alpha1.Memcached, servers []server, _ string) error {
	if err := withoutAccess(mc, "django", "pymemcache"); err != nil {
		return err
	}
	_, err := io.WriteString(out, `CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
        "LOCATION": [
`)
	for _, server := range serverTexts(mc, servers) {
		_, failed := fmt.Fprintf(out, "            %q,\n", server)
		err = errors.Join(err, failed)
	}
	_, failed := io.WriteString(out, "        ],\n    }\n}\n")
	return errors.Join(err, failed)
}

// withoutAccess returns an error if mc requires a user or TLS of client, to which the output in form says neither.
func withoutAccess(mc *cachev1alpha1.Memcached, form, client string) error {
	if mc.Spec.Auth != nil {
		return fmt.Errorf("-o %s: %s cannot authenticate, and the Memcached has spec.auth: restrict access by spec.networkPolicy or client certificates instead", form, client)
	}
	if mc.Spec.TLS != nil {
		return fmt.Errorf("-o %s: the Memcached has spec.tls, for which %s needs options of its own: use -o list, and %[2]s's documentation of TLS", form, client)
	}
	return nil
}

func writeMcrouter(out io.Writer, mc *cachev1alpha1.Memcached, servers []server, _ string) error {
	if err := withoutAccess(mc, "mcrouter", "mcrouter"); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{
		"pools": map[string]any{mc.Name: map[string]any{"servers": serverTexts(mc, servers)}},
		"route": "PoolRoute|" + mc.Name,
	})
}

// writeLoki writes a block without addresses: Loki looks up the SRV record of the headless Service, again and again.
func writeLoki(out io.Writer, mc *cachev1alpha1.Memcached, _ []server, domain string) error {
	if mc.Spec.Auth != nil {
		return errors.New("-o loki: Loki cannot authenticate, and the Memcached has spec.auth: restrict access by spec.networkPolicy or client certificates instead")
	}
	service := mc.Name
	if mc.Spec.HasStableNames() {
		service += "-nodes"
	}
	_, err := fmt.Fprintf(out, "memcached_client:\n  addresses: dnssrvnoa+_memcached._tcp.%s.%s.svc.%s\n  consistent_hash: true\n", service, mc.Namespace, domain)
	if err == nil && mc.Spec.TLS != nil {
		_, err = fmt.Fprintf(out, "  tls_enabled: true\n  tls_server_name: %s.%s.svc\n", mc.Name, mc.Namespace)
	}
	return err
}
