// SPDX-License-Identifier: Apache-2.0

package program

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/example/memcached-operator/test/testenv"
)

// line is a connection to the API server that can be cut.
type line struct {
	address, server string

	mu sync.Mutex
	// isCut says that nobody gets through; missed counts who tried.
	isCut  bool
	missed int
	open   []net.Conn
}

// newLine lays a line to the server of url.
func newLine(t *testing.T, url string) *line {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal(t, err)
	l := &line{address: listener.Addr().String(), server: strings.TrimPrefix(url, "https://")}
	t.Cleanup(func() {
		_ = listener.Close() // Nothing is left to lose.
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

// carry copies what passes between a caller and the server, until one of them hangs up.
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
		_, _ = io.Copy(server, caller) // Cut short or not, it is over.
		_ = server.Close()
	}()
	_, _ = io.Copy(caller, server)
}

// cut cuts the line, or joins it again.
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

func TestAnOutageOfTheAPIServerIsSurvived(t *testing.T) {
	t.Parallel()
	namespace := suite.newNamespace(t)
	l := newLine(t, suite.operator.Host)
	p := start(t, "--kubeconfig="+testenv.Kubeconfig(t, suite.operator, "https://"+l.address), "--watch-namespaces="+namespace,
		"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0")
	p.Ready(t)
	deployment := suite.settled(t, suite.newMemcached(t, namespace, "before"))

	l.cut(true)
	fatal(t, suite.Client.Delete(t.Context(), deployment))
	meanwhile := suite.newMemcached(t, namespace, "meanwhile")
	eventually(t, "the operator should try again", func() bool { return l.callsMissed() > 5 })

	l.cut(false)
	suite.settled(t, meanwhile)
	eventually(t, "the Deployment should be made again", func() bool {
		again := suite.deployment(t, deployment.Namespace, deployment.Name)
		return again != nil && again.UID != deployment.UID
	})
	if status := p.Terminate(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}
