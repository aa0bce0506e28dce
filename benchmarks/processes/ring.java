import java.util.concurrent.SynchronousQueue;

public class ring {
  public static void main(String[] args) throws Exception {
    int n = 1000, hops = args.length > 0 ? Integer.parseInt(args[0]) : 500_000;
    @SuppressWarnings("unchecked") SynchronousQueue<Integer>[] q = new SynchronousQueue[n];
    for (int i = 0; i < n; i++) q[i] = new SynchronousQueue<>();
    SynchronousQueue<Integer> done = new SynchronousQueue<>();
    for (int i = 0; i < n; i++) {
      var in = q[i]; var out = q[(i + 1) % n];
      Thread.ofVirtual().start(() -> {
        try { while (true) { int v = in.take(); if (v == 0) done.put(0); else out.put(v - 1); } } catch (InterruptedException e) { }
      });
    }
    Thread main = Thread.ofVirtual().start(() -> {
      try {
        for (int r = 0; r < 7; r++) {
          long t0 = System.nanoTime();
          q[0].put(hops); done.take();
          double e = System.nanoTime() - t0;
          if (r > 1) System.out.printf("RESULT\tring\tjava\t\t%.1f\tns/hop%n", e / hops);
        }
      } catch (InterruptedException e) { }
    });
    main.join();
    System.exit(0);
  }
}
