<?php
// See loop.py.
require 'cache.php';
[, $name, $mode, $keys] = $argv;
if ($mode === 'set') {
    for ($i = 0; $i < 300; $i++) {
        cache($name)->set("$keys$i", 'x', 600);
    }
    exit;
}
if ($mode === 'get') {
    for ($hits = $i = 0; $i < 300; $i++) {
        $hits += cache($name)->get("$keys$i") === 'x' ? 1 : 0;
    }
    echo $hits, "\n";
    exit;
}
while (true) {
    $hits = $misses = $errors = 0;
    $client = cache($name); // a request each second
    for ($until = microtime(true) + 1; microtime(true) < $until; usleep(5000)) {
        $key = $keys . random_int(0, 299);
        if ($client->get($key) !== false) {
            $hits++;
        } elseif ($client->getResultCode() !== Memcached::RES_NOTFOUND) {
            $errors++;
            fwrite(STDERR, 'php: ' . $client->getResultMessage() . "\n");
        } else {
            $misses++;
            if (!$client->set($key, 'x', 600)) {
                $errors++;
                fwrite(STDERR, 'php: set: ' . $client->getResultMessage() . "\n");
            }
        }
    }
    echo "php $hits $misses $errors\n";
}
