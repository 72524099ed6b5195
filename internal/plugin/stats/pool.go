// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/plugin/caches"
)

// maxParallel is how many pods are asked at the same time.
const maxParallel = 32

// Target is a memcached to ask.
type Target struct {
	// Memcached is the name of the Memcached.
	Memcached string
	Pod       *corev1.Pod
	Access    memcached.Access
	// Err is why the memcached cannot be asked, such as a missing permission; else nil.
	Err error
}

// DialFunc connects to a port of a pod.
type DialFunc func(ctx context.Context, namespace, pod string, port int32) (net.Conn, error)

// Pool asks memcacheds and keeps the connections to them.
type Pool struct {
	dial    DialFunc
	timeout time.Duration
	mu      sync.Mutex
	clients map[types.UID]connected
}

type connected struct {
	*memcached.Client
	connection net.Conn
}

// NewPool returns a Pool that connects by dial. A memcached that has not answered after timeout, connecting included, has
// failed.
func NewPool(dial DialFunc, timeout time.Duration) *Pool {
	return &Pool{dial: dial, timeout: timeout, clients: map[types.UID]connected{}}
}

// Each calls ask for each target, in parallel, and returns the errors in the order of the targets. When a call panics, Each
// does: the caller may have a terminal to restore.
func (p *Pool) Each(ctx context.Context, targets []Target, ask func(i int, client *memcached.Client) error) []error {
	errs := make([]error, len(targets))
	slots := make(chan struct{}, maxParallel)
	panics := make(chan string, len(targets))
	var group sync.WaitGroup
	for i, target := range targets {
		group.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					panics <- fmt.Sprintf("%v\n\n%s", cause, debug.Stack())
				}
			}()
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = p.one(ctx, target, func(client *memcached.Client) error { return ask(i, client) })
		})
	}
	group.Wait()
	select {
	case text := <-panics:
		panic(text)
	default:
		return errs
	}
}

// one asks one memcached. Its connection is kept only if there is no error.
func (p *Pool) one(ctx context.Context, target Target, ask func(*memcached.Client) error) error {
	if target.Err != nil {
		return target.Err
	}
	if target.Pod.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("the pod is %s", target.Pod.Status.Phase)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, fmt.Errorf("no answer within %s", p.timeout))
	defer cancel()
	kept, err := p.try(ctx, target, ask)
	if err != nil && kept && ctx.Err() == nil {
		// memcached closes idle connections where spec.idleTimeoutSeconds is set.
		_, err = p.try(ctx, target, ask)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return caches.PortForwardError(err, target.Pod.Namespace)
	}
}

// try asks one memcached, and reports whether it did so on a connection that was kept.
func (p *Pool) try(ctx context.Context, target Target, ask func(*memcached.Client) error) (kept bool, err error) {
	client, kept, err := p.client(ctx, target)
	if err != nil {
		return kept, err
	}
	stop := context.AfterFunc(ctx, func() { _ = client.connection.Close() })
	defer stop()
	if err = ask(client.Client); err != nil {
		p.forget(target.Pod.UID)
	}
	return kept, err
}

// client returns a connection to target, and whether it was kept from before.
func (p *Pool) client(ctx context.Context, target Target) (client connected, kept bool, err error) {
	p.mu.Lock()
	client, kept = p.clients[target.Pod.UID]
	p.mu.Unlock()
	if kept {
		return client, true, nil
	}
	connection, err := p.dial(ctx, target.Pod.Namespace, target.Pod.Name, caches.Port(target.Pod))
	if err != nil {
		return connected{}, false, err
	}
	// A TLS handshake ends with ctx; a password is sent and answered by the connection alone.
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	access := target.Access
	access.Timeout = 2 * p.timeout // ctx ends first, and says so
	opened, err := memcached.Open(ctx, connection, access)
	if err != nil {
		return connected{}, false, err
	}
	client = connected{opened, connection}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients[target.Pod.UID] = client
	return client, false, nil
}

func (p *Pool) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if client, found := p.clients[uid]; found {
		_ = client.connection.Close()
		delete(p.clients, uid)
	}
}

// Keep closes the connections to pods other than those of targets.
func (p *Pool) Keep(targets []Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := map[types.UID]bool{}
	for _, target := range targets {
		kept[target.Pod.UID] = true
	}
	for uid, client := range p.clients {
		if !kept[uid] {
			_ = client.connection.Close()
			delete(p.clients, uid)
		}
	}
}

// Close closes all connections.
func (p *Pool) Close() { p.Keep(nil) }

// Samples returns a sample of each target, and an error for each that did not answer.
func (p *Pool) Samples(ctx context.Context, targets []Target) ([]Sample, []error) {
	samples := make([]Sample, len(targets))
	errs := p.Each(ctx, targets, func(i int, client *memcached.Client) error {
		answer, err := client.Stats()
		if err != nil {
			return err
		}
		samples[i], err = Parse(answer, time.Now())
		return err
	})
	return samples, errs
}

// Missing returns the missing permissions among errs, each once.
func Missing(errs []error) []error {
	var missing []error
	seen := map[string]bool{}
	for _, err := range errs {
		if permission, ok := errors.AsType[*caches.PermissionError](err); ok && !seen[permission.Error()] {
			seen[permission.Error()] = true
			missing = append(missing, permission)
		}
	}
	return missing
}
