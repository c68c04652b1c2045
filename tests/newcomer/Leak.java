// Sessions that nobody closes.
import java.util.HashMap;
import java.util.Map;

public class Leak {
  static final Map<Integer, Session> SESSIONS = new HashMap<>();

  static class Session {
    final double[] visited = new double[2500];
  }

  public static void main(String[] arguments) throws Exception {
    int users = Integer.parseInt(arguments[0]);
    for (int user = 0; user < users; user++) {
      SESSIONS.put(user, new Session()); // LEAK
    }
    System.out.println("ready");
    System.in.read();
  }
}
