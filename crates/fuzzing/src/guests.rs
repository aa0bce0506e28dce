//! Generated programs in Newspeak: all tiers must print the same for them. The integration tests of the tiers run them,
//! and the tests of the layout format them.
//!
//! A program has three classes with the same selectors, two of them related. Their methods compute with small, large and
//! floating numbers, in variables, slots and array elements; in loops of all kinds, and in closures that are evaluated
//! inline, passed on, or kept; they return out of closures, signal, handle, and clean up. `run:` calls the methods often
//! enough to have them optimised, and `main:` prints a digest of all answers in between. A [host](HOST) runs the same in a
//! sandbox, and prints the fuel that it took, too.
//!
//! Each program ends: a method calls methods of greater numbers only, and each call, each
//! closure and most turns of loops spend one of a few hundred coins; without coins, they signal.

mod statements;

use crate::choices::Choices;

/// How many methods of each kind a class has.
const METHODS: usize = 6;

/// How deeply the statements of a method nest.
const DEPTH: usize = 4;

/// The text of a program.
pub fn program(choices: &mut Choices<'_>) -> String {
    let mut writer = Writer { choices, names: 0 };
    let classes = [("K0", "Base"), ("K1", "K0"), ("K2", "Base")];
    let classes = classes.map(|(name, superclass)| writer.class(name, superclass));
    let parts = writer.choices.of(&[2, 6, 15]);
    [HEAD, &classes.concat(), &TAIL.replace("{parts}", &parts.to_string())].concat()
}

/// A program that runs the generated program in its first argument as a guest of a sandbox.
pub const HOST: &str = "\
class Host usingPlatform: platform = Value (
| private platform = platform. |
)(
  public main: args = (
    | box guest |
    box:: platform sandboxes named: 'guest' fuel: 1000000000000 heap: nil strands: nil messages: nil.
    guest:: (box loadModule: (args at: 2)) <-: usingPlatform: platform.
    ^ (guest <-: parts) whenResolved: [:parts |
        platform actors async: 1 to: parts do: [:part |
          (guest <-: run: part) whenResolved: [:digest |
            (part asString + ' ' + digest + ', ' + box fuelUsed) println ] ] ]
  )
)
";

/// Writes parts of a program.
struct Writer<'c, 'b> {
    choices: &'c mut Choices<'b>,
    /// How many variables have been named.
    names: usize,
}

/// What a part of a program may mention.
#[derive(Clone)]
struct Scope {
    /// Variables that hold numbers.
    numbers: Vec<String>,
    /// Those of them that may be assigned.
    assigned: Vec<String>,
    /// Those of them that count the turns of a loop.
    counters: Vec<String>,
    /// The variable that holds a closure, and whether it may be assigned.
    block: (&'static str, bool),
    /// The number of the method.
    method: usize,
    /// Whether a return would leave from a closure.
    is_in_closure: bool,
}

impl Scope {
    fn with(&self, number: &str) -> Scope {
        let mut scope = Scope { is_in_closure: true, ..self.clone() };
        scope.numbers.push(number.to_owned());
        scope
    }

    fn counting(&self, counter: &str) -> Scope {
        let mut scope = self.with(counter);
        scope.counters.push(counter.to_owned());
        scope
    }
}

impl Writer<'_, '_> {
    fn class(&mut self, name: &str, superclass: &str) -> String {
        let is_root = superclass == "Base";
        let mut members = String::new();
        for number in 0..METHODS {
            if is_root || self.choices.one_in(2) {
                members += &self.method(number);
                members += &self.method_with_block(number);
            }
        }
        let slots = match is_root {
            true => {
                let [a, b, element] = [0; 3].map(|_| self.choices.of(&["0", "1", "0.5"]));
                format!(
                    "| public a ::= {a}. public b ::= {b}. public arr = Array new: 4 withAll: {element}. |"
                )
            }
            false => String::new(),
        };
        format!("  class {name} = {superclass} ({slots})(\n{members}  )\n")
    }

    fn method(&mut self, number: usize) -> String {
        let scope = Scope {
            numbers: ["p", "q", "x", "y"].map(str::to_owned).into(),
            assigned: ["x", "y"].map(str::to_owned).into(),
            counters: Vec::new(),
            block: ("f", true),
            method: number,
            is_in_closure: false,
        };
        let first = self.choices.of(&["0", "p", "0.5", "a"]);
        let block = self.block(&scope, 1);
        let statements = self.statements(&scope, DEPTH);
        let answer = self.expression(&scope, 2);
        format!(
            "    public m{number}: p with: q = ( | x y f | spend. x:: {first}. y:: q. f:: {block}. \
             {statements}. ^ {answer} )\n"
        )
    }

    fn method_with_block(&mut self, number: usize) -> String {
        let scope = Scope {
            numbers: ["p", "x"].map(str::to_owned).into(),
            assigned: vec!["x".to_owned()],
            counters: Vec::new(),
            block: ("block", false),
            method: number,
            is_in_closure: false,
        };
        let statements = self.statements(&scope, DEPTH - 1);
        let answer = self.expression(&scope, 2);
        format!(
            "    public b{number}: p do: block = ( | x | spend. x:: p. {statements}. ^ {answer} )\n"
        )
    }

    fn fresh(&mut self, first: char) -> String {
        self.names += 1;
        format!("{first}{}", self.names)
    }
}

const HEAD: &str = "\
class Generated usingPlatform: platform = (
| private Array = platform kernel Array.
  private Exception = platform kernel Exception.
  private ZeroDivide = platform kernel ZeroDivide.
  public coins ::= 0.
  public digest ::= 7. |
)(
  class Spent = Exception ()()
  class Base = (
  | public other ::= nil. |
  )()
";

const TAIL: &str = "
  spend = ( coins:: coins - 1. coins < 0 ifTrue: [ Spent new signal ] )

  private log: object = (
    | text = object asString. |
    1 to: (text length min: 40) do: [:i |
      digest:: digest * 31 + ('0123456789.-+EINZ' indexOf: (text charAt: i)) % 1000003 ]
  )

  private log: block try: number = (
    coins:: 300.
    log: ([ block value: number ] on: Exception do: [:error | error ])
  )

  private drive: class round: round = (
    | object = class new. |
    object other: K1 new.
    object other other: object.
    1 to: 4 do: [:i |
      log: [:n | object m0: n with: i ] try: round.
      log: [:n | object m2: n with: round ] try: i + 0.5.
      log: [:n | object b1: n do: [:z | i = 2 ifTrue: [ ^ z ]. z ] ] try: i ].
    log: object a.
    log: object b.
    log: object arr
  )

  public parts = ( ^ {parts} )

  public run: part = (
    part * 20 - 19 to: part * 20 do: [:round |
      drive: K0 round: round.
      drive: K1 round: round.
      drive: K2 round: round ].
    ^ digest
  )

  public main: args = (
    1 to: parts do: [:part | (part asString + ' ' + (run: part)) println ].
    ^ 0
  )
)
";
