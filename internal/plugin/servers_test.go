// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestServers_Golden(t *testing.T) {
	t.Parallel()
	var pods []corev1.Pod
	for _, target := range []string{"10.0.0.9", "10.0.0.10", "fd00::1", ""} {
		pods = append(pods, *newTarget("cache", "cache-"+target, "node-1", target).Pod)
	}
	pods[1].Spec.Containers[0].Ports[0].ContainerPort = 11299
	pods[2].Status.Conditions = nil
	servers, without := serversOf(pods)
	if without != 1 {
		t.Errorf("%d pods have no address, want 1", without)
	}
	for form, write := range serverForms {
		golden(t, "servers-"+form+".txt", func(out io.Writer) error {
			return write(out, memcachedOf(t, "{metadata: {namespace: shop, name: cache}, spec: {}}"), servers, "cluster.local")
		})
	}
	named := memcachedOf(t, `{metadata: {namespace: shop, name: cache}, spec: {stableNames: {}},
  status: {servers: ["cache-0.cache-nodes.shop.svc:11211", "cache-1.cache-nodes.shop.svc:11211"]}}`)
	golden(t, "servers-named.txt", func(out io.Writer) error {
		return errors.Join(writeList(out, named, servers, ""), writeMcrouter(out, named, servers, ""), writeLoki(out, named, servers, "cluster.local"))
	})
	golden(t, "servers-loki-tls.txt", func(out io.Writer) error {
		return writeLoki(out, memcachedOf(t, "{metadata: {namespace: shop, name: cache}, spec: {tls: {secretName: pair}}}"), nil, "k8s.example.com")
	})
	golden(t, "servers-json-none.txt", func(out io.Writer) error {
		servers, _ := serversOf(nil)
		return writeJSON(out, nil, servers, "")
	})
}

func TestServers_RejectWhatAClientCannotDo(t *testing.T) {
	t.Parallel()
	const advice = ": restrict access by spec.networkPolicy or client certificates instead"
	for sentence, test := range map[string]struct{ form, spec, want string }{
		"a password for Loki":     {"loki", "auth: {secretName: a}", "-o loki: Loki cannot authenticate, and the Memcached has spec.auth" + advice},
		"a password for mcrouter": {"mcrouter", "auth: {secretName: a}", "-o mcrouter: mcrouter cannot authenticate, and the Memcached has spec.auth" + advice},
		"a password for Django":   {"django", "auth: {secretName: a}", "-o django: pymemcache cannot authenticate, and the Memcached has spec.auth" + advice},
		"TLS for Django":          {"django", "tls: {secretName: a}", "-o django: the Memcached has spec.tls, for which pymemcache needs options of its own: use -o list, and pymemcache's documentation of TLS"},
		"TLS for mcrouter":        {"mcrouter", "tls: {secretName: a}", "-o mcrouter: the Memcached has spec.tls, for which mcrouter needs options of its own: use -o list, and mcrouter's documentation of TLS"},
	} {
		var out bytes.Buffer
		err := serverForms[test.form](&out, memcachedOf(t, "{metadata: {namespace: shop, name: cache}, spec: {"+test.spec+"}}"), nil, "")
		if err == nil || err.Error() != test.want || out.Len() > 0 {
			t.Errorf("%s: the error is %v after %q, want %s", sentence, err, &out, test.want)
		}
	}
}
