// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// line is a TCP proxy to the API server whose connections can be cut.
type line struct {
	address, server string

	mu sync.Mutex
	// isCut rejects connections; missed counts those that were rejected.
	isCut  bool
	missed int
	open   []net.Conn
}

// newLine starts a line to the server of url.
func newLine(t *testing.T, url string) *line {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testenv.NoError(t, err)
	l := &line{address: listener.Addr().String(), server: strings.TrimPrefix(url, "https://")}
	t.Cleanup(func() {
		_ = listener.Close() // the test has ended
		l.cut(true)
	})
	go func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(t, caller)
		}
	}()
	return l
}

// carry copies between a client and the server until one of them closes its connection.
func (l *line) carry(t *testing.T, caller net.Conn) {
	defer caller.Close()
	server, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.server)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	if l.isCut {
		l.missed++
		l.mu.Unlock()
		return
	}
	l.open = append(l.open, caller, server)
	l.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, caller) // an error ends it too
		_ = server.Close()
	}()
	_, _ = io.Copy(caller, server)
}

// cut closes all connections and rejects new ones, or accepts them again.
func (l *line) cut(isCut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = isCut
	for _, connection := range l.open {
		_ = connection.Close() // It may have been closed before.
	}
	l.open = nil
}

func (l *line) callsMissed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missed
}

func TestOutage_RecoversWhenTheAPIServerReturns(t *testing.T) {
	t.Parallel()
	namespace := suite.NewNamespace(t)
	l := newLine(t, suite.Operator.Host)
	p := start(t, "--kubeconfig="+testenv.Kubeconfig(t, suite.Operator, "https://"+l.address), "--watch-namespaces="+namespace,
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")
	p.Ready(t)
	deployment := settled(t, &suite, suite.NewMemcached(t, namespace, "before", 0))

	l.cut(true)
	suite.Delete(t, deployment)
	meanwhile := suite.NewMemcached(t, namespace, "meanwhile", 0)
	testenv.Eventually(t, "the operator should try again", func() bool { return l.callsMissed() > 5 })

	l.cut(false)
	settled(t, &suite, meanwhile)
	testenv.Eventually(t, "the Deployment should be made again", func() bool {
		again := suite.Deployment(t, deployment.Namespace, deployment.Name)
		return again != nil && again.UID != deployment.UID
	})
	if status := p.Terminate(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}
