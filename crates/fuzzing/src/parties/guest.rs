//! The guest's program: classes whose code prints the canary, and methods that hand out objects. `parties` calls this
//! module.
//!
//! A method `wayN:with:with:with:with:` gets a listener, a resolver, the writing end of a channel, a block and a class
//! of the host, and tries some things with them.

use crate::choices::Choices;

/// The program's text.
pub fn program(choices: &mut Choices<'_>, ways: usize) -> String {
    let classes: String = KINDS.iter().map(|declaration| class(choices, declaration)).collect();
    let methods: String = (1..=ways).map(|number| way(choices, number)).collect();
    [HEAD, &classes, MIDDLE, &methods, ")\n"].concat()
}

/// One class of each kind: what its declaration says behind `class` and before its members.
const KINDS: [&str; 8] = [
    "Evil on: it = Value (| public content = it. |)",
    "Free on: it = Object (| public content ::= it. |)",
    "Parcel on: it = TransferObject (| public content = it. |)",
    "Mistake on: it = Exception (| public content = it. |)",
    "Row new: size withAll: it = ValueArray new: size withAll: it ()",
    "Mix = ()",
    "Mixed new: size withAll: it = ValueArray new: size withAll: it <: Mix ()",
    "MixedEvil on: it = Evil on: it <: Mix ()",
];

/// Messages that a host or the library may send to any object, with their arguments.
const MESSAGES: &[&str] = &[
    "asString",
    "println",
    "printString",
    "hashcode",
    "= other",
    "+ other",
    "- other",
    "* other",
    "< other",
    "> other",
    ", other",
    "size",
    "length",
    "isEmpty",
    "do: block",
    "at: index",
    "at: index put: object",
    "value",
    "value: object",
    "cull: object",
    "numArgs",
    "asInteger",
    "asSymbol",
    "asArray",
    "name",
    "className",
    "messageText",
    "signal",
    "signal: text",
    "copy",
    "isNil",
    "notNil",
    "isError",
    "ifTrue: block",
    "and: block",
    "whileTrue: block",
    "new",
    "whenResolved: block",
    "when: end read: block",
    "write: object",
    "read",
    "resolve: object",
    "run",
    "doesNotUnderstand: selector arguments: arguments",
];

/// A class of a kind, with some messages of its instances and of itself.
fn class(choices: &mut Choices<'_>, declaration: &str) -> String {
    let (instance, own) = (members(choices), members(choices));
    format!("  public class {declaration} (\n{instance}  ) : (\n{own}  )\n")
}

fn members(choices: &mut Choices<'_>) -> String {
    let mut members = String::new();
    for message in MESSAGES {
        // The first choice is to have the method: a fuzzer that has used up its bytes makes the most hostile classes.
        if choices.below(4) < 3 {
            let body = choices.of(&BODIES);
            members += &format!("    public {message} = ( {body} )\n");
        }
    }
    members
}

/// What the methods of the guest's classes do. `shout` belongs to the module.
const BODIES: [&str; 5] =
    ["^ shout", "shout. ^ 1", "shout. ^ true", "shout. ^ self", "shout. [ true ] whileTrue: [ ]"];

/// A method that hands out objects.
fn way(choices: &mut Choices<'_>, number: usize) -> String {
    let statements: String = (0..choices.below(3)).map(|_| statement(choices)).collect();
    let end = match choices.below(8) {
        0..=4 => format!("^ {}", object(choices, 3)),
        5 => format!("(Mistake on: {}) signal", object(choices, 2)),
        6 => format!("(Mistake on: {}) signal: (text: {})", object(choices, 2), object(choices, 1)),
        _ => statement(choices),
    };
    format!(
        "  public way{number}: listener with: resolver with: out with: block with: pair = (\n    {statements}{end}\n  )\n"
    )
}

/// Something that a guest does with what the host gave it.
fn statement(choices: &mut Choices<'_>) -> String {
    let mut object = |depth| object(choices, depth);
    let (one, other) = (object(3), object(1));
    match choices.below(32) {
        0 => format!("listener <-: hear: {one}. "),
        1 => format!("listener <-: hear: {one} and: {other}. "),
        2 => format!("resolver resolve: {one}. "),
        3 => format!("resolver error: {one}. "),
        4 => format!("(caught: [ out write: {one} ]). "),
        5 => format!("block <-: value: {one}. "),
        6 => format!("(self <-: fail: {one}). "),
        7 => format!("(listener <-: hear: {one}) whenResolved: [:x | x <-: asString ]. "),
        8 => format!("(Threading Thread spawn: [ (Mistake on: {one}) signal ]). "),
        9 => format!(
            "(caught: [ (Processes Alternative new when: out write: {one} do: [ ]; skip: [ ]) select ]). "
        ),
        10 => format!(
            "(caught: [ (Transactions Transaction atomic: [ listener <-: hear: {one} ]) ]). "
        ),
        11 => format!("[ listener <-: hear: {one} ] ensure: [ resolver resolve: {other} ]. "),
        12 => format!("((self <-: identity: {one}) whenResolved: [:x | listener <-: hear: x ]). "),
        13 => format!("(later: [ resolver resolve: {one} ]). "),
        // Greed.
        14 => "[ true ] whileTrue: [ ]. ".to_owned(),
        15 => format!("50 timesRepeat: [ listener <-: hear: {one} ]. "),
        16 => format!("1000 timesRepeat: [ listener <-: hear: (row: {other}) ]. "),
        17 => "(self deep: 1). ".to_owned(),
        18 => "200 timesRepeat: [ Threading Thread spawn: [ Processes Channel new in read ] ]. "
            .to_owned(),
        19 => "(grow: 1). ".to_owned(),
        20 => "1000 timesRepeat: [ self <-: identity: 'text' ]. ".to_owned(),
        21 => format!("(caught: [ listener <-: hear: (large: {one}) ]). "),
        22 => format!(
            "(caught: [ listener <-: hear: (kernel ValueArray new: 50000 withAll: {one}) ]). "
        ),
        23 => "(every: 300 do: [ Actors after: 100000 do: [ ] ]). ".to_owned(),
        24 => format!("(every: 100 do: [ Actors after: 1 do: [ listener <-: hear: {one} ] ]). "),
        25 => format!("(wakes: {one}). "),
        26 => "(chooses: 200). ".to_owned(),
        // Promises that nobody has settled yet.
        27 => format!("resolver resolve: (pending: {one}). "),
        28 => format!("listener <-: hear: (pending: {one}) and: (unsettled: {other}). "),
        29 => format!("(unsettled: {one}) whenResolved: [:x | listener <-: hear: x ]. "),
        30 => format!("((pending: listener) <-: hear: {one}). "),
        _ => format!("(caught: [ listener hear: {one} ]). "),
    }
}

/// An expression for an object.
fn object(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth == 0 {
        return choices.of(&LEAVES).to_owned();
    }
    let inner = object(choices, depth - 1);
    match choices.below(36) {
        // What a value may not contain is an exception, which is an object as well.
        0..=2 => format!("(caught: [ Evil on: {inner} ])"),
        3 => format!("(Free on: {inner})"),
        4 => format!("(Parcel on: {inner})"),
        5 => format!("(Mistake on: {inner})"),
        6 => format!("(caught: [ Row new: 2 withAll: [:i | {inner} ] ])"),
        7 => format!("(caught: [ Mixed new: 2 withAll: [:i | {inner} ] ])"),
        8 => format!("(caught: [ MixedEvil on: {inner} ])"),
        9 => format!("(caught: [ kernel ValueArray new: 2 withAll: [:i | {inner} ] ])"),
        10 => format!("(caught: [ kernel ValueArray new: 2 withAll: {inner} ])"),
        11 => format!("(row: {inner})"),
        12 => format!("(resolved: {inner})"),
        13 => format!("(broken: {inner})"),
        14 => format!("(filled: {inner}) in"),
        15 => format!("(filled: {inner}) out"),
        16 => format!("(filled: {inner})"),
        17 => format!("(caught: [ (Mistake on: {inner}) signal ])"),
        18 => format!("(caught: [ {inner} foo ])"),
        19 => {
            format!("(caught: [ (kernel IndexOutOfBounds target: {inner} index: {inner}) signal ])")
        }
        20 => format!("(caught: [ pair of: {inner} ])"),
        21 => format!("(caught: [ (Sub on: pair) Child of: {inner} ])"),
        22 => format!("{{ {inner}. {inner} }}"),
        23 => format!("[ shout. {inner} ]"),
        24 => format!("[:x | shout. {inner} ]"),
        25 => format!("(Threading Thread spawn: [ {inner} ])"),
        26 => format!("(self <-: identity: {inner})"),
        27 => format!("(vector: {inner})"),
        28 => format!("(dictionary: {inner})"),
        29 => format!("(nest: {inner}) Inner"),
        30 => format!("(caught: [ (nest: {inner}) Inner new ])"),
        31 => format!("(nest: {inner})"),
        32 => format!("(caught: [ (nest: {inner}) Heir ])"),
        33 => format!("(pending: {inner})"),
        34 => format!("(unsettled: {inner})"),
        _ => inner,
    }
}

/// Objects without parts.
const LEAVES: [&str; 26] = [
    "(Evil on: 1)",
    "Evil",
    "self",
    "[ shout ]",
    "(Row new: 2 withAll: [:i | i ])",
    "(Parcel on: (Evil on: 2))",
    "(Mistake on: 3)",
    "Mix",
    "Parcel",
    "Row",
    "Mistake",
    "(Sub on: pair)",
    "(Sub on: pair) Child",
    "pair",
    "(Actors createActorFromValue: Evil)",
    "Actors createPromisePair resolver",
    "Actors createPromisePair promise",
    "Actors",
    "kernel",
    "listener",
    "resolver",
    "out",
    "(1 << 2000)",
    "'text'",
    "#symbol",
    "nil",
];

const HEAD: &str = "\
class Guest new = Value (
| private Actors = kernel module: #Actors.
  private Processes = kernel module: #Processes.
  private Threading = kernel module: #Threading.
  private Transactions = kernel module: #Transactions.
  private Collections = kernel module: #Collections.
  private Exception = kernel Exception.
  private ValueArray = kernel ValueArray.
  private TransferObject = kernel TransferObject. |
)(
  public class Sub on: pair = Value (
  | private pair = pair. |
  )(
    public class Child of: x = pair of: x ()(
      public asString = ( ^ shout )
      public println = ( ^ shout )
      public = other = ( ^ shout )
      public x = ( ^ shout )
    )
  )
  (* Its classes are made when somebody first needs them. *)
  public class Nest on: it = Object (| public content ::= it. |)(
    public class Inner new = ()(
      public asString = ( ^ shout )
      public println = ( ^ shout )
      public content = ( shout. ^ content )
      public run = ( ^ shout )
    )
    public class Heir = content ()( public asString = ( ^ shout ) )
  )
";

const MIDDLE: &str = "
  shout = ( ('canary-of' + '-the-guest') println. ^ 'canary-of' + '-the-guest' )
  caught: block = ( ^ block on: Exception do: [:error | error ] )
  text: object = ( ^ caught: [ 'a text of ' + object ] )
  row: object = ( | array = kernel TransferArray new: 200. | array at: 1 put: object. ^ array )
  resolved: object = ( | pair = Actors createPromisePair. | pair resolve: object. ^ pair promise )
  broken: object = ( | pair = Actors createPromisePair. | pair error: object. ^ pair promise )
  filled: object = (
    | channel = Processes Channel buffer: 3. |
    channel out write: object.
    channel out write: 5.
    ^ channel
  )
  vector: object = ( | vector = kernel Vector new. | vector append: object. ^ vector )
  dictionary: object = ( | all = Collections Dictionary new. | all at: 1 put: object. ^ all )
  large: object = ( | array = kernel TransferArray new: 5000. | 1 to: 5000 do: [:i | array at: i put: (row: object) ]. ^ array )
  nest: object = ( ^ Nest on: object )
  every: times do: block = ( times timesRepeat: block )
  wakes: object = (
    | channel = Processes Channel new. |
    40 timesRepeat: [ Threading Thread spawn: [ caught: [ channel in read ] ] ].
    (Threading Thread spawn: [ channel out write: object. channel out poison ])
  )
  chooses: count = (
    | choice = Processes Alternative new. |
    count timesRepeat: [ choice when: Processes Channel new in read: [:x | shout ] ].
    (caught: [ (choice after: 1 do: [ ]; skip: [ ]) select ])
  )
  pending: object = ( | pair = Actors createPromisePair. | Actors after: 3 do: [ pair resolve: object ]. ^ pair promise )
  unsettled: object = ( | pair = Actors createPromisePair. | pair promise whenResolved: [:x | object ]. ^ pair promise )
  later: block = ( ^ Actors after: 5 do: block )
  deep: number = ( ^ (self deep: number + 1) + 1 )
  grow: number = ( | all = kernel Vector new. | [ true ] whileTrue: [ all append: (kernel Array new: 1000) ] )
  public fail: object = ( (Mistake on: object) signal )
  public identity: object = ( ^ object )
";
