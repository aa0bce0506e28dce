import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** Java's foreign functions: {@code Calls LIBRARY calls|long SIZE}. */
public class Calls {
  static MethodHandle plain;
  static MethodHandle critical;
  static MethodHandle sleep;

  /** The compiler takes handles for constants only in final fields. */
  static final class Handles {
    static final MethodHandle PLAIN = plain;
    static final MethodHandle CRITICAL = critical;
  }

  static void report(String workload, String detail, double value, String unit) {
    System.out.printf("RESULT\t%s\tjava FFM\t%s\t%.3f\t%s%n", workload, detail, value, unit);
  }

  static long plain(long count) throws Throwable {
    long sum = 0;
    for (long i = 0; i < count; i++) sum += (int) Handles.PLAIN.invokeExact();
    return sum;
  }

  static long critical(long count) throws Throwable {
    long sum = 0;
    for (long i = 0; i < count; i++) sum += (int) Handles.CRITICAL.invokeExact();
    return sum;
  }

  static void calls(long count) throws Throwable {
    for (int round = 0; round < 8; round++) {
      long begin = System.nanoTime();
      long sum = plain(count);
      long between = System.nanoTime();
      sum += critical(count);
      long end = System.nanoTime();
      if (sum != 84 * count) throw new AssertionError(sum);
      if (round < 5) continue; // it compiles
      report("calls", "get_int", (double) (between - begin) / count, "ns");
      report("calls", "get_int, critical", (double) (end - between) / count, "ns");
    }
  }

  static void naps(int count, int milliseconds) throws Throwable {
    long begin = System.nanoTime();
    Thread[] threads = new Thread[count];
    for (int i = 0; i < count; i++) {
      threads[i] = Thread.ofPlatform().start(() -> {
        try {
          int ignored = (int) sleep.invokeExact(milliseconds);
        } catch (Throwable problem) {
          throw new AssertionError(problem);
        }
      });
    }
    for (Thread thread : threads) thread.join();
    report("long", count + " at a time", (System.nanoTime() - begin) / 1e6, "ms");
  }

  public static void main(String[] arguments) throws Throwable {
    SymbolLookup library = SymbolLookup.libraryLookup(Path.of(arguments[0]), Arena.global());
    Linker linker = Linker.nativeLinker();
    FunctionDescriptor type = FunctionDescriptor.of(ValueLayout.JAVA_INT);
    plain = linker.downcallHandle(library.find("get_int").get(), type);
    critical = linker.downcallHandle(library.find("get_int").get(), type, Linker.Option.critical(false));
    sleep = linker.downcallHandle(
        library.find("sleep_ms").get(), FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    int size = Integer.parseInt(arguments[2]);
    if (arguments[1].equals("calls")) {
      calls(size);
    } else {
      for (int count : new int[] {1, 2, 100}) naps(count, size);
    }
  }
}
