//! The machine inside of this process. A process has one machine, so this is one test.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use squall::embedding::{Budgets, Error, HostModule, Reason, Sandbox, Value, Vm};
use squall::{FileKind, Options, Surroundings};

const MODULE: &str = r"
class Guest usingPlatform: platform = Value (
| private host      = platform host.
  private processes = platform processes.
  private actors    = platform actors. |
)(
  class Counter = (| count ::= 0. |)(
    public increment = ( count:: count + 1. ^ count )
  )
  class Echo in: in out: out = (| in = in. out = out. |)(
    public run = ( [ true ] whileTrue: [ out write: in read * 2 ] )
  )
  public class Loop = ()(
    public forever = ( [ true ] whileTrue: [ ] )
  )
  public counter = ( ^ Counter new )
  public add: a to: b = ( ^ a + b )
  public fail = ( ^ nil foo )
  public boom = ( ^ (host function: 'boom') value )
  public area: w by: h = ( ^ (host function: 'area') value: w with: h )
  public nested: n = ( ^ (host function: 'nested') value: n )
  public panic = ( ^ host call: 'panic' with: {} )
  public echoFrom: in to: out = ( processes spawn: Echo with: {in. out} )
  public waitForNothing = ( ^ processes Channel new in read )
  public array = ( ^ {1. 'two'. nil} )
  public block = ( ^ [:x | x + 1 ] )
  public promise = ( ^ platform_delay <-: value )
  public broken = ( | pair = actors createPromisePair. | pair resolver error: 'broken'. ^ pair promise )
  public platform_delay = ( ^ [ 17 ] )
  public provided = ( ^ (host at: 'in') read )
  public loopClass = ( ^ Loop )
  public sum = ( | s ::= 0. | 1 to: 1000 do: [:i | s:: s + i ]. ^ s )
)";

const ASSEMBLY: &str = r#"
module "numbers" "1.0.0"

function $gcd "gcd" (2) -> i64 {
    registers i64*3, bool
again:
    load_raw           r2, i64 0
    eq                 r3, r1, r2
    jump_if            r3, done
    rem                r2, r0, r1
    move               r0, r1
    move               r1, r2
    loop               again
done:
    return             r0
}

export "gcd" $gcd
"#;

const IMPORTER: &str = r#"
module "user" "1.0.0"

import "host:geometry" "^1" {
    function $area "area" (i64, i64) -> i64
    function $broken "broken" () -> i64
}

function $twice "twice" (2) -> i64 {
    registers i64*2, i64, any, i64*2
    move               r4, r0
    move               r5, r1
    call               r2, r4, 2, $area
    add                r2, r2, r2
    return             r2
}

function $wrong "wrong" (0) -> i64 {
    registers i64, any, i64
    call               r0, r2, 0, $broken
    return             r0
}

export "twice" $twice
export "wrong" $wrong
"#;

/// Collects the machine's output.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<String>>);

impl Surroundings for Recorder {
    fn write_output(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }

    fn write_error(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }

    fn flush(&self) {}

    fn read_module(&self, _: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

#[test]
fn a_machine_inside_of_this_process() {
    let output = Recorder::default();
    let vm = Vm::start(options(), output.clone()).expect("it starts");
    let second = Vm::start(Options::default(), Recorder::default());
    assert_eq!(second.err(), Some(Error::AlreadyStarted));

    let class = vm.load("guest.ns", FileKind::Newspeak, MODULE.as_bytes()).expect("it compiles");
    let platform = vm.platform().clone();
    let guest = vm.call(&class, "usingPlatform:", &[platform]).expect("an instance");
    modules_with_mistakes(&vm);
    values_go_both_ways(&vm, &guest);
    exports_are_called(&vm);
    modules_of_the_host_are_imported(&vm);
    sandboxes_import_what_they_are_granted(&vm);
    modules_run_where_they_are_loaded(&vm);
    calls_fail_with_reasons(&vm, &guest);
    many_native_threads_call(&vm, &guest);
    native_functions_are_called(&vm, &guest);
    native_threads_meet_processes(&vm, &guest);
    sandboxes_end_alone(&vm, &guest, &output);
    large_answers_are_refused(&vm);
    objects_are_released(&vm, &guest);
    assert_eq!(vm.end(7), 7);
    assert_eq!(vm.call(&guest, "sum", &[]), Err(Error::Ended(Some(7))));
}

/// The defaults, with the scheduler that `cargo xtask schedulers` asks for.
fn options() -> Options {
    let mut options = Options::default();
    if let Ok(name) = std::env::var("SQUALL_SCHEDULER") {
        options.scheduler.policy = name.parse().expect("a scheduler");
    }
    options
}

fn modules_with_mistakes(vm: &Vm) {
    let load = |kind, text: &str| vm.load("wrong", kind, text.as_bytes());
    let Err(Error::Compile(text)) = load(FileKind::Newspeak, "class A = ()( m = ( ^ ( ) )") else {
        panic!("that compiles")
    };
    assert!(text.contains("wrong:1:"), "{text}");
    assert!(matches!(load(FileKind::Assembly, "nonsense"), Err(Error::Compile(_))));
    assert!(matches!(load(FileKind::Binary, "nonsense"), Err(Error::Compile(_))));
}

fn values_go_both_ways(vm: &Vm, guest: &Value) {
    let add = |a, b| vm.call(guest, "add:to:", &[a, b]);
    assert_eq!(add(Value::Integer(3), Value::Integer(4)), Ok(Value::Integer(7)));
    assert_eq!(add(Value::Double(0.5), Value::Integer(1)), Ok(Value::Double(1.5)));
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(add(text("añ"), text("😀")), Ok(text("añ😀")));
    let big = add(Value::Integer(i64::MAX), Value::Integer(1)).expect("an integer");
    assert_eq!(vm.describe(&big), Ok("9223372036854775808".to_owned()));
    let array = vm.call(guest, "array", &[]).expect("an array");
    let elements = vec![Value::Integer(1), text("two"), Value::Nil];
    assert_eq!(vm.elements(&array), Ok(elements.clone()));
    assert_eq!(vm.elements(&Value::List(elements.clone())), Ok(elements));
    let block = vm.call(guest, "block", &[]).expect("a block");
    assert_eq!(vm.evaluate(&block, &[Value::Integer(41)]), Ok(Value::Integer(42)));
    let promise = vm.call(guest, "promise", &[]).expect("a promise");
    assert_eq!(vm.wait_for(&promise), Ok(Value::Integer(17)));
    let broken = vm.call(guest, "broken", &[]).expect("a promise");
    let Err(Error::Exception { text: told, .. }) = vm.wait_for(&broken) else { panic!("it broke") };
    assert!(told.contains("broken"), "{told}");
    let mut deep = Value::Nil;
    for _ in 0..200 {
        deep = Value::List(vec![deep]);
    }
    assert_eq!(vm.call(guest, "add:to:", &[deep, Value::Nil]), Err(Error::Argument));
    assert_eq!(vm.call(guest, "add:to:", &[]), Err(Error::Argument));
}

fn exports_are_called(vm: &Vm) {
    let module = vm.load("numbers.sqasm", FileKind::Assembly, ASSEMBLY.as_bytes());
    let module = module.expect("it is well-typed");
    let gcd = |a, b| vm.call_export(&module, "gcd", &[a, b]);
    assert_eq!(gcd(Value::Integer(48), Value::Integer(180)), Ok(Value::Integer(12)));
    for wrong in [Value::Nil, Value::Double(1.5), Value::Text("48".to_owned())] {
        let answer = gcd(wrong, Value::Integer(1));
        assert!(matches!(answer, Err(Error::Exception { .. })), "{answer:?}");
    }
    let missing = vm.call_export(&module, "lcm", &[]);
    assert!(matches!(missing, Err(Error::Exception { .. })), "{missing:?}");
    let binary = squall_bytecode::assembler::assemble(ASSEMBLY).expect("it is well-formed");
    let binary = squall_bytecode::format::encode(&binary).expect("it has a binary form");
    let module = vm.load("numbers.sqb", FileKind::Binary, &binary).expect("it is well-typed");
    let answer = vm.call_export(&module, "gcd", &[Value::Integer(7), Value::Integer(21)]);
    assert_eq!(answer, Ok(Value::Integer(7)));
}

fn modules_of_the_host_are_imported(vm: &Vm) {
    let load = || vm.load("user.sqasm", FileKind::Assembly, IMPORTER.as_bytes());
    assert!(matches!(load(), Err(Error::Exception { .. } | Error::Compile(_))));
    let geometry = |result: &str| {
        let module = HostModule::new("host:geometry", "1.2.0");
        let module = module.function("area", &["i64", "i64"], result, |arguments| {
            let [Value::Integer(width), Value::Integer(height)] = arguments else {
                return Err("two integers".to_owned());
            };
            Ok(Value::Integer(width * height))
        });
        module.function("broken", &[], "i64", |_| Ok(Value::Nil))
    };
    vm.register_module(geometry("f64")).expect("it is well-typed");
    assert!(matches!(load(), Err(Error::Exception { .. } | Error::Compile(_))), "a wrong type");
    vm.register_module(geometry("i64")).expect("it is well-typed");
    let module = load().expect("all is there");
    let twice = vm.call_export(&module, "twice", &[Value::Integer(3), Value::Integer(7)]);
    assert_eq!(twice, Ok(Value::Integer(42)));
    let wrong = vm.call_export(&module, "wrong", &[]);
    assert!(matches!(wrong, Err(Error::Exception { .. })), "{wrong:?}");
    let strange =
        HostModule::new("host:x", "1.0.0").function("a", &["i64\n"], "i64", |_| Ok(Value::Nil));
    assert_eq!(vm.register_module(strange), Err(Error::Argument));
    let unknown =
        HostModule::new("host:x", "1.0.0").function("a", &["i65"], "i64", |_| Ok(Value::Nil));
    assert!(matches!(vm.register_module(unknown), Err(Error::Compile(_))));
}

/// A sandbox imports granted modules only, not even another one through a module that was linked before.
fn sandboxes_import_what_they_are_granted(vm: &Vm) {
    let call = |sandbox: &Sandbox| {
        let actor = sandbox.load("user.sqasm", FileKind::Assembly, IMPORTER.as_bytes())?;
        let arguments = Value::List(vec![Value::Integer(3), Value::Integer(7)]);
        vm.call(&actor, "call:with:", &[Value::Text("twice".to_owned()), arguments])
    };
    let granted = vm.sandbox("granted", Budgets::default(), &["host:geometry"]).expect("a sandbox");
    assert_eq!(call(&granted), Ok(Value::Integer(42)));
    let other = vm.sandbox("other", Budgets::default(), &["host", "host:clock"]).expect("one");
    let Err(Error::Compile(text)) = call(&other) else { panic!("it is linked") };
    assert!(text.contains("import of `host:geometry` ^1: other is not granted it"), "{text}");
    // Passing the module to the sandbox gives it no authority.
    let module = vm.load("user.sqasm", FileKind::Assembly, IMPORTER.as_bytes()).expect("it links");
    let actor = other.actor(&module).expect("an actor");
    let arguments = Value::List(vec![Value::Integer(3), Value::Integer(7)]);
    let refused = vm.call(&actor, "call:with:", &[Value::Text("twice".to_owned()), arguments]);
    let Err(Error::Exception { class, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(class, "NotGranted");
    assert_eq!(vm.sandbox("x", Budgets::default(), &["nothing"]).err(), Some(Error::Argument));
}

/// A module whose class takes endless time to make.
const ENDLESS: &str = include_str!("../../../tests/language/sandboxes/endless.sqasm");

/// The code that makes a module's class runs in the sandbox, and so do messages to values that are the roots of actors
/// there.
fn modules_run_where_they_are_loaded(vm: &Vm) {
    let poor = Budgets { fuel: Some(20_000), ..Budgets::default() };
    let sandbox = |name| vm.sandbox(name, poor, &[]).expect("a sandbox");
    let loaded = sandbox("maker").load("endless.sqasm", FileKind::Assembly, ENDLESS.as_bytes());
    assert!(matches!(loaded, Err(Error::SandboxEnded(_))), "{loaded:?}");
    let source = "class Loop new = Value ()( public run = ( [ true ] whileTrue: [] ) public half = ( ^ 21 ) )";
    let looping = sandbox("looper");
    let class = looping.load("loop.ns", FileKind::Newspeak, source.as_bytes()).expect("it is fine");
    let value = vm.call(&class, "new", &[]).expect("an instance");
    let actor = looping.actor(&value).expect("an actor");
    assert_eq!(
        vm.call(&looping.actor(&actor).expect("itself"), "half", &[]),
        Ok(Value::Integer(21))
    );
    assert!(matches!(vm.call(&actor, "run", &[]), Err(Error::SandboxEnded(_))));
}

fn calls_fail_with_reasons(vm: &Vm, guest: &Value) {
    let Err(Error::Exception { class, text, trace }) = vm.call(guest, "fail", &[]) else {
        panic!("it does not fail")
    };
    assert_eq!(class, "MessageNotUnderstood");
    assert!(text.contains("foo"), "{text}");
    assert!(trace.contains("Guest>>fail (guest.ns:"), "{trace}");
    let Err(Error::Deadlock(report)) = vm.call(guest, "waitForNothing", &[]) else {
        panic!("it is answered")
    };
    assert!(report.contains("waits for a channel"), "{report}");
    assert_eq!(vm.call(guest, "sum", &[]), Ok(Value::Integer(500_500)));
}

fn many_native_threads_call(vm: &Vm, guest: &Value) {
    let counter = vm.call(guest, "counter", &[]).expect("a counter");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    vm.call(&counter, "increment", &[]).expect("a number");
                }
            });
        }
    });
    assert_eq!(vm.call(&counter, "increment", &[]), Ok(Value::Integer(801)));
}

fn native_functions_are_called(vm: &Vm, guest: &Value) {
    vm.register("area", |arguments| match arguments {
        [Value::Integer(width), Value::Integer(height)] => Ok(Value::Integer(width * height)),
        _ => Err("two integers".to_owned()),
    });
    vm.register("boom", |_| Err("boom!".to_owned()));
    vm.register("panic", |_| panic!("on purpose"));
    let inner = (vm.clone(), guest.clone());
    vm.register("nested", move |arguments| {
        let (vm, guest) = &inner;
        let arguments = [arguments[0].clone(), Value::Integer(1)];
        vm.call(guest, "add:to:", &arguments).map_err(|error| error.to_string())
    });
    let area = vm.call(guest, "area:by:", &[Value::Integer(6), Value::Integer(7)]);
    assert_eq!(area, Ok(Value::Integer(42)));
    assert_eq!(vm.call(guest, "nested:", &[Value::Integer(6)]), Ok(Value::Integer(7)));
    for (selector, wanted) in [("boom", "HostError: boom: boom!"), ("panic", "on purpose")] {
        let Err(Error::Exception { class, text, .. }) = vm.call(guest, selector, &[]) else {
            panic!("{selector} does not fail")
        };
        assert_eq!(class, "HostError");
        assert!(text.contains(wanted), "{text}");
    }
}

fn native_threads_meet_processes(vm: &Vm, guest: &Value) {
    let (to_guest, guest_in) = vm.channel_to_guest(0).expect("a channel");
    let (from_guest, guest_out) = vm.channel_from_guest(0).expect("a channel");
    vm.call(guest, "echoFrom:to:", &[guest_in, guest_out]).expect("a process");
    let (tell, told) = channel();
    let reader = from_guest.clone();
    let thread = std::thread::spawn(move || {
        for _ in 0..100 {
            tell.send(reader.read()).expect("somebody listens");
        }
    });
    for number in 0..100 {
        to_guest.write(&Value::Integer(number)).expect("it is read");
        assert_eq!(told.recv(), Ok(Ok(Value::Integer(2 * number))));
    }
    thread.join().expect("it does not panic");
    assert_eq!(from_guest.read_within(Duration::from_millis(1)), Ok(None));
    from_guest.poison().expect("it can be");
    assert_eq!(from_guest.read(), Err(Error::Poisoned));
    assert_eq!(to_guest.write(&guest.clone()).err(), None);
    drop((to_guest, from_guest));

    let (writer, end) = vm.channel_to_guest(1).expect("a channel");
    vm.provide("in", end);
    writer.write(&Value::Integer(5)).expect("there is room");
    assert_eq!(vm.call(guest, "provided", &[]), Ok(Value::Integer(5)));
    drop(writer);
    // No strand is left that could write.
    assert!(matches!(vm.call(guest, "provided", &[]), Err(Error::Deadlock(_))));
}

fn sandboxes_end_alone(vm: &Vm, guest: &Value, output: &Recorder) {
    let budgets = Budgets { fuel: Some(10_000), ..Budgets::default() };
    let sandbox = vm.sandbox("guest", budgets, &[]).expect("a sandbox");
    let class = vm.call(guest, "loopClass", &[]).expect("a class");
    let class = sandbox.actor(&class).expect("an actor");
    let object = vm.call(&class, "new", &[]).expect("an object");
    let Err(Error::SandboxEnded(report)) = vm.call(&object, "forever", &[]) else {
        panic!("it comes back")
    };
    assert!(report.starts_with("guest has used up its fuel of 10000"), "{report}");
    assert!(report.contains("Loop>>forever"), "{report}");
    assert_eq!(sandbox.reason(), Ok(Reason::Fuel));
    assert_eq!(sandbox.usage().map(|usage| usage[0]), Ok(10_000));
    assert!(matches!(vm.call(&object, "forever", &[]), Err(Error::SandboxEnded(_))));
    assert_eq!(vm.call(guest, "sum", &[]), Ok(Value::Integer(500_500)));
    let other = vm.sandbox("other", Budgets::default(), &[]).expect("a sandbox");
    assert_eq!(other.terminate(), Ok(true));
    assert_eq!(other.terminate(), Ok(false));
    assert_eq!(other.reason(), Ok(Reason::Terminated));
    assert!(output.0.lock().unwrap().contains("used up its fuel"));
}

/// A list with 1000 times the same list, 1000 times over: small in its sandbox, but not outside.
const LARGE: &str = r#"
export "list" $list
function $list "list" (0) -> list<list<list<i64>>> {
    registers list<i64>, list<list<i64>>, list<list<list<i64>>>, i64
    load_raw r3, i64 1000
    empty r0
    fill_list r1, r3, r0
    fill_list r2, r3, r1
    return r2
}
"#;

/// An answer that is too large to leave a sandbox is the guest's mistake: the host has as much memory as before.
fn large_answers_are_refused(vm: &Vm) {
    let budgets = Budgets { heap: Some(6 << 20), ..Budgets::default() };
    let sandbox = vm.sandbox("large", budgets, &[]).expect("a sandbox");
    let module = sandbox.load("large.sqasm", FileKind::Assembly, LARGE.as_bytes());
    let arguments = [Value::Text("list".to_owned()), Value::List(Vec::new())];
    let answer = vm.call(&module.expect("it links"), "call:with:", &arguments);
    let Err(Error::Exception { class, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!(class, "MessageTooLarge");
}

fn objects_are_released(vm: &Vm, guest: &Value) {
    let held = |vm: &Vm| {
        vm.collect_garbage().expect("it collects");
        vm.objects_held()
    };
    let before = held(vm);
    let counters: Vec<Value> =
        (0..100).map(|_| vm.call(guest, "counter", &[]).expect("a counter")).collect();
    assert_eq!(held(vm), before + 100);
    let copies = counters.clone();
    drop(counters);
    assert_eq!(held(vm), before + 100);
    for copy in &copies {
        assert_eq!(vm.call(copy, "increment", &[]), Ok(Value::Integer(1)));
    }
    std::thread::spawn(move || drop(copies)).join().expect("it does not panic");
    assert_eq!(held(vm), before);
}
