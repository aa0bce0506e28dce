/** Virtual threads that do nothing but yield. */
public class yielding {
  public static void main(String[] args) throws Exception {
    for (int round = 0; round < 6; round++)
      for (int n : new int[] {2, 10}) {
        int k = 2_000_000 / n;
        Thread[] all = new Thread[n];
        long start = System.nanoTime();
        for (int i = 0; i < n; i++)
          all[i] = Thread.ofVirtual().start(() -> { for (int j = 0; j < k; j++) Thread.yield(); });
        for (Thread each : all) each.join();
        double took = (System.nanoTime() - start) / ((double) n * k);
        if (round > 0) System.out.printf("RESULT\tyielding\tjava\t%d at a time\t%.1f\tns/switch%n", n, took);
      }
  }
}
