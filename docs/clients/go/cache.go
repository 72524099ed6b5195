// SPDX-License-Identifier: Apache-2.0

// Package cache is a client of a Memcached's Service, with gomemcache.
package cache

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// Timeout is that of a connection and of an operation.
const Timeout = 500 * time.Millisecond

// New returns a client of the Service called name, which it looks up every 5 seconds.
func New(name, port string) *memcache.Client {
	client := memcache.NewFromSelector(&ring{name: name, port: port})
	client.Timeout = Timeout
	return client
}

// Dial returns a DialContext for a client with TLS, unless config is nil, which logs in unless user is empty.
// config.ServerName has to be the Service's name: certificates do not contain the addresses of pods.
func Dial(config *tls.Config, user, password string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer interface {
			DialContext(ctx context.Context, network, address string) (net.Conn, error)
		} = &net.Dialer{}
		if config != nil {
			dialer = &tls.Dialer{Config: config}
		}
		connection, err := dialer.DialContext(ctx, network, address)
		if err != nil || user == "" {
			return connection, err
		}
		if err := login(connection, user+" "+password); err != nil {
			return nil, errors.Join(err, connection.Close())
		}
		return connection, nil
	}
}

// login logs in by the authentication of the text protocol.
func login(connection net.Conn, credentials string) error {
	if err := connection.SetDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(connection, "set login 0 0 %d\r\n%s\r\n", len(credentials), credentials); err != nil {
		return err
	}
	const stored = "STORED\r\n"
	answer := make([]byte, len(stored))
	if _, err := io.ReadFull(connection, answer); err != nil || string(answer) != stored {
		return errors.New("login refused")
	}
	return nil
}

// ring is a memcache.ServerSelector with the consistent hashing of libmemcached. A server that fails keeps its keys.
type ring struct {
	name, port string

	mu         sync.Mutex
	nextLookup time.Time
	servers    []string
	addresses  []net.Addr
	points     []point
}

type point struct {
	hash   uint32
	server net.Addr
}

func (r *ring) lookUp() ([]net.Addr, []point, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.nextLookup) {
		return r.addresses, r.points, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	servers, err := net.DefaultResolver.LookupHost(ctx, r.name)
	if err != nil && r.servers == nil {
		return nil, nil, err
	}
	r.nextLookup = time.Now().Add(5 * time.Second)
	slices.Sort(servers)
	if err != nil || slices.Equal(servers, r.servers) {
		return r.addresses, r.points, nil
	}
	r.servers, r.addresses, r.points = servers, nil, nil
	for _, server := range servers {
		address, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(server, r.port))
		if err != nil {
			return nil, nil, err
		}
		r.addresses = append(r.addresses, address)
		name := strings.TrimSuffix(address.String(), ":11211")
		for i := range 40 {
			sum := md5.Sum(fmt.Appendf(nil, "%s-%d", name, i))
			for j := 0; j < len(sum); j += 4 {
				r.points = append(r.points, point{binary.LittleEndian.Uint32(sum[j:]), address})
			}
		}
	}
	slices.SortFunc(r.points, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return r.addresses, r.points, nil
}

// PickServer implements memcache.ServerSelector.
func (r *ring) PickServer(key string) (net.Addr, error) {
	_, points, err := r.lookUp()
	if err == nil && len(points) == 0 {
		err = memcache.ErrNoServers
	}
	if err != nil {
		return nil, err
	}
	sum := md5.Sum([]byte(key))
	hash := binary.LittleEndian.Uint32(sum[:])
	i, _ := slices.BinarySearchFunc(points, hash, func(p point, hash uint32) int { return cmp.Compare(p.hash, hash) })
	return points[i%len(points)].server, nil
}

// Each implements memcache.ServerSelector.
func (r *ring) Each(f func(net.Addr) error) error {
	addresses, _, err := r.lookUp()
	for _, address := range addresses {
		if err := f(address); err != nil {
			return err
		}
	}
	return err
}
