//! The host's program: it asks the guest, and does what a careless program does with the objects that it gets. `parties`
//! calls this module.
//!
//! `meet:` answers a promise that is resolved with the host's balance when all answers have been looked at. Nothing that
//! a guest does changes the balance.

use super::Language;
use crate::choices::Choices;

/// The program's text, for a guest in this language.
pub fn program(choices: &mut Choices<'_>, language: Language, ways: usize) -> String {
    let mut methods = String::new();
    for number in 1..=ways {
        methods += &asking(choices, language, number);
    }
    let asks: Vec<String> = (1..=ways).map(|number| format!("(ask{number}: guests)")).collect();
    let meet = format!(
        "  public meet: guests = (\n    | all = {{ {} }}. |\n    ^ (settled: all) whenResolved: [:x | balance ]\n  )\n",
        asks.join(". ")
    );
    [HEAD, &meet, &methods, TAIL].concat()
}

/// A method that asks the guest in one way, and looks at all that comes.
fn asking(choices: &mut Choices<'_>, language: Language, number: usize) -> String {
    let mut look = |name: &str| looks(choices, name);
    let (answer, error, heard, settled, broken, read, called) = (
        look("object"),
        look("object"),
        look("object"),
        look("object"),
        look("object"),
        look("object"),
        look("object"),
    );
    let buffer = choices.below(3);
    let question = match language {
        Language::Newspeak => format!(
            "way{number}: (Listener on: [:object | {heard} ]) with: pair resolver with: channel out\n      \
             with: [:object | {called} ] with: Pair"
        ),
        Language::Typed => {
            let size = choices.of(&[3, 100, 2000, 30_000, 1_000_000]);
            format!("call: 'way{number}' with: {{ {size}. channel out }} asValueArray")
        }
    };
    format!(
        "  ask{number}: guests = (
    | pair = actors createPromisePair. channel = processes Channel buffer: {buffer}. answer |
    pair promise whenResolved: [:object | {settled} ] onError: [:object | {broken} ].
    answer:: guests <-: {question}.
    ^ (answer whenResolved: [:object | {answer} ] onError: [:object | {error} ]) whenResolved: [:x |
        2 timesRepeat: [
          [ (processes Alternative new when: channel in read: [:object | {read} ]; skip: [ ]) select ]
            on: Exception do: [:object | {read} ] ] ] onError: [:x | nil ]
  )
"
    )
}

/// What is done with an object: messages of all kinds, each alone.
fn looks(choices: &mut Choices<'_>, name: &str) -> String {
    let count = 1 + choices.below(5);
    let looks = (0..count).map(|_| {
        let look = choices.of(&LOOKS).replace("it", name);
        format!("[ {look} ] on: Exception do: [:e | {} ]. ", choices.of(&HANDLERS))
    });
    let looks: String = looks.collect();
    looks + "nil"
}

/// What a handler does with the exception `e`, which may be the guest's.
const HANDLERS: [&str; 6] = [
    "e asString",
    "e messageText",
    "nil",
    "e message",
    "e stackTrace",
    "[ e pass ] on: Exception do: [:f | f asString ]",
];

/// Expressions with the object `it`. No other word of them contains these letters.
const LOOKS: [&str; 62] = [
    "it asString",
    "it println",
    "'' + it",
    "it hashcode",
    "it = 1",
    "1 = it",
    "it == 1",
    "it = it",
    "it + 1",
    "1 + it",
    "1.5 * it",
    "it < 1",
    "1 < it",
    "'a' = it",
    "'a' < it",
    "it size",
    "it do: [:each | each asString. each println ]",
    "it at: 1",
    "(it at: 1) asString",
    "({ 1. 2 } at: it)",
    "it value",
    "it value: 1",
    "it numArgs",
    "({ 1. 2 } do: it)",
    "([ true ] ensure: it)",
    "(1 to: it do: [:i | i > 9 ifTrue: [ Exception new signal ] ])",
    "it new",
    "(it on: 1) println",
    "it className",
    "it name println",
    "it content println",
    "it x println",
    "it messageText println",
    "it signal",
    "(collections Dictionary new) at: it put: 1",
    "({ it. it. 1 } asString)",
    "({ it. 1 } indexOf: it)",
    "({ it } = { it })",
    "(Pair of: it) asString",
    "((Pair of: it) = (Pair of: it))",
    "it <-: run",
    "(it <-: content) whenResolved: [:a | a println ] onError: [:b | b println ]",
    "(it whenResolved: [:a | a println ] onError: [:b | b println ])",
    "[ it read println ] on: Exception do: [:e | e println ]",
    "it copy",
    "it isNil ifTrue: [ nil ]",
    "it ifTrue: [ 1 ] ifFalse: [ 2 ]",
    "it asSymbol",
    "(Keeper on: it) Child println",
    "(Keeper on: it) Child new println",
    "(Keeper on: it) Child new asString",
    "(Keeper on: it) Mixed new asString",
    "(actors after: 1 do: it)",
    "(actors after: 1 do: [ it println ])",
    "(threading Thread spawn: it)",
    "(threading Thread spawn: [ it println ])",
    "(processes Alternative new when: it read: [:e | e println ]; skip: [ ]) select",
    "({ 3. 1. 2 } sorted: it)",
    "(collections Set new) add: it",
    "(it ensure: it)",
    "(it on: Exception do: it)",
    "[ it println ] on: it do: it",
];

const HEAD: &str = "\
class Host usingPlatform: platform = Value (
| private actors = platform actors.
  private processes = platform processes.
  private collections = platform collections.
  private threading = platform threading.
  private Exception = platform kernel Exception.
  private balance = 100. |
)(
  class Clock new = ()( public tick = ( ^ 7 ) )
  class Pair of: it = Value (| public x = it. |)(
    public asString = ( ^ 'Pair(' + x + ')' )
    public = other = ( ^ x = other x )
    public hashcode = ( ^ x hashcode )
  )
  class Keeper on: it = Value (| public x = it. |)(
    public class Child new = x ()( public own = ( ^ 1 ) )
    public class Mixed new = Object <: x ()( public own = ( ^ 1 ) )
  )
  class Listener on: block = (
  | private block = block.
    private paid ::= 0. |
  )(
    public hear: object = ( block value: object. ^ object )
    public hear: object and: other = ( block value: object. block value: other. ^ other )
    private pay: sum = ( paid:: paid + sum )
  )

  (* The first event has arrived and been read; a guest's channel with nothing in it would stop the host. *)
  public tick = ( ^ 7 )

  (* An actor that is asked in the host's place, if the host looks at large data, which takes its time. *)
  public clock = ( ^ (actors createActorFromValue: Clock) <-: new )

  (* The writing end of a channel that nobody reads. *)
  public ending = ( ^ (processes Channel buffer: 1) out )
";

const TAIL: &str = "
  (* Resolved when all are resolved or broken. *)
  settled: promises = (
    | pair = actors createPromisePair. left ::= promises size. done |
    done:: [ left:: left - 1. left = 0 ifTrue: [ pair resolve: nil ] ].
    promises do: [:each | each whenResolved: [:x | done value. nil ] onError: [:x | done value. nil ] ].
    ^ pair promise
  )
)
";
