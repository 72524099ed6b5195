# SPDX-License-Identifier: Apache-2.0
"""A client of a Memcached's Service, with pymemcache."""

import bisect
import hashlib
import socket
import ssl
import time

from pymemcache.client.base import Client
from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheError


class Ketama:
    """The consistent hashing of libmemcached. A server that fails keeps its keys."""

    def __init__(self):
        self.points = []

    def add_node(self, node):
        name = node.removesuffix(":11211")
        for i in range(40):
            digest = hashlib.md5(f"{name}-{i}".encode()).digest()
            for j in range(0, 16, 4):
                bisect.insort(self.points, (int.from_bytes(digest[j:j + 4], "little"), node))

    def remove_node(self, node):
        pass

    def get_node(self, key):
        digest = hashlib.md5(key.encode() if isinstance(key, str) else key).digest()
        i = bisect.bisect_left(self.points, (int.from_bytes(digest[:4], "little"),))
        return self.points[i % len(self.points)][1]


class Cache:
    """Looks the name of the Service up every 5 seconds, and makes a new HashClient when its addresses have changed.

    options are those of HashClient. Not for use by several threads.
    """

    def __init__(self, name, port=11211, client_class=HashClient, **options):
        self.name, self.port, self.client_class = name, port, client_class
        self.options = dict(hasher=Ketama, no_delay=True, connect_timeout=0.5, timeout=0.5, retry_timeout=1,
                            ignore_exc=True) | options
        self.servers, self.next_lookup, self._client = [], 0, None

    def client(self):
        if time.monotonic() < self.next_lookup:
            return self._client
        self.next_lookup = time.monotonic() + 5
        try:
            found = socket.getaddrinfo(self.name, self.port, type=socket.SOCK_STREAM)
        except OSError:
            if self._client is None:
                self.next_lookup = 0
                raise
            return self._client
        servers = sorted({info[4][:2] for info in found})
        if servers != self.servers:
            old, self.servers = self._client, servers
            self._client = self.client_class(servers, **self.options)
            if old is not None:
                old.close()
        return self._client


def tls_context(name, authority):
    """Returns an SSLContext that verifies the Service's name: certificates do not contain the addresses of pods.

    authority is the file ca.crt. For client certificates call load_cert_chain of the result.
    """

    class Context(ssl.SSLContext):
        def wrap_socket(self, sock, server_hostname=None, **options):
            return super().wrap_socket(sock, server_hostname=name, **options)

    context = Context(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    return context


def login(user, password):
    """Returns a client_class that logs in on each connection, by the authentication of the text protocol."""
    credentials = f"{user} {password}".encode()

    class LoginClient(Client):
        def _connect(self):
            super()._connect()
            self.sock.sendall(b"set login 0 0 %d\r\n%s\r\n" % (len(credentials), credentials))
            if self.sock.recv(64) != b"STORED\r\n":
                self.close()
                raise MemcacheError("login refused")

    class LoginHashClient(HashClient):
        client_class = LoginClient

    return LoginHashClient
