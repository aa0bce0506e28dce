public class BinTrees {
  record Node(Node l, Node r) {
    int check() { return l == null ? 1 : 1 + l.check() + r.check(); }
  }
  static Node bottomUp(int d) { return d == 0 ? new Node(null, null) : new Node(bottomUp(d - 1), bottomUp(d - 1)); }
  static int run(int max) {
    int s = bottomUp(max + 1).check();
    Node keep = bottomUp(max);
    for (int d = 4; d <= max; d += 4) for (int i = 0; i < 1 << (max - d + 4); i++) s += bottomUp(d).check();
    return s + keep.check();
  }
  public static void main(String[] a) {
    int depth = Integer.parseInt(a[0]);
    for (int r = 0; r < Integer.parseInt(a[1]); r++) {
      long t = System.nanoTime();
      int s = run(depth);
      System.out.printf("RESULT\tbintrees\tjava\tdepth %d, %d nodes\t%.2f\tms%n", depth, s, (System.nanoTime() - t) / 1e6);
    }
  }
}
