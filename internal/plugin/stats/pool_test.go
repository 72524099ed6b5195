// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/memcached"
)

func target(name string) Target {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace, pod.UID, pod.Status.Phase = name, "shop", types.UID(name), corev1.PodRunning
	return Target{Memcached: "cache", Pod: pod}
}

// pods connects to pods by name: one that says its version, and others that fail. memcached itself is in test/memcached.
func pods(ctx context.Context, _, pod string, _ int32) (net.Conn, error) {
	client, server := net.Pipe()
	switch pod {
	case "answers":
		go func() {
			buffer := make([]byte, 100)
			for {
				if _, err := server.Read(buffer); err != nil {
					return
				}
				_, _ = io.WriteString(server, "VERSION 1.6.45\r\n")
			}
		}()
		return client, nil
	case "answers twice": // to Open, and once more
		go func() {
			for range 2 {
				if _, err := server.Read(make([]byte, 100)); err == nil {
					_, _ = io.WriteString(server, "VERSION 1.6.45\r\n")
				}
			}
			_ = server.Close()
		}()
		return client, nil
	case "reads only":
		go func() { _, _ = io.Copy(io.Discard, server) }()
		return client, nil
	case "does not connect":
		<-ctx.Done()
		return nil, ctx.Err()
	default:
		return nil, errors.New("connection refused")
	}
}

func TestEach_ReportsEachFailure(t *testing.T) { synctest.Test(t, reportsEachFailure) }

func reportsEachFailure(t *testing.T) {
	pending := target("answers")
	pending.Pod = pending.Pod.DeepCopy()
	pending.Pod.UID, pending.Pod.Status.Phase = "pending", corev1.PodPending
	without := target("answers")
	without.Err = errors.New("no Secret")
	targets := []Target{target("answers"), target("reads only"), target("does not connect"), target("refuses"), pending, without}
	wants := []string{"", "no answer within 500ms", "no answer within 500ms", "connection refused", "the pod is Pending", "no Secret"}
	pool := NewPool(pods, 500*time.Millisecond)
	defer pool.Close()
	var mu sync.Mutex
	asked := map[int]bool{}
	errs := pool.Each(t.Context(), targets, func(i int, client *memcached.Client) error {
		mu.Lock()
		asked[i] = true
		mu.Unlock()
		_, err := client.Version()
		return err
	})
	for i, want := range wants {
		if got := errs[i]; (got == nil) != (want == "") || got != nil && got.Error() != want {
			t.Errorf("%s: the error is %v, want %q", targets[i].Pod.Name, got, want)
		}
	}
	if len(asked) != 1 || !asked[0] {
		t.Errorf("asked are %v, want the first only", asked)
	}
}

// memcached ends idle connections where spec.idleTimeoutSeconds is set.
func TestEach_ConnectsAgainWhenAConnectionWasClosed(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	pool := NewPool(func(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
		dials.Add(1)
		return pods(ctx, namespace, pod, port)
	}, time.Minute)
	defer pool.Close()
	ask := func(name string) error {
		return pool.Each(t.Context(), []Target{target(name)}, func(_ int, client *memcached.Client) error {
			_, err := client.Version()
			return err
		})[0]
	}
	for round := range int32(3) {
		if err := ask("answers"); err != nil || dials.Load() != 1 {
			t.Errorf("round %d: %v, after %d connections, want 1", round, err, dials.Load())
		}
	}
	for round := range int32(3) {
		if err := ask("answers twice"); err != nil || dials.Load() != 2+round {
			t.Errorf("round %d: %v, after %d connections, want %d", round, err, dials.Load(), 2+round)
		}
	}
	pool.Keep([]Target{target("answers twice")})
	if err := ask("answers"); err != nil || dials.Load() != 5 {
		t.Errorf("the pod that was not kept: %v, after %d connections, want 5", err, dials.Load())
	}
}

// deadline is a connection that remembers its deadline.
type deadline struct {
	net.Conn
	at time.Time
}

// SetDeadline implements net.Conn.
func (d *deadline) SetDeadline(at time.Time) error {
	d.at = at
	return d.Conn.SetDeadline(at)
}

func TestEach_WaitsForTheWholeTimeout(t *testing.T) {
	t.Parallel()
	var connection *deadline
	pool := NewPool(func(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
		inner, err := pods(ctx, namespace, pod, port)
		connection = &deadline{Conn: inner}
		return connection, err
	}, time.Hour)
	defer pool.Close()
	errs := pool.Each(t.Context(), []Target{target("answers")}, func(_ int, client *memcached.Client) error {
		_, err := client.Version()
		return err
	})
	if left := time.Until(connection.at); errs[0] != nil || left < time.Hour/2 {
		t.Errorf("the deadline is in %s, %v, want an hour", left, errs[0])
	}
}

func TestEach_PanicsWhereItsCallerCanRecover(t *testing.T) {
	t.Parallel()
	pool := NewPool(pods, time.Minute)
	defer pool.Close()
	defer func() {
		if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "out of order\n\n") || !strings.Contains(text, "pool_test.go:") {
			t.Errorf("it panics with %q, want the cause and its stack", text)
		}
	}()
	pool.Each(t.Context(), []Target{target("answers"), target("refuses")}, func(int, *memcached.Client) error { panic("out of order") })
	t.Error("it does not panic")
}
