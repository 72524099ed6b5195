# loop.py NAME MODE KEYS: what TestClients runs in each language. MODE is `set`, which sets 300 keys that begin with KEYS; `get`, which prints how many of
# them it finds; or `loop`, which reads them for ever, sets what it misses, and prints its counts each second. With the
# variables AUTHORITY, USER and PASSWORD it uses TLS and logs in.
import os
import random
import sys
import time

import cache

name, mode, keys = sys.argv[1:]
options = {"ignore_exc": False}
if "AUTHORITY" in os.environ:
    options["tls_context"] = cache.tls_context(name, os.environ["AUTHORITY"])
    options["client_class"] = cache.login(os.environ["USER"], os.environ["PASSWORD"])
client = cache.Cache(name, **options).client
if mode == "set":
    for i in range(300):
        client().set(f"{keys}{i}", "x", expire=600)
elif mode == "get":
    print(sum(client().get(f"{keys}{i}") is not None for i in range(300)))
else:
    while True:
        hits = misses = errors = 0
        until = time.monotonic() + 1
        while time.monotonic() < until:
            key = f"{keys}{random.randrange(300)}"
            try:
                if client().get(key) is not None:
                    hits += 1
                else:
                    misses += 1
                    client().set(key, "x", expire=600)
            except Exception as error:
                errors += 1
                print("python:", repr(error), file=sys.stderr)
            time.sleep(0.005)
        print("python", hits, misses, errors, flush=True)
