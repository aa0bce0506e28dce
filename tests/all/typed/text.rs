//! Programs as assembly: a module with a function for each, and a `main:` that prints what they answer.

use std::fmt::Write;

use super::program::{EACH, KINDS, Kind, Register, Step};

/// The class around the programs, up to the body of `main:`.
const HEAD: &str = include_str!("head.sqasm");

/// What mixes all registers into one number.
const TAIL: &str = include_str!("tail.sqasm");

/// A module of programs.
pub fn module(programs: &[Vec<Step>]) -> String {
    let mut text = String::from(HEAD);
    for number in 0..programs.len() {
        let _ = writeln!(
            text,
            "    catch r2 into r4 from start{number} to end{number} handler caught{number}"
        );
    }
    text += "    send0 r2, r0, r9, lexical \"kernel\"\n    send0 r2, r2, r9, \"Exception\"\n";
    for number in 0..programs.len() {
        let _ = write!(
            text,
            "start{number}:\n    call r3, r9, 0, $program{number}\nend{number}:\n    box r4, r3\n    \
             jump next{number}\ncaught{number}:\n    load_constant r4, \"fault\"\nnext{number}:\n    \
             send0 r4, r4, r9, \"println\"\n"
        );
    }
    text += "    load_integer r2, 0\n    return r2\n}\n";
    for (number, program) in programs.iter().enumerate() {
        text += &function(number, program);
    }
    text + TAIL
}

/// Registers for loops and the like, behind the program's.
const SCRATCH: usize = KINDS.len() * EACH;

fn name((kind, index): Register) -> String {
    let row = KINDS.iter().position(|(other, _)| *other == kind).expect("every kind has a row");
    format!("r{}", row * EACH + index)
}

fn function(number: usize, program: &[Step]) -> String {
    let mut text = format!("\nfunction $program{number} \"program\" (0) -> i64 {{\n    registers ");
    for (_, kind) in KINDS {
        let _ = write!(text, "{kind}*{EACH}, ");
    }
    // Counters of loops, one, a condition, the parts of a tuple, the hash, and a window.
    text += "i64*4, bool, i64, f64, u8, i64, any, i64*2, any, list<i64>, i64, any, list<u8>, i64, any, map<i64, f64>, i64, any, list<list<i64>>, i64\n";
    let mut writer = Writer { text, labels: 0 };
    writer.initialise();
    writer.steps(program, 0);
    writer.finish();
    writer.text
}

struct Writer {
    text: String,
    labels: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text += "    ";
        self.text += line;
        self.text += "\n";
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    fn initialise(&mut self) {
        for (kind, text) in KINDS {
            for index in 0..EACH {
                let register = name((kind, index));
                match kind {
                    Kind::Integer(..) | Kind::Bool | Kind::Real => {
                        self.line(&format!("load_raw {register}, {text} 0x0"));
                    }
                    Kind::Triple => self.tuple(
                        &register,
                        [Kind::Integer(true, 64), Kind::Real, Kind::Integer(false, 8)]
                            .map(|kind| name((kind, 0))),
                    ),
                    _ => self.line(&format!("empty {register}")),
                }
            }
        }
        self.line(&format!("load_raw r{}, i64 1", SCRATCH + 3));
    }

    fn tuple(&mut self, destination: &str, parts: [String; 3]) {
        for (index, part) in parts.iter().enumerate() {
            self.line(&format!("move r{}, {part}", SCRATCH + 5 + index));
        }
        self.line(&format!("make_tuple {destination}, r{}, 3", SCRATCH + 5));
    }

    fn steps(&mut self, steps: &[Step], depth: usize) {
        steps.iter().for_each(|step| self.step(step, depth));
    }

    fn step(&mut self, step: &Step, depth: usize) {
        match step {
            Step::Constant(register, bits) => {
                let kind =
                    KINDS.iter().find(|(kind, _)| *kind == register.0).map_or("", |row| row.1);
                self.line(&format!("load_raw {}, {kind} {bits:#x}", name(*register)));
            }
            Step::Arithmetic(mnemonic, destination, operands) => {
                let operands: Vec<String> = operands.iter().map(|operand| name(*operand)).collect();
                self.line(&format!("{mnemonic} {}, {}", name(*destination), operands.join(", ")));
            }
            Step::Compare(mnemonic, destination, [left, right]) => {
                let (left, right) = (name(*left), name(*right));
                self.line(&format!("{mnemonic} {}, {left}, {right}", name(*destination)));
            }
            Step::Convert(to, from) => {
                self.line(&format!("convert {}, {}", name(*to), name(*from)));
            }
            Step::Move(to, from) => self.line(&format!("move {}, {}", name(*to), name(*from))),
            Step::Container(mnemonic, operands) => {
                let operands: Vec<String> = operands.iter().map(|operand| name(*operand)).collect();
                self.line(&format!("{mnemonic} {}", operands.join(", ")));
            }
            Step::ConvertExact(to, from, otherwise) => {
                self.or_else("convert_exact", &[*to, *from], otherwise, depth);
            }
            Step::MapGet(operands, otherwise) => {
                self.or_else("map_get", operands, otherwise, depth);
            }
            Step::Tuple(tuple, parts) => self.tuple(&name(*tuple), parts.map(name)),
            Step::Element(mnemonic, first, second, index) => {
                self.line(&format!("{mnemonic} {}, {}, {index}", name(*first), name(*second)));
            }
            Step::If(condition, then, otherwise) => self.branch(*condition, then, otherwise, depth),
            Step::Repeat(turns, steps) => self.repeat(*turns, steps, depth),
        }
    }

    /// An instruction that may go elsewhere, where its destination has no value: it gets one there.
    fn or_else(&mut self, mnemonic: &str, operands: &[Register], steps: &[Step], depth: usize) {
        let (otherwise, end) = (self.label(), self.label());
        let destination = operands[0];
        let all: Vec<String> = operands.iter().map(|operand| name(*operand)).collect();
        self.line(&format!("{mnemonic} {}, {otherwise}", all.join(", ")));
        self.line(&format!("jump {end}"));
        self.text += &format!("{otherwise}:\n");
        self.step(&Step::Constant(destination, 0), depth);
        self.steps(steps, depth + 1);
        self.text += &format!("{end}:\n");
    }

    fn branch(&mut self, condition: Register, then: &[Step], otherwise: &[Step], depth: usize) {
        let (other, end) = (self.label(), self.label());
        self.line(&format!("jump_unless {}, {other}", name(condition)));
        self.steps(then, depth + 1);
        self.line(&format!("jump {end}"));
        self.text += &format!("{other}:\n");
        self.steps(otherwise, depth + 1);
        self.text += &format!("{end}:\n");
    }

    fn repeat(&mut self, turns: u64, steps: &[Step], depth: usize) {
        let again = self.label();
        let (counter, one, condition) = (format!("r{}", SCRATCH + depth), SCRATCH + 3, SCRATCH + 4);
        self.line(&format!("load_raw {counter}, i64 {turns}"));
        self.text += &format!("{again}:\n");
        self.steps(steps, depth + 1);
        self.line(&format!("sub {counter}, {counter}, r{one}"));
        self.line(&format!("load_raw r{}, i64 0", SCRATCH + 8));
        self.line(&format!("lt r{condition}, r{}, {counter}", SCRATCH + 8));
        self.line(&format!("loop_if r{condition}, {again}"));
    }

    /// Answers all registers, mixed into one number by the functions at the module's end.
    fn finish(&mut self) {
        let hash = SCRATCH + 8;
        self.line(&format!("load_raw r{hash}, i64 17"));
        for (kind, _) in KINDS {
            for index in 0..EACH {
                self.mix(hash, kind, &name((kind, index)));
            }
        }
        self.line(&format!("return r{hash}\n}}"));
    }

    fn mix(&mut self, hash: usize, kind: Kind, register: &str) {
        let (window, value) = (SCRATCH + 10, SCRATCH + 11);
        match kind {
            Kind::Integer(..) | Kind::Real => {
                self.line(&format!("convert r{value}, {register}"));
                self.line(&format!("move r{window}, r{hash}"));
                self.line(&format!("call r{hash}, r{window}, 2, $mix"));
            }
            Kind::Bool => {
                let (no, end) = (self.label(), self.label());
                self.line(&format!("jump_unless {register}, {no}"));
                self.line(&format!("load_raw r{value}, i64 1"));
                self.line(&format!("jump {end}"));
                self.text += &format!("{no}:\n");
                self.line(&format!("load_raw r{value}, i64 0"));
                self.text += &format!("{end}:\n");
                self.line(&format!("move r{window}, r{hash}"));
                self.line(&format!("call r{hash}, r{window}, 2, $mix"));
            }
            Kind::Triple => {
                for (part, scratch) in [(0, 5), (1, 6), (2, 7)] {
                    let scratch = SCRATCH + scratch;
                    self.line(&format!("tuple_get r{scratch}, {register}, {part}"));
                    self.mix(hash, Kind::Real, &format!("r{scratch}"));
                }
            }
            Kind::Numbers => self.mix_by("$mixNumbers", hash, register),
            Kind::Bytes => self.mix_by("$mixBytes", hash, register),
            Kind::Table => self.mix_by("$mixTable", hash, register),
            Kind::Lists => self.mix_by("$mixLists", hash, register),
        }
    }

    /// The same for a container, in a window of its own.
    fn mix_by(&mut self, function: &str, hash: usize, register: &str) {
        let number = ["$mixNumbers", "$mixBytes", "$mixTable", "$mixLists"]
            .iter()
            .position(|known| *known == function)
            .unwrap_or(0);
        let window = SCRATCH + 13 + 3 * number;
        self.line(&format!("move r{window}, {register}"));
        self.line(&format!("move r{}, r{hash}", window + 1));
        self.line(&format!("call r{hash}, r{window}, 2, {function}"));
    }
}
