// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package keys

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

// dnsAddress is that of the cluster's DNS, in hack/node/env.sh.
const dnsAddress = "10.96.0.10:53"

// node connects from a local node, as its pods do.
type node struct {
	network  *os.File
	resolver *net.Resolver
}

func newNode(t *testing.T) *node {
	t.Helper()
	if os.Getenv("NODE_DIR") == "" {
		t.Fatal("the tests connect from a local node: run them by `make keys`, without E2E_KUBECONFIG")
	}
	pid, err := os.ReadFile(filepath.Join(os.Getenv("NODE_DIR"), "node1", "pid"))
	testenv.NoError(t, err)
	network, err := os.Open(fmt.Sprintf("/proc/%s/ns/net", strings.TrimSpace(string(pid))))
	testenv.NoError(t, err)
	t.Cleanup(func() { _ = network.Close() })
	n := &node{network: network}
	n.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return n.dial(ctx, network, dnsAddress)
	}}
	return n
}

// dial connects to an IP address and a port.
func (n *node) dial(ctx context.Context, network, address string) (connection net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread, which has left the machine's network, ends with this goroutine
		if err = unix.Setns(int(n.network.Fd()), unix.CLONE_NEWNET); err == nil {
			connection, err = (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}()
	<-done
	return connection, err
}

// lookUp returns the addresses of a host whose name ends in .svc, none if it has none.
func (n *node) lookUp(ctx context.Context, host string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	addresses, err := n.resolver.LookupHost(ctx, host+".cluster.local.")
	if failed, ok := err.(*net.DNSError); ok && failed.IsNotFound { //nolint:errorlint // the resolver returns it as it is
		return nil, nil
	}
	return addresses, err
}

// counts returns what each of the proxies of mc has counted since its start: requests that stand-ins answered, and items that it copied or not.
func (n *node) counts(t *testing.T, mc *cachev1alpha1.Memcached) string {
	t.Helper()
	var counts []string
	for _, pod := range proxies(t, mc) {
		proxy, err := n.dial(t.Context(), "tcp", net.JoinHostPort(pod.Status.PodIP, "11211"))
		testenv.NoError(t, err)
		defer proxy.Close()
		testenv.NoError(t, proxy.SetDeadline(time.Now().Add(testenv.Timeout)))
		_, err = io.WriteString(proxy, "stats proxy\r\nquit\r\n")
		testenv.NoError(t, err)
		stats, err := io.ReadAll(proxy)
		testenv.NoError(t, err)
		counts = append(counts, strings.Join(regexp.MustCompile(`user_\w+ \d+`).FindAllString(string(stats), -1), ", "))
	}
	return strings.Join(counts, " and ")
}

// memcachedOf returns the process of pod's memcached.
func memcachedOf(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	testenv.NoError(t, err)
	for _, group := range groups {
		of, _ := os.ReadFile(group)
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(group), "comm"))
		if bytes.Contains(of, []byte(pod.UID)) && strings.TrimSpace(string(name)) == "memcached" {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(group)))
			testenv.NoError(t, err)
			return pid
		}
	}
	t.Fatalf("pod %s has no process memcached", pod.Name)
	return 0
}

// signal sends a signal to pod's memcached.
func signal(t *testing.T, pod *corev1.Pod, s syscall.Signal) {
	t.Helper()
	testenv.NoError(t, syscall.Kill(memcachedOf(t, pod), s))
}
