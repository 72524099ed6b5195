// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/test/testenv"
)

var load = flag.Duration("load", 0, "how long TestMemory_IsNeverExceeded loads each memcached, of 64 MiB to 1 GiB; 0 means once, of 64 MiB and one of 1 GiB")

// TestMemory_IsNeverExceeded fills memcached within the memory limit that is rendered for it, enforced by the kernel: with
// items of one size, with all connections in the middle of a multi-get, and then with items of every size.
func TestMemory_IsNeverExceeded(t *testing.T) {
	t.Parallel()
	const maxConnections = 1024
	const most = maxConnections - 10*4 - 10 // memcached takes some of its connections for itself: see spec.maxConnections
	for _, memory := range []int{64, 256, 1024} {
		for _, size := range []int{20, 1000, 500_000} {
			for _, connections := range []int{1, 300, most} {
				if *load == 0 && memory > 64 && (memory < 1024 || size != 1000 || connections < most) {
					continue
				}
				t.Run(fmt.Sprintf("%dMi of %d bytes over %d connections", memory, size, connections), func(t *testing.T) {
					t.Parallel()
					neverExceeds(t, memory, maxConnections, size, connections)
				})
			}
		}
	}
}

func neverExceeds(t *testing.T, memory, maxConnections, size, connections int) {
	t.Helper()
	g := newGroup(t)
	p := start(t, given{spec: fmt.Sprintf("{memory: %dMi, maxConnections: %d}", memory, maxConnections), cgroup: g.path})
	limit := p.spec.Containers[0].Resources.Limits.Memory().Value()
	g.write(t, g.limit, strconv.FormatInt(limit, 10))
	l := loader{t: t, p: p, memory: memory << 20, size: size}
	client := p.connect(t, nil)
	before, err := client.Stats()
	testenv.NoError(t, err)
	for started := time.Now(); ; {
		l.fill()
		l.multiget(connections)
		l.mix()
		if time.Since(started) >= *load {
			break
		}
	}
	after, err := client.Stats()
	testenv.NoError(t, err)
	if before["pid"] != after["pid"] || g.kills(t) != 0 || after["evictions"] == "0" {
		t.Errorf("pid %s, then %s, %d kills, %s evictions", before["pid"], after["pid"], g.kills(t), after["evictions"])
	}
	peak := g.read(t, g.peak)
	t.Logf("peak %d MiB of %d (%d %%), %d connections closed by memcached", peak>>20, limit>>20, 100*peak/limit, l.closed)
	if connections > 300 && peak*100 < limit*70 {
		t.Errorf("with all connections in use the peak is less than 70 %% of the limit")
	}
}

// group is a cgroup with a memory limit: its directory, and the names of its files in the kernel's version of cgroups.
type group struct{ path, limit, peak, events string }

// newGroup makes a group, or skips the test of a user who may not.
func newGroup(t *testing.T) group {
	t.Helper()
	g := group{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"}
	if _, err := os.Stat(g.path); err != nil {
		g = group{"/sys/fs/cgroup", "memory.max", "memory.peak", "memory.events"}
	}
	path, err := os.MkdirTemp(g.path, "memcached-test-")
	if err != nil {
		t.Skipf("memory is limited by cgroups, which this user may not make: run it as root (%v)", err)
	}
	g.path = path
	t.Cleanup(func() {
		testenv.Eventually(t, path+" is removed", func() bool { return os.Remove(path) == nil }) // its last process may still be ending
	})
	if _, err := os.Stat(filepath.Join(path, g.limit)); err != nil {
		t.Skipf("the memory controller is not available: %v", err)
	}
	return g
}

func (g group) write(t *testing.T, file, value string) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(filepath.Join(g.path, file), []byte(value), 0o600))
}

func (g group) read(t *testing.T, file string) int64 {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(g.path, file))
	testenv.NoError(t, err)
	value, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	testenv.NoError(t, err)
	return value
}

// kills returns how many processes of the group the kernel killed for want of memory.
func (g group) kills(t *testing.T) (count int64) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(g.path, g.events))
	testenv.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if text, found := strings.CutPrefix(line, "oom_kill "); found {
			count, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			testenv.NoError(t, err)
		}
	}
	return count
}

// loader loads the memcached of a pod.
type loader struct {
	t            *testing.T
	p            *pod
	memory, size int // of the cache and of a value, in bytes
	last         int // the number of the last key
	closed       int // connections that memcached closed
}

func (l *loader) dial() *net.TCPConn {
	l.t.Helper()
	connection, err := (&net.Dialer{Timeout: patience}).DialContext(l.t.Context(), "tcp", net.JoinHostPort("127.0.0.1", l.p.port))
	testenv.NoError(l.t, err)
	testenv.NoError(l.t, connection.SetDeadline(time.Now().Add(patience)))
	return connection.(*net.TCPConn)
}

// store stores count values of a size, without waiting for an answer to each.
func (l *loader) store(prefix string, first, count, size int) {
	l.t.Helper()
	connection := l.dial()
	defer func() { _ = connection.Close() }()
	buffered := bufio.NewWriterSize(connection, 1<<16)
	value := bytes.Repeat([]byte("x"), size)
	for i := range count {
		if i%1000 == 0 {
			testenv.NoError(l.t, connection.SetDeadline(time.Now().Add(patience)))
		}
		_, _ = fmt.Fprintf(buffered, "set %s%d 0 0 %d noreply\r\n", prefix, first+i, size)
		_, _ = buffered.Write(value)
		_, _ = buffered.WriteString("\r\n")
	}
	_, _ = buffered.WriteString("version\r\n")
	testenv.NoError(l.t, buffered.Flush())
	_, err := bufio.NewReader(connection).ReadString('\n')
	testenv.NoError(l.t, err)
}

// fill stores more than the cache holds.
func (l *loader) fill() {
	l.t.Helper()
	count := l.memory/(l.size+70)*11/10 + 10 // a header of 56 bytes and a key
	l.store("k", l.last, count, l.size)
	l.last += count
}

// multiget has each of many connections ask for many values, all in the middle of their request at the same time.
func (l *loader) multiget(connections int) {
	l.t.Helper()
	keys := 100
	if l.size > 100_000 {
		keys = 3
	}
	var request strings.Builder
	request.WriteString("get")
	for i := range keys {
		fmt.Fprintf(&request, " k%d", l.last-1-i)
	}
	all := make([]*net.TCPConn, connections)
	for i := range all {
		all[i] = l.dial()
		defer func() { _ = all[i].Close() }()
		_, err := all[i].Write([]byte(request.String()))
		testenv.NoError(l.t, err)
	}
	for _, connection := range all {
		_, _ = connection.Write([]byte("\r\n"))
	}
	for _, connection := range all {
		testenv.NoError(l.t, connection.SetDeadline(time.Now().Add(patience)))
		if err := readToEnd(connection); err != nil {
			l.closed++
		}
	}
}

// readToEnd reads the answer to a multi-get.
func readToEnd(connection net.Conn) error {
	buffer, tail := make([]byte, 1<<16), []byte(nil)
	for {
		n, err := connection.Read(buffer)
		if err != nil {
			return err
		}
		tail = append(tail, buffer[max(0, n-5):n]...)
		tail = tail[max(0, len(tail)-5):]
		if string(tail) == "END\r\n" {
			return nil
		}
	}
}

// mix stores some values of every size.
func (l *loader) mix() {
	l.t.Helper()
	for size := 1; size < 1_000_000; size += size/5 + 1 {
		l.store(fmt.Sprintf("m%d-", size), 0, 3, size)
	}
}

// join puts a process, by its number as this one sees it, into a cgroup.
func join(cgroup string, pid int) error {
	if cgroup == "" {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(cgroup, "cgroup.procs"), os.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = file.WriteString(strconv.Itoa(pid))
	return err
}
