package shop;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Programs that keep more and more, or don't, which Java Flight Recorder records for some seconds. */
public class Recorded {
  static final int ROUNDS = 500, A_ROUND = 60;
  static final Map<Integer, byte[]> CACHE = new HashMap<>();
  static final List<Session> SESSIONS = new ArrayList<>();
  static final List<byte[]> STAGE = new ArrayList<>();
  static final Queue<Job> JOBS = new ConcurrentLinkedQueue<>();
  static final Bus BUS = new Bus();
  static final Map<Integer, byte[]> RECENT =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
          return size() > 2000;
        }
      };
  static volatile Object sink;

  record Session(int id, byte[] state) {}

  record Job(int id, byte[] body) {}

  interface Listener {
    void heard(String what);
  }

  static class Bus {
    final List<Listener> listeners = new ArrayList<>();

    void register(Listener listener) {
      listeners.add(listener);
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    for (int round = 0; round < ROUNDS; round++) {
      for (int n = 0; n < A_ROUND; n++) {
        garbage();
        one(arguments[0], round, round * A_ROUND + n);
      }
      if (round % 50 == 0) System.gc();
      Thread.sleep(15);
    }
    STAGE.clear();
    System.gc();
    // what a recording ends with isn't a collection of the last second
    Thread.sleep(500);
  }

  static void one(String kind, int round, int number) throws InterruptedException {
    switch (kind) {
      case "cache" -> cache(number);
      case "sessions" -> open(number);
      case "listeners" -> listen(number);
      case "queue" -> submit(number);
      case "texts" -> TEXTS.put(number, text(number));
      case "two" -> {
        cache(number);
        if (number % 4 == 0) open(number);
      }
      case "recent" -> remember(number);
      case "startup" -> {
        if (round < 20) cache(number);
      }
      case "sawtooth" -> {
        if (number % 7500 == 0) STAGE.clear();
        stage(number);
      }
      case "garbage" -> {}
      default -> throw new IllegalArgumentException(kind);
    }
  }

  static final Map<Integer, String> TEXTS = new HashMap<>();

  static void garbage() {
    sink = new byte[3000];
  }

  static void cache(int number) {
    CACHE.put(number, new byte[400]);
  }

  static void open(int number) {
    SESSIONS.add(new Session(number, new byte[400]));
  }

  static void listen(int number) {
    byte[] screen = new byte[400];
    BUS.register(what -> sink = screen);
  }

  static void submit(int number) {
    JOBS.add(new Job(number, new byte[400]));
    // every second one is done
    if (number % 2 == 0) JOBS.poll();
  }

  static String text(int number) {
    return "order ".repeat(60) + number;
  }

  static void remember(int number) {
    RECENT.put(number, new byte[400]);
  }

  static void stage(int number) {
    STAGE.add(new byte[400]);
  }
}
