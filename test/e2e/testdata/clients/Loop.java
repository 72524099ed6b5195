import java.util.Random;

/** See loop.py. */
class Loop {
    public static void main(String[] args) throws Exception {
        Cache cache = new Cache(args[0], 11211);
        Random random = new Random();
        int hits = 0;
        for (int i = 0; i < 300 && !args[1].equals("loop"); i++) {
            if (args[1].equals("set")) {
                cache.client().set(args[2] + i, 600, "x").get();
            } else if (cache.client().get(args[2] + i) != null) {
                hits++;
            }
        }
        if (!args[1].equals("loop")) {
            System.out.println(hits);
            System.exit(0);
        }
        while (true) {
            int misses = 0, errors = 0;
            hits = 0;
            for (long until = System.nanoTime() + 1_000_000_000L; System.nanoTime() < until; Thread.sleep(5)) {
                String key = args[2] + random.nextInt(300);
                try {
                    if (cache.client().get(key) != null) {
                        hits++;
                    } else {
                        misses++;
                        if (!cache.client().set(key, 600, "x").get()) {
                            errors++;
                        }
                    }
                } catch (Exception e) {
                    errors++;
                    System.err.println("java: " + e);
                }
            }
            System.out.println("java " + hits + " " + misses + " " + errors);
        }
    }
}
