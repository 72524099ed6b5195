<?php
// SPDX-License-Identifier: Apache-2.0

// Returns a client of a Memcached's Service. Call it once a request: it looks the name up, and keeps connections for as long as
// the addresses stay the same.
function cache(string $name, int $port = 11211): Memcached {
    $servers = array_unique(gethostbynamel($name) ?: []);
    sort($servers);
    $client = new Memcached(implode(',', $servers));
    if (!$client->getServerList()) {
        $client->setOptions([
            Memcached::OPT_LIBKETAMA_COMPATIBLE => true,
            Memcached::OPT_TCP_NODELAY => true,
            Memcached::OPT_CONNECT_TIMEOUT => 500,      // ms
            Memcached::OPT_POLL_TIMEOUT => 500,         // ms
            Memcached::OPT_SEND_TIMEOUT => 500000,      // µs
            Memcached::OPT_RECV_TIMEOUT => 500000,      // µs
            Memcached::OPT_RETRY_TIMEOUT => 1,          // s
        ]);
        $client->addServers(array_map(fn ($address) => [$address, $port], $servers));
    }
    return $client;
}
