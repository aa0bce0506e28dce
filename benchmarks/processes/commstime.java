import java.util.concurrent.SynchronousQueue;

/** CommsTime on virtual threads; a SynchronousQueue is the rendezvous channel. */
public class commstime {
  static SynchronousQueue<Integer> chan() { return new SynchronousQueue<>(); }
  public static void main(String[] args) throws Exception {
    int n = args.length > 0 ? Integer.parseInt(args[0]) : 200_000;
    var a = chan(); var b = chan(); var c = chan(); var d = chan();
    Thread.ofVirtual().start(() -> { try { a.put(0); while (true) a.put(b.take()); } catch (InterruptedException e) { } });
    Thread.ofVirtual().start(() -> { try { while (true) { Integer v = a.take(); c.put(v); d.put(v); } } catch (InterruptedException e) { } });
    Thread.ofVirtual().start(() -> { try { while (true) b.put(c.take() + 1); } catch (InterruptedException e) { } });
    Thread t = Thread.ofVirtual().start(() -> {
      try {
        for (int i = 0; i < n; i++) d.take();
        for (int r = 0; r < 5; r++) {
          long t0 = System.nanoTime();
          for (int i = 0; i < n; i++) d.take();
          long e = System.nanoTime() - t0;
          System.out.printf("RESULT\tcommstime\tjava\t\t%.1f\tns/iter%n", (double) e / n);
        }
      } catch (InterruptedException e) { }
    });
    t.join();
    System.exit(0);
  }
}
