import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Virtual threads, each blocked on a latch. */
public class spawn {
  public static void main(String[] args) throws Exception {
    int n = Integer.parseInt(args[0]);
    CountDownLatch gate = new CountDownLatch(1);
    AtomicInteger started = new AtomicInteger();
    long start = System.nanoTime();
    for (int i = 0; i < n; i++)
      Thread.ofVirtual().start(() -> {
        started.incrementAndGet();
        try { gate.await(); } catch (InterruptedException e) { }
      });
    while (started.get() < n) Thread.sleep(1);
    System.out.printf("RESULT\tspawn\tjava\t\t%.1f\tns/process%n", (System.nanoTime() - start) / (double) n);
    System.exit(0);
  }
}
