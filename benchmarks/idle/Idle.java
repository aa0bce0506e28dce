import java.time.Duration;
import java.util.concurrent.SynchronousQueue;

public class Idle {
  public static void main(String[] arguments) throws InterruptedException {
    var queue = new SynchronousQueue<Integer>();
    for (int i = 0; i < 100; i++) {
      Thread.startVirtualThread(() -> { try { queue.take(); } catch (InterruptedException end) { } });
      Thread.startVirtualThread(() -> { try { Thread.sleep(Duration.ofHours(1)); } catch (InterruptedException end) { } });
    }
    Thread.sleep(100);
    System.out.println("everybody waits");
    queue.take();
  }
}
