package shop;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Supplier;

/** Programs that keep orders in different ways: {@code java shop.Leaks KIND DUMP}. */
public class Leaks {
    static class Order {
        final long id;
        final byte[] scan = new byte[300];

        Order(long id) {
            this.id = id;
            for (int at = 0; at < scan.length; at++) scan[at] = (byte) (id * 31 + at * id);
        }
    }

    static class Feed {
        final Deque<Order> recent = new ArrayDeque<>();
    }

    static class Service {
        final Map<String, Order> pending = new LinkedHashMap<>();

        void place(long id) {
            pending.put("order-" + id, new Order(id));
        }
    }

    static final Map<String, Object> BEANS = new HashMap<>();
    static final Map<Long, Order> BY_ID = new ConcurrentHashMap<>();
    static final Feed FEED = new Feed();
    static final ThreadLocal<List<Order>> CONTEXT = ThreadLocal.withInitial(ArrayList::new);
    static final Queue<Order> WAITING = new ConcurrentLinkedQueue<>();
    static final NavigableMap<Long, Order> SORTED = new TreeMap<>();
    static final List<ByteBuffer> DIRECT = new ArrayList<>();
    static final Map<Long, byte[]> CACHE = new HashMap<>();
    static final int COUNT = 5_000;

    static void inThreads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        CyclicBarrier all = new CyclicBarrier(4);
        List<Future<?>> done = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++)
            done.add(pool.submit(() -> {
                all.await();
                for (long id = 0; id < COUNT / 4; id++) CONTEXT.get().add(new Order(id));
                return null;
            }));
        for (Future<?> each : done) each.get();
    }

    static <T> T intercepted(Supplier<T> call) {
        return call.get();
    }

    static void load(long id) {
        CACHE.put(id, new byte[2_000]);
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "two holders":
                for (long id = 0; id < COUNT; id++) {
                    Order order = new Order(id);
                    BY_ID.put(id, order);
                    FEED.recent.add(order);
                }
                break;
            case "thread locals":
                inThreads();
                break;
            case "service":
                Service service = new Service();
                BEANS.put("orders", service);
                for (long number = 0; number < COUNT; number++) {
                    long id = number;
                    intercepted(() -> {
                        service.place(id);
                        return null;
                    });
                }
                break;
            case "queue":
                for (long id = 0; id < COUNT; id++) WAITING.add(new Order(id));
                break;
            case "tree":
                for (long id = 0; id < COUNT; id++) SORTED.put(id, new Order(id));
                break;
            case "direct buffers":
                for (int number = 0; number < 50; number++) DIRECT.add(ByteBuffer.allocateDirect(1 << 20));
                break;
            case "out of memory":
                for (long id = 0;; id++) load(id);
            case "nothing":
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(arguments[1], true);
        System.exit(0);
    }
}
