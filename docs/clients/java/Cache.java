// SPDX-License-Identifier: Apache-2.0

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.security.Security;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import net.spy.memcached.DefaultHashAlgorithm;
import net.spy.memcached.FailureMode;
import net.spy.memcached.KetamaConnectionFactory;
import net.spy.memcached.KetamaNodeKeyFormatter;
import net.spy.memcached.KetamaNodeLocator;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.MemcachedNode;
import net.spy.memcached.NodeLocator;
import net.spy.memcached.util.DefaultKetamaNodeLocatorConfiguration;

/**
 * Looks the name of a Memcached's Service up every 5 seconds, and makes a new client when its addresses have changed.
 */
public class Cache {
    private final String name;
    private final int port;
    private TreeSet<String> servers = new TreeSet<>();
    private MemcachedClient client;
    private long nextLookup = System.nanoTime();

    public Cache(String name, int port) {
        Security.setProperty("networkaddress.cache.ttl", "0"); // This class keeps addresses, for 5 seconds.
        this.name = name;
        this.port = port;
    }

    /** Returns the client. Ask for it anew for each operation. */
    public synchronized MemcachedClient client() throws Exception {
        if (client != null && System.nanoTime() - nextLookup < 0) {
            return client;
        }
        nextLookup = System.nanoTime() + 5_000_000_000L;
        TreeSet<String> now = new TreeSet<>();
        List<InetSocketAddress> addresses = new ArrayList<>();
        try {
            for (InetAddress found : InetAddress.getAllByName(name)) {
                String text = found.getHostAddress();
                now.add(text);
                // The address is its name too, since names are hashed.
                addresses.add(new InetSocketAddress(InetAddress.getByAddress(text, found.getAddress()), port));
            }
        } catch (UnknownHostException e) {
            if (client == null) {
                throw e;
            }
            return client;
        }
        if (!now.equals(servers)) {
            MemcachedClient old = client;
            client = new MemcachedClient(new Factory(), addresses);
            servers = now;
            if (old != null) {
                old.shutdown();
            }
        }
        return client;
    }

    /** Hashes like libmemcached. */
    private static class Factory extends KetamaConnectionFactory {
        @Override
        public NodeLocator createLocator(List<MemcachedNode> nodes) {
            return new KetamaNodeLocator(nodes, DefaultHashAlgorithm.KETAMA_HASH,
                new DefaultKetamaNodeLocatorConfiguration(new KetamaNodeKeyFormatter(KetamaNodeKeyFormatter.Format.LIBMEMCACHED)));
        }

        @Override
        public FailureMode getFailureMode() {
            return FailureMode.Retry; // A server that fails keeps its keys.
        }

        @Override
        public boolean useNagleAlgorithm() {
            return false;
        }

        @Override
        public long getOperationTimeout() {
            return 500;
        }

        @Override
        public long getMaxReconnectDelay() {
            return 1;
        }
    }
}
