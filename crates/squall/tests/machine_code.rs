//! Machine code comes to rest: exits cease, types that change all the time end in general code, and code memory stays in its
//! budget, however many methods there are. Nothing here depends on time; the numbers are those of `--report=jit`.
//!
//! A process has one machine, so all of it is one test. Everything is compiled when it runs first.

use std::fmt::Write;

use squall::embedding::{Value, Vm};
use squall::{Counters, FileKind, Options, Surroundings, counters};

/// Programs of the benchmarks that run here, with sizes that take a moment.
const WORKLOADS: [(&str, i64); 7] = [
    ("sends:", 10),
    ("polymorphic:", 100),
    ("blocks:", 100),
    ("nonLocalReturns:", 50),
    ("exceptions:", 20),
    ("arrays:", 100),
    ("dictionaries:", 50),
];

/// So many rounds without an exit are rest.
const ROUNDS: usize = 100;
/// So many times there are new rounds, if there were exits. A request to the thread can lead to another unit at any time.
const PATIENCE: usize = 40;

/// The kinds of a variable change at each turn.
const CHANGING: &str = r"
class Changing usingPlatform: platform = Value ()(
  public class Pair of: n = Value (| private first = n. |)( public + other = ( ^ first ) )
  public class Other of: n = Value (| private another = 1. private first = n. |)( public + other = ( ^ first ) )

  private twice: thing = ( ^ thing + thing )
  private values = ( ^ { 3. 1.5. 1152921504606846975. Pair of: 4. 1.0e200. Other of: 5. nil isNil. 7 } )

  public run: count = (
    | values = self values. sum last |
    sum:: 0.
    1 to: count do: [:i |
      last:: values at: i % 8 + 1.
      last = true ifFalse: [ sum:: sum + (twice: last). last:: i ] ].
    ^ count
  )
)";

/// Methods in a module, and modules.
const METHODS: usize = 1000;
const MODULES: usize = 100;

struct Nowhere;

impl Surroundings for Nowhere {
    fn write_output(&self, _: &str) {}

    fn write_error(&self, text: &str) {
        eprint!("{text}");
    }

    fn flush(&self) {}

    fn read_module(&self, _: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

#[test]
fn machine_code_comes_to_rest() {
    let options = Options { jit_eager: true, ..Options::default() };
    let vm = Vm::start(options, Nowhere).expect("it starts");
    let text = include_str!("../../../benchmarks/micro/micro.ns");
    let micro = instance(&vm, "micro.ns", text);
    for (selector, size) in WORKLOADS {
        exits_cease(&vm, &micro, selector, size);
    }
    let changing = instance(&vm, "changing.ns", CHANGING);
    let before = now();
    exits_cease(&vm, &changing, "run:", 1000);
    let after = now();
    // `run:` and `twice:`: a function has ten units at most.
    assert!(after.dropped - before.dropped <= 20, "{before:?} and {after:?}");
    code_memory_stays_in_its_budget(&vm);
    assert_eq!(vm.end(0), 0);
}

fn instance(vm: &Vm, path: &str, text: &str) -> Value {
    let class = vm.load(path, FileKind::Newspeak, text.as_bytes()).expect("it compiles");
    vm.call(&class, "usingPlatform:", &[vm.platform().clone()]).expect("an instance")
}

fn now() -> Counters {
    counters().expect("there is a compiler")
}

/// Sends the message again and again, until it is left by no exit that says something about the code.
fn exits_cease(vm: &Vm, receiver: &Value, selector: &str, size: i64) {
    for _ in 0..PATIENCE {
        let before = now();
        for _ in 0..ROUNDS {
            vm.call(receiver, selector, &[Value::Integer(size)]).expect(selector);
        }
        if now().exits == before.exits {
            return;
        }
    }
    panic!("{selector} goes on leaving its code: {:?}", now());
}

/// Gives machine code to more methods than there is room for. All of them answer what they should.
fn code_memory_stays_in_its_budget(vm: &Vm) {
    for number in 0..MODULES {
        let module = instance(vm, &format!("many{number}.ns"), &many_methods(number));
        let answer = vm.call(&module, "run:", &[Value::Integer(1)]);
        assert_eq!(answer, Ok(Value::Integer((METHODS * (METHODS + 1) / 2 + 2 * METHODS) as i64)));
        let counters = now();
        assert!(counters.used <= counters.budget, "{counters:?}");
    }
    let counters = now();
    assert!(counters.used > counters.budget / 10 * 9, "the budget was not reached: {counters:?}");
    assert!(counters.functions < METHODS * MODULES);
}

/// A module with many methods, and one that sends all of them.
fn many_methods(number: usize) -> String {
    let mut text = format!("class Many{number} usingPlatform: platform = Value ()(\n");
    for method in 1..=METHODS {
        _ = writeln!(text, "  private add{method}: n = ( ^ n + {method} + n )");
    }
    text += "  public run: n = (\n    | sum ::= 0. |\n";
    for method in 1..=METHODS {
        _ = writeln!(text, "    sum:: sum + (add{method}: n).");
    }
    text + "    ^ sum\n  )\n)\n"
}
