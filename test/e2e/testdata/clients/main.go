// Command loop is loop.py in Go.
package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"example.com/cache"
)

func main() {
	name, mode, keys := os.Args[1], os.Args[2], os.Args[3]
	client := cache.New(name, "11211")
	if strings.Contains(name, "-proxy.") {
		client.Timeout = 2 * time.Second // A proxy waits half a second for a pod that does not answer.
	}
	if authority := os.Getenv("AUTHORITY"); authority != "" {
		certificate, err := os.ReadFile(authority)
		if err != nil {
			panic(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(certificate)
		client.DialContext = cache.Dial(&tls.Config{RootCAs: pool, ServerName: name}, os.Getenv("USER"), os.Getenv("PASSWORD"))
	}
	found := 0
	for i := 0; i < 300 && mode != "loop"; i++ {
		if key := fmt.Sprintf("%s%d", keys, i); mode == "set" {
			set(client, key)
		} else if _, err := client.Get(key); err == nil {
			found++
		}
	}
	if mode != "loop" {
		fmt.Println(found)
		return
	}
	for {
		hits, misses, failed := 0, 0, 0
		for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			key := fmt.Sprintf("%s%d", keys, rand.IntN(300))
			_, err := client.Get(key)
			switch {
			case err == nil:
				hits++
			case errors.Is(err, memcache.ErrCacheMiss):
				misses++
				err = set(client, key)
			}
			if err != nil && !errors.Is(err, memcache.ErrCacheMiss) {
				failed++
				fmt.Fprintln(os.Stderr, "go:", err)
			}
		}
		fmt.Println(cmp.Or(os.Getenv("CLIENT"), "go"), hits, misses, failed)
	}
}

func set(client *memcache.Client, key string) error {
	return client.Set(&memcache.Item{Key: key, Value: []byte("x"), Expiration: 600})
}
