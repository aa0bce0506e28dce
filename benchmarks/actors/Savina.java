import com.typesafe.config.ConfigFactory;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.actor.UntypedAbstractActor;

/** The actor benchmarks on Pekko's classic actors: Savina WORKLOAD SIZE ROUNDS THREADS. */
public class Savina {
  static ActorSystem system;

  /** The reaction of an actor to a message. */
  interface Behaviour { void on(Object message, UntypedAbstractActor me); }

  static final class Actor extends UntypedAbstractActor {
    final Behaviour behaviour;
    Actor(Behaviour behaviour) { this.behaviour = behaviour; }
    @Override public void onReceive(Object message) { behaviour.on(message, this); }
  }

  /** An actor whose behaviour, with all its state, is made by the actor itself. */
  static ActorRef actor(Supplier<Behaviour> behaviour) {
    return system.actorOf(Props.create(Actor.class, () -> new Actor(behaviour.get())));
  }

  static ActorRef[] actors(int count, java.util.function.IntFunction<Behaviour> behaviour) {
    ActorRef[] all = new ActorRef[count];
    for (int i = 0; i < count; i++) { int id = i; all[i] = actor(() -> behaviour.apply(id)); }
    return all;
  }

  static void stop(ActorRef... all) { for (ActorRef each : all) system.stop(each); }

  static void tell(ActorRef actor, Object message) { actor.tell(message, ActorRef.noSender()); }

  /** A sum to which so many parties contribute. */
  static final class Tally {
    final CompletableFuture<Double> sum = new CompletableFuture<>();
    final ActorRef actor;
    Tally(int parties) {
      actor = actor(() -> new Behaviour() {
        int missing = parties;
        double partial = 0;
        public void on(Object number, UntypedAbstractActor me) {
          partial += ((Number) number).doubleValue();
          if (--missing == 0) { sum.complete(partial); me.getContext().stop(me.getSelf()); }
        }
      });
    }
    void add(Number number, UntypedAbstractActor from) { actor.tell(number, from.getSelf()); }
    long sum() throws Exception { return Math.round(sum.get()); }
  }

  static long pingPong(int count) throws Exception {
    Tally tally = new Tally(1);
    ActorRef pong = actor(() -> (message, me) -> me.getSender().tell(message, me.getSelf()));
    ActorRef ping = actor(() -> new Behaviour() {
      int sent = 0;
      public void on(Object message, UntypedAbstractActor me) {
        if (sent < count) { sent++; pong.tell("ping", me.getSelf()); } else { tally.add(sent, me); }
      }
    });
    tell(ping, "start");
    long answers = tally.sum();
    stop(ping, pong);
    return answers;
  }

  static long counting(int count) throws Exception {
    Tally tally = new Tally(1);
    ActorRef counter = actor(() -> new Behaviour() {
      int total = 0;
      public void on(Object message, UntypedAbstractActor me) {
        if (message == "increment") total++; else tally.add(total, me);
      }
    });
    ActorRef producer = actor(() -> (message, me) -> {
      for (int i = 0; i < count; i++) counter.tell("increment", me.getSelf());
      counter.tell("total", me.getSelf());
    });
    tell(producer, "start");
    long total = tally.sum();
    stop(counter, producer);
    return total;
  }

  static double compute() { return Math.sin(37.2) * Math.sin(37.2); }

  static long throughput(int count) throws Exception {
    Tally tally = new Tally(60);
    ActorRef[] workers = actors(60, id -> new Behaviour() {
      int done = 0;
      double product;
      public void on(Object message, UntypedAbstractActor me) {
        product = compute();
        if (++done == count) tally.add(done, me);
      }
    });
    for (int i = 0; i < count; i++) for (ActorRef worker : workers) tell(worker, "work");
    long sum = tally.sum();
    stop(workers);
    return sum;
  }

  static volatile double sink;

  static long creation(int count) throws Exception {
    Tally tally = new Tally(count);
    for (int i = 0; i < count; i++) {
      ActorRef worker = actor(() -> (message, me) -> {
        sink = compute();
        tally.add(1, me);
        me.getContext().stop(me.getSelf());
      });
      tell(worker, "work");
    }
    return tally.sum();
  }

  static long threadRing(int hops) throws Exception {
    ActorRef[] ring = new ActorRef[100];
    Tally end = new Tally(1), tally = new Tally(ring.length);
    for (int i = 0; i < ring.length; i++) {
      int next = (i + 1) % ring.length;
      ring[i] = actor(() -> new Behaviour() {
        int visits = 0;
        public void on(Object message, UntypedAbstractActor me) {
          if (message == "visits") { tally.add(visits, me); return; }
          visits++;
          int left = (Integer) message;
          if (left == 0) end.add(0, me); else ring[next].tell(left - 1, me.getSelf());
        }
      });
    }
    tell(ring[0], hops);
    end.sum();
    for (ActorRef member : ring) tell(member, "visits");
    long visits = tally.sum();
    stop(ring);
    return visits;
  }

  record Meet(int colour) {}
  record Become(int colour) {}

  static final class Mall implements Behaviour {
    int left, waitingColour;
    ActorRef waiting = null;
    Mall(int meetings) { left = meetings; }
    public void on(Object message, UntypedAbstractActor me) {
      int colour = ((Meet) message).colour;
      ActorRef creature = me.getSender();
      if (left == 0) {
        creature.tell("go home", me.getSelf());
      } else if (waiting == null) {
        waiting = creature;
        waitingColour = colour;
      } else {
        int changed = waitingColour == colour ? colour : 3 - waitingColour - colour;
        waiting.tell(new Become(changed), me.getSelf());
        creature.tell(new Become(changed), me.getSelf());
        waiting = null;
        left--;
      }
    }
  }

  static long chameneos(int meetings) throws Exception {
    Tally tally = new Tally(100);
    ActorRef mall = actor(() -> new Mall(meetings));
    ActorRef[] creatures = actors(100, id -> new Behaviour() {
      int colour = id % 3, met = 0;
      public void on(Object message, UntypedAbstractActor me) {
        if (message == "go home") { tally.add(met, me); return; }
        if (message instanceof Become become) { colour = become.colour; met++; }
        mall.tell(new Meet(colour), me.getSelf());
      }
    });
    for (ActorRef creature : creatures) tell(creature, "start");
    long met = tally.sum();
    stop(creatures);
    stop(mall);
    return met / 2;
  }

  static long bigContention(int count) throws Exception {
    ActorRef[] workers = new ActorRef[2000];
    Tally end = new Tally(workers.length), tally = new Tally(workers.length);
    for (int i = 0; i < workers.length; i++) {
      int id = i;
      workers[i] = actor(() -> new Behaviour() {
        int left = count, answered = 0;
        final Random random = new Random(id);
        public void on(Object message, UntypedAbstractActor me) {
          if (message == "ping") { answered++; me.getSender().tell("pong", me.getSelf()); }
          else if (message == "answers") tally.add(answered, me);
          else if (left-- > 0) workers[random.nextInt(workers.length)].tell("ping", me.getSelf());
          else end.add(1, me);
        }
      });
    }
    for (ActorRef worker : workers) tell(worker, "pong");
    end.sum();
    for (ActorRef worker : workers) tell(worker, "answers");
    long answers = tally.sum();
    stop(workers);
    return answers;
  }

  static double height(double x) {
    return Math.sin(x * x * x - 1) / (x + 1) * Math.sqrt(1 + Math.exp(Math.sqrt(2 * x)));
  }

  static long trapezoidal(int pieces) throws Exception {
    double left = 1, right = 5, width = (right - left) / pieces;
    Tally tally = new Tally(100);
    ActorRef[] workers = actors(100, id -> (message, me) -> {
      double start = left + (right - left) / 100 * id, area = 0;
      for (int i = 0; i < pieces / 100; i++) {
        double x = i * width + start;
        area += 0.5 * (height(x) + height(x + width)) * width;
      }
      tally.add(area, me);
    });
    for (ActorRef worker : workers) tell(worker, "start");
    double area = tally.sum.get();
    stop(workers);
    return Math.round(area * 10000);
  }

  record Compute(int n, ActorRef parent) {}

  static final class Adder implements Behaviour {
    ActorRef parent;
    int missing = 2;
    long sum = 0;
    public void on(Object message, UntypedAbstractActor me) {
      if (message instanceof Compute compute) {
        parent = compute.parent;
        if (compute.n <= 2) { end(1, me); return; }
        tell(actor(Adder::new), new Compute(compute.n - 1, me.getSelf()));
        tell(actor(Adder::new), new Compute(compute.n - 2, me.getSelf()));
      } else {
        sum += (Long) message;
        if (--missing == 0) end(sum, me);
      }
    }
    void end(long result, UntypedAbstractActor me) {
      parent.tell(result, me.getSelf());
      me.getContext().stop(me.getSelf());
    }
  }

  static long fibonacci(int n) throws Exception {
    Tally tally = new Tally(1);
    tell(actor(Adder::new), new Compute(n, tally.actor));
    return tally.sum();
  }

  static long expectedFibonacci(int n) {
    long previous = 0, last = 1;
    for (int i = 2; i <= n; i++) { long next = last + previous; previous = last; last = next; }
    return last;
  }

  interface Round { long run(int size) throws Exception; }
  record Benchmark(Round round, Round expected) {}

  static final Map<String, Benchmark> BENCHMARKS = Map.of(
      "pingpong", new Benchmark(Savina::pingPong, count -> count),
      "counting", new Benchmark(Savina::counting, count -> count),
      "throughput", new Benchmark(Savina::throughput, count -> count * 60),
      "creation", new Benchmark(Savina::creation, count -> count),
      "threadring", new Benchmark(Savina::threadRing, hops -> hops + 1),
      "chameneos", new Benchmark(Savina::chameneos, meetings -> meetings),
      "bigcontention", new Benchmark(Savina::bigContention, count -> count * 2000),
      "trapezoidal", new Benchmark(Savina::trapezoidal, pieces -> 2711),
      "fibonacci", new Benchmark(Savina::fibonacci, Savina::expectedFibonacci));

  static void startSystem(String threads) {
    system = ActorSystem.create("savina", ConfigFactory.parseString("""
        pekko {
          loglevel = OFF
          stdout-loglevel = OFF
          jvm-exit-on-fatal-error = on
          actor.default-dispatcher.fork-join-executor {
            parallelism-min = THREADS
            parallelism-max = THREADS
            parallelism-factor = 1.0
          }
        }
        """.replace("THREADS", threads)));
  }

  public static void main(String[] arguments) throws Exception {
    String workload = arguments[0];
    int size = Integer.parseInt(arguments[1]), rounds = Integer.parseInt(arguments[2]);
    Benchmark benchmark = BENCHMARKS.get(workload);
    startSystem(arguments[3]);
    for (int i = 0; i < rounds; i++) {
      long start = System.nanoTime();
      long result = benchmark.round.run(size);
      double time = (System.nanoTime() - start) / 1e6;
      long expected = benchmark.expected.run(size);
      if (result != expected) {
        System.err.printf("%s answered %d, not %d%n", workload, result, expected);
        System.exit(1);
      }
      System.out.printf("RESULT\t%s\tpekko\t\t%.3f\tms%n", workload, time);
    }
    System.exit(0);
  }
}
