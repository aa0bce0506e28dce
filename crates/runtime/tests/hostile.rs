//! Primitives get arguments of every kind: they may fail, but nothing else.
//!
//! The test writes a program with one method for each primitive, compiles it as if it were a part
//! of the library, and lets it call each with many combinations of values, while the collector
//! runs all the time. A panic, a crash or an endless loop fails the test; so does a program that
//! does not get to its end.

mod common;

use std::fmt::Write;

use squall_bytecode::module::selector_arity;
use squall_heap::CollectionKind;
use squall_runtime::concurrency::worker::{self, Finished};
use squall_runtime::library::primitives::all;

use common::{Program, start};

/// Primitives that, when they work, end the program or the strand or stop it for long.
const LEFT_OUT: [&str; 11] = [
    "endWith:",
    "exit:",
    "reportUncaught:",
    "failStrand:",
    "signal:",
    "signalAgain:",
    "sleep:",
    "blockNativeThread:",
    "chooseOf:fairly:within:",
    "chooseOf:writing:fairly:within:",
    "exitHooks:",
];

/// The arguments that each primitive is tried with.
const VALUES: &str = "
    nil. true. false. 0. 1. 2. 3. -1. 64. 255. 100000. 1 << 32. 1 << 40. 1 << 60. 1 << 62. 1 << 63.
    1 << 70. -1 * (1 << 60). -1 * (1 << 63). -1 * (1 << 90). 0.0. -0.5. 1.5. 1e300. 1e-320.
    0 // 0. 1 // 0. -1 // 0. ''. 'a'. 'text'. '12'. '-1.5e3'. 'ŝtrato'. '𝄞𝄞'.
    #symbol. #value. #at:put:. #read. {}. { 1. 2. 3 }. { 'a'. #b. 'ŝ' }. { 300. 'x' }. [ 1 ].
    [:a | a ]. [:a :b | { a. b } ]. Object new. Point new. Numbers new: 3. Exception new. Object.
    Point. Numbers. Exception. kernel. kernel Array. kernel ValueArray. kernel TransferArray.
    kernel String. kernel Integer. kernel Block. kernel Class. platform. self.
    kernel ValueArray new: 2 withAll: 7. kernel TransferArray new: 2. platform system arguments";

const FRAME: &str = "
class Hostile usingPlatform: platform = Object (
| private platform = platform.
  private kernel = platform kernel.
  private Array = platform kernel Array.
  private Exception = platform kernel Exception.
  private values ::= nil.
  private seed ::= 42.
  private answered ::= 0.
  private failed ::= 0. |
)(
  class Point = Object (| private x = 1. |)()
  class Numbers new: size = Array new: size ()()

  public main: args = (
    values:: self makeValues.
    self run.
    (answered > 10000 and: [ failed > 10000 ]) println.
    ^ 0
  )

  private with1: block = ( values do: [:a | block value: a ] )
  private with2: block = ( values do: [:a | values do: [:b | block value: a with: b ] ] )
  private with3: block = ( self with: 3 sampled: block )
  private with4: block = ( self with: 4 sampled: block )
  private with5: block = ( self with: 5 sampled: block )

  private with: count sampled: block = (
    3000 timesRepeat: [
      block valueWithArguments: (kernel Array new: count withAll: [ self next ]) ]
  )

  private next = (
    seed:: seed * 1103515245 + 12345 & 16r7FFFFFFF.
    ^ values at: (seed >>> 8) % values size + 1
  )
";

/// The program: the values, and for each primitive a method and its calls.
fn program() -> String {
    let mut methods = format!("  private makeValues = ( ^ {{ {VALUES} }} )\n");
    let mut calls = String::new();
    let primitives = all().filter(|primitive| !LEFT_OUT.contains(&primitive.name));
    for (index, primitive) in primitives.enumerate() {
        let arity = selector_arity(primitive.name);
        let arguments: Vec<String> = (1..=arity).map(|number| format!("a{number}")).collect();
        let block: String = arguments.iter().map(|name| format!(":{name} ")).collect();
        let pass = message(&format!("primitive{index}"), &arguments);
        _ = match arity {
            0 => writeln!(calls, "    self {pass}."),
            _ => writeln!(calls, "    self with{arity}: [{block}| self {pass} ]."),
        };
        let names = primitive.name.split_inclusive(':');
        let send: String = match arity {
            0 => primitive.name.to_owned(),
            _ => names
                .zip(&arguments)
                .map(|(name, argument)| format!("{name} {argument} "))
                .collect(),
        };
        _ = writeln!(
            methods,
            "  private {pass} = (
    vmMirror
      try:      [ vmMirror {send}. answered:: answered + 1 ]
      catching: Exception
      with:     [:exception | failed:: failed + 1 ]
  )"
        );
    }
    format!("{FRAME}{methods}  private run = (\n{calls}  )\n)\n")
}

/// A message, or a method's head, with these arguments.
fn message(name: &str, arguments: &[String]) -> String {
    match arguments {
        [] => name.to_owned(),
        [first, rest @ ..] => {
            let rest = rest.iter().map(|argument| format!(" with: {argument}"));
            format!("{name}: {first}{}", rest.collect::<String>())
        }
    }
}

#[test]
fn primitives_survive_any_argument() {
    let program = Program { name: "hostile.ns", text: program(), trusted: true };
    let (mut thread, output) = start(program, 500);
    let vm = thread.vm;
    let result = worker::run_program(&mut thread).unwrap();
    let output = output.lock().unwrap();
    let end = output.char_indices().rev().nth(500).map_or(0, |(start, _)| start);
    assert_eq!(result, Finished::Done, "{}", &output[end..]);
    assert_eq!(vm.ended.near_code(), Some(0), "{}", &output[end..]);
    assert!(output.ends_with("true\n"), "{}", &output[end..]);
    thread.mutator.collect(CollectionKind::Full);
}
