//! Writes programs as assembly: a module of several programs, each exported, and optionally a class whose `main:`
//! prints their answers. The fuzz target `programs` and the tests of this crate run these modules.

mod work;

use std::fmt::Write;

use super::values::not_a_number;
use super::{EACH, Fault, I64, Program, Register, Step, Type};

/// The class around the programs, up to the body of `main:`.
const HEAD: &str = include_str!("head.sqasm");

/// Processes and functions that programs use.
const PROCESSES: &str = include_str!("processes.sqasm");

/// The type of helpers.
const HELPER: &str = "function(i64, i64) -> i64";

/// The arguments that the program with this number gets.
pub fn arguments(number: usize) -> [i64; 2] {
    [number as i64 * 7 - 3, i64::MIN + number as i64]
}

/// A module that exports each program under its number.
pub fn module(programs: &[Program]) -> String {
    let mut text = String::from("module \"programs\" \"1.0.0\"\n");
    for number in 0..programs.len() {
        let _ = writeln!(text, "export \"{number}\" $p{number}");
    }
    text + PROCESSES + &functions(programs)
}

/// A module that `squall run` can run: it prints what each program answers, or `fault`.
pub fn printing_module(programs: &[Program]) -> String {
    let mut text = String::from(HEAD);
    for number in 0..programs.len() {
        let _ = writeln!(
            text,
            "    catch r2 into r4 from start{number} to end{number} handler caught{number}"
        );
    }
    text += "    send0 r2, r0, r9, lexical \"kernel\"\n    send0 r2, r2, r9, \"Exception\"\n";
    for number in 0..programs.len() {
        let [first, second] = arguments(number);
        let _ = write!(
            text,
            "start{number}:\n    load_raw r10, i64 {first}\n    load_raw r11, i64 {second}\n    \
             call r3, r10, 2, $p{number}\nend{number}:\n    box r4, r3\n    jump next{number}\n\
             caught{number}:\n    load_constant r4, \"fault\"\nnext{number}:\n    \
             send0 r4, r4, r9, \"println\"\n"
        );
    }
    text += "    load_integer r2, 0\n    return r2\n}\n";
    text + PROCESSES + &functions(programs)
}

fn functions(programs: &[Program]) -> String {
    let mut text = String::new();
    let mut types: Vec<Type> = Vec::new();
    for program in programs {
        types.extend(
            program.types.iter().filter(|kind| !types.contains(kind)).cloned().collect::<Vec<_>>(),
        );
    }
    for (number, program) in programs.iter().enumerate() {
        for (index, helper) in program.helpers.iter().enumerate() {
            text += &function(&types, program, number, &format!("$p{number}h{index}"), helper);
        }
        text += &function(&types, program, number, &format!("$p{number}"), &program.main);
    }
    types.iter().enumerate().for_each(|(index, kind)| text += &hash_function(&types, index, kind));
    text
}

/// A function that mixes a value of a type into a hash: `$hash7 (value, hash)`.
fn hash_function(types: &[Type], index: usize, kind: &Type) -> String {
    let name = kind.text();
    let number = |kind: &Type| types.iter().position(|other| other == kind).unwrap_or(0);
    let head = format!("\nfunction $hash{index} \"hash\" (2) -> i64 {{\n    registers {name}, ");
    let body = match kind {
        Type::Bool => "i64, any, i64*2\n    jump_unless r0, no\n    load_raw r4, i64 1\n    \
                       jump mix\nno:\n    load_raw r4, i64 0\nmix:\n    move r3, r1\n    \
                       call r1, r3, 2, $mix\n    return r1\n}\n"
            .to_owned(),
        Type::Integer(..) => "i64, any, i64*2\n    convert r4, r0\n    move r3, r1\n    \
                              call r1, r3, 2, $mix\n    return r1\n}\n"
            .to_owned(),
        Type::Float(_) => format!(
            "i64, any, i64*2, {name}\n    load_raw r5, {name} 1024.0\n    mul r5, r0, r5\n    \
             convert r4, r5\n    move r3, r1\n    call r1, r3, 2, $mix\n    return r1\n}}\n"
        ),
        Type::Tuple(parts) => {
            let mut types = String::from("i64");
            let mut code = String::new();
            for (index, part) in parts.iter().enumerate() {
                let window = 3 + 3 * index;
                let _ = write!(types, ", any, {}, i64", part.text());
                let _ = write!(
                    code,
                    "    tuple_get r{window}, r0, {index}\n    move r{}, r1\n    \
                     call r1, r{window}, 2, $hash{}\n",
                    window + 1,
                    number(part)
                );
            }
            format!("{types}\n{code}    return r1\n}}\n")
        }
        Type::List(element) => hash_loop(&[("list_get", element.text(), number(element))]),
        Type::Map(key, value) => hash_loop(&[
            ("map_key", key.text(), number(key)),
            ("map_value", value.text(), number(value)),
        ]),
    };
    head + &body
}

/// The registers and the code of a hash function that loops over a list or a map.
fn hash_loop(parts: &[(&str, String, usize)]) -> String {
    let mut types = String::from("i64*4, bool, any, i64*2");
    let mut code = String::from(
        "    load_raw r2, i64 0\n    load_raw r3, i64 1\n    length r4, r0\n    move r7, r1\n    \
         move r8, r4\n    call r1, r7, 2, $mix\n    jump test\nagain:\n",
    );
    for (index, (mnemonic, kind, number)) in parts.iter().enumerate() {
        let window = 10 + 3 * index;
        let _ = write!(types, ", any, {kind}, i64");
        let _ = write!(
            code,
            "    {mnemonic} r{window}, r0, r2\n    move r{}, r1\n    \
             call r1, r{window}, 2, $hash{number}\n",
            window + 1
        );
    }
    code +=
        "    add r2, r2, r3\ntest:\n    lt r5, r2, r4\n    loop_if r5, again\n    return r1\n}\n";
    format!("{types}\n{code}")
}

fn function(all: &[Type], program: &Program, number: usize, name: &str, steps: &[Step]) -> String {
    let mut writer = Writer::new(all, program, number);
    writer.initialise();
    writer.steps(steps, 0);
    writer.finish();
    let registers = writer.frame.types.join(", ");
    format!(
        "\nfunction {name} \"program\" (2) -> i64 {{\n    registers {registers}\n{}}}\n",
        writer.text
    )
}

/// The parts of a frame after the arguments: the program's registers, then auxiliary ones, then the windows of calls. A
/// call destroys the registers of its window.
struct Frame {
    types: Vec<String>,
    /// The window of the call at a branch's end, which destroys all registers but the program's.
    nothing: usize,
    exception: usize,
    object: usize,
    counters: usize,
    zero: usize,
    one: usize,
    conditions: usize,
    numbers: usize,
    channels: usize,
    readers: usize,
    writers: usize,
    channel_of_lists: usize,
    barrier: usize,
    bucket: usize,
    function: usize,
    process: usize,
    /// A register of each of the program's types.
    spare: usize,
    /// Runs of registers: the elements of a list or tuple, by the index of its type.
    runs: Vec<usize>,
    ranges: Ranges,
    call: usize,
    /// Windows for hashes, of three registers each.
    hashes: usize,
}

/// The most elements of `make_list`.
const LONGEST: usize = 4;

impl Frame {
    fn new(program: &Program) -> Frame {
        let mut room = Room { types: Vec::new(), size: 0 };
        room.add("i64", 2);
        let kinds: Vec<String> = program.types.iter().map(Type::text).collect();
        kinds.iter().for_each(|kind| _ = room.add(kind, EACH));
        let nothing = room.run(&["any", "any"]) + 1;
        let exception = room.add("any", 1);
        let object = room.add("any", 1);
        let counters = room.add("i64", 5);
        let zero = room.add("i64", 1);
        let one = room.add("i64", 1);
        let conditions = room.add("bool", 2);
        let numbers = room.add("i64", 7);
        let channels = room.add("channel<i64>", 2);
        let readers = room.add("reader<i64>", 2);
        let writers = room.add("writer<i64>", 2);
        let channel_of_lists = room.run(&["channel<list<i64>>", "reader<list<i64>>", "list<i64>"]);
        let barrier = room.add("barrier", 1);
        let bucket = room.add("bucket", 1);
        let function = room.add(HELPER, 1);
        let process = room.add(&format!("process(writer<i64>, {HELPER}, i64)"), 1);
        let spare = room.size;
        kinds.iter().for_each(|kind| _ = room.add(kind, 1));
        let runs = program.types.iter().map(|kind| room.elements(kind)).collect();
        let ranges = Ranges::new(&mut room);
        let call = room.run(&["any", "i64", "i64"]) + 1;
        let hashes = room.size + 1;
        kinds.iter().for_each(|kind| _ = room.run(&["any", kind, "i64"]));
        Frame {
            types: room.types,
            nothing,
            exception,
            object,
            counters,
            zero,
            one,
            conditions,
            numbers,
            channels,
            readers,
            writers,
            channel_of_lists,
            barrier,
            bucket,
            function,
            process,
            spare,
            runs,
            ranges,
            call,
            hashes,
        }
    }
}

/// The first registers of the values that processes start with.
#[derive(Clone, Copy)]
struct Ranges {
    source: usize,
    stage: usize,
    lists: usize,
    worker: usize,
    faller: usize,
    once: usize,
}

impl Ranges {
    fn new(room: &mut Room) -> Ranges {
        Ranges {
            source: room.run(&["writer<i64>", HELPER, "i64", "i64"]),
            stage: room.run(&["reader<i64>", "writer<i64>", HELPER, "i64"]),
            lists: room.run(&["writer<list<i64>>", "i64", "i64"]),
            worker: room.run(&["barrier", "writer<i64>", HELPER, "i64", "i64"]),
            faller: room.run(&["bucket", "writer<i64>", HELPER, "i64", "i64"]),
            once: room.run(&["writer<i64>", HELPER, "i64"]),
        }
    }
}

/// Registers as they are handed out.
struct Room {
    types: Vec<String>,
    size: usize,
}

impl Room {
    /// Adds `count` registers of a type; answers the first.
    fn add(&mut self, kind: &str, count: usize) -> usize {
        self.types.push(if count == 1 { kind.to_owned() } else { format!("{kind}*{count}") });
        self.size += count;
        self.size - count
    }

    /// A register of each of these types; answers the first.
    fn run(&mut self, kinds: &[&str]) -> usize {
        let first = self.size;
        kinds.iter().for_each(|kind| _ = self.add(kind, 1));
        first
    }

    /// The elements of a list, or the parts of a tuple, beside each other.
    fn elements(&mut self, kind: &Type) -> usize {
        match kind {
            Type::List(element) => self.add(&element.text(), LONGEST),
            Type::Tuple(parts) => {
                let first = self.size;
                parts.iter().for_each(|part| _ = self.add(&part.text(), 1));
                first
            }
            _ => 0,
        }
    }
}

struct Writer<'p> {
    all: &'p [Type],
    program: &'p Program,
    number: usize,
    frame: Frame,
    text: String,
    labels: usize,
}

impl Writer<'_> {
    fn new<'p>(all: &'p [Type], program: &'p Program, number: usize) -> Writer<'p> {
        let frame = Frame::new(program);
        Writer { all, program, number, frame, text: String::new(), labels: 0 }
    }

    fn line(&mut self, line: impl AsRef<str>) {
        self.text += "    ";
        self.text += line.as_ref();
        self.text += "\n";
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    fn bind(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    fn kind(&self, register: Register) -> Type {
        self.program.types[register.0].clone()
    }

    fn index_of(&self, kind: &Type) -> usize {
        self.program.types.iter().position(|other| other == kind).unwrap_or(0)
    }

    fn name_of_helper(&self, helper: usize) -> String {
        format!("$p{}h{helper}", self.number)
    }

    fn initialise(&mut self) {
        for index in 0..EACH {
            self.reset(index);
        }
        for index in 0..2 {
            self.line(format!("move {}, r{index}", name((I64, index))));
        }
        self.line(format!("load_raw r{}, i64 0", self.frame.zero));
        self.line(format!("load_raw r{}, i64 1", self.frame.one));
    }

    /// Gives the registers with this index of all types their initial values.
    fn reset(&mut self, index: usize) {
        for kind in 0..self.program.types.len() {
            self.empty(&name((kind, index)), kind);
        }
    }

    /// Gives a register the initial value of its type.
    fn empty(&mut self, register: &str, kind: usize) {
        match self.program.types[kind].clone() {
            Type::Tuple(parts) => {
                let run = self.frame.runs[kind];
                for (place, part) in parts.iter().enumerate() {
                    let part = self.index_of(part);
                    self.empty(&format!("r{}", run + place), part);
                }
                self.line(format!("make_tuple {register}, r{run}, {}", parts.len()));
            }
            Type::List(_) | Type::Map(..) => self.line(format!("empty {register}")),
            scalar => self.line(format!("load_raw {register}, {} 0x0", scalar.text())),
        }
    }

    fn steps(&mut self, steps: &[Step], depth: usize) {
        steps.iter().for_each(|step| self.step(step, depth));
    }

    fn step(&mut self, step: &Step, depth: usize) {
        match step {
            Step::ConvertExact(to, from, otherwise) => {
                self.or_else("convert_exact", *to, &[*from], otherwise, depth);
            }
            Step::MapGet([to, map, key], otherwise) => {
                self.or_else("map_get", *to, &[*map, *key], otherwise, depth);
            }
            Step::If(condition, then, otherwise) => self.branch(*condition, then, otherwise, depth),
            Step::Repeat(turns, steps) => self.repeat(*turns, steps, depth),
            Step::Try(fault, number, steps, handler) => {
                self.region(*fault, *number, steps, handler, depth);
            }
            Step::Par(branches) => self.fork(branches, depth),
            Step::Call(to, helper, arguments, as_value) => {
                self.call(*to, *helper, *arguments, *as_value);
            }
            Step::Work(work, to, helper, amount, argument) => {
                self.work(*work, *to, *helper, *amount, *argument);
            }
            simple => self.simple(simple),
        }
    }

    /// An instruction, or a few, without control.
    fn simple(&mut self, step: &Step) {
        match step {
            Step::Constant(register, bits) => {
                let kind = self.kind(*register).text();
                self.line(format!("load_raw {}, {kind} {bits:#x}", name(*register)));
            }
            Step::Bytes(register, text) => {
                self.line(format!("load_bytes {}, \"{text}\"", name(*register)));
            }
            Step::Arithmetic(mnemonic, to, operands) => {
                self.line(format!("{mnemonic} {}, {}", name(*to), names(operands)));
                self.tidy(*to);
            }
            Step::Compare(mnemonic, to, operands) => {
                self.line(format!("{mnemonic} {}, {}", name(*to), names(operands)));
            }
            Step::Convert(to, from) => {
                self.line(format!("convert {}, {}", name(*to), name(*from)));
                self.tidy(*to);
            }
            Step::Move(to, from) => self.line(format!("move {}, {}", name(*to), name(*from))),
            Step::Take(to, from) => {
                self.line(format!("take {}, {}", name(*to), name(*from)));
                self.empty(&name(*from), from.0);
            }
            Step::Box(to, from) => self.boxed(*to, *from),
            Step::Container(mnemonic, operands) => {
                self.line(format!("{mnemonic} {}", names(operands)));
            }
            Step::List(to, elements) => self.run("make_list", *to, elements),
            Step::Tuple(to, elements) => self.run("make_tuple", *to, elements),
            Step::Fill(to, length, value) => {
                let number = self.frame.numbers;
                self.line(format!("load_raw r{number}, i64 {length}"));
                self.line(format!("fill_list {}, r{number}, {}", name(*to), name(*value)));
            }
            Step::Element(to, tuple, index) => {
                self.line(format!("tuple_get {}, {}, {index}", name(*to), name(*tuple)));
            }
            Step::SetElement(tuple, part, index) => {
                self.line(format!("tuple_set {}, {}, {index}", name(*tuple), name(*part)));
            }
            Step::Raise(value) => self.raise(*value),
            other => unreachable!("{other:?} has steps in it"),
        }
    }

    /// Code after a `raise` is only reached if there is a way around it.
    fn raise(&mut self, value: Register) {
        let (around, condition) = (self.label(), self.frame.conditions);
        self.line(format!("eq r{condition}, {0}, {0}", name(value)));
        self.line(format!("jump_unless r{condition}, {around}"));
        self.line(format!("raise {}", name(value)));
        self.bind(&around);
    }

    /// Programs have one NaN only: the NaN that an operation makes depends on the processor.
    fn tidy(&mut self, register: Register) {
        let Type::Float(width) = self.kind(register) else { return };
        let (end, condition) = (self.label(), self.frame.conditions);
        self.line(format!("eq r{condition}, {0}, {0}", name(register)));
        self.line(format!("jump_if r{condition}, {end}"));
        let bits = not_a_number(width);
        self.line(format!("load_raw {}, f{width} {bits:#x}", name(register)));
        self.bind(&end);
    }

    fn boxed(&mut self, to: Register, from: Register) {
        let (wrong, end) = (self.label(), self.label());
        let (object, spare) = (self.frame.object, self.frame.spare + to.0);
        self.line(format!("box r{object}, {}", name(from)));
        self.line(format!("unbox r{spare}, r{object}, {wrong}"));
        self.line(format!("move {}, r{spare}", name(to)));
        self.line(format!("jump {end}"));
        self.bind(&wrong);
        self.line(format!("raise r{object}"));
        self.bind(&end);
    }

    /// Makes a list or a tuple of registers, which are moved next to each other.
    fn run(&mut self, mnemonic: &str, to: Register, elements: &[Register]) {
        let run = self.frame.runs[to.0];
        for (place, element) in elements.iter().enumerate() {
            self.line(format!("move r{}, {}", run + place, name(*element)));
        }
        self.line(format!("{mnemonic} {}, r{run}, {}", name(to), elements.len()));
    }

    /// An instruction that may jump to a place where its destination has no value: so the destination is a spare
    /// register.
    fn or_else(
        &mut self,
        mnemonic: &str,
        to: Register,
        operands: &[Register],
        steps: &[Step],
        depth: usize,
    ) {
        let (otherwise, end) = (self.label(), self.label());
        let spare = self.frame.spare + to.0;
        self.line(format!("{mnemonic} r{spare}, {}, {otherwise}", names(operands)));
        self.line(format!("move {}, r{spare}", name(to)));
        if mnemonic == "convert_exact" {
            self.tidy(to);
        }
        self.line(format!("jump {end}"));
        self.bind(&otherwise);
        self.empty(&name(to), to.0);
        self.steps(steps, depth + 1);
        self.bind(&end);
    }

    fn branch(&mut self, condition: Register, then: &[Step], otherwise: &[Step], depth: usize) {
        let (other, end) = (self.label(), self.label());
        self.line(format!("jump_unless {}, {other}", name(condition)));
        self.steps(then, depth + 1);
        self.line(format!("jump {end}"));
        self.bind(&other);
        self.steps(otherwise, depth + 1);
        self.bind(&end);
    }

    fn repeat(&mut self, turns: u64, steps: &[Step], depth: usize) {
        let again = self.label();
        let counter = self.frame.counters + depth;
        self.line(format!("load_raw r{counter}, i64 {turns}"));
        self.bind(&again);
        self.steps(steps, depth + 1);
        self.count_down(counter, &again);
    }

    /// Goes back until a counter is 0.
    fn count_down(&mut self, counter: usize, again: &str) {
        let (zero, one, condition) = (self.frame.zero, self.frame.one, self.frame.conditions);
        self.line(format!("sub r{counter}, r{counter}, r{one}"));
        self.line(format!("lt r{condition}, r{zero}, r{counter}"));
        self.line(format!("loop_if r{condition}, {again}"));
    }

    /// The row of the table follows the code, so that inner regions come first.
    fn region(
        &mut self,
        fault: Fault,
        number: Register,
        steps: &[Step],
        handler: &[Step],
        depth: usize,
    ) {
        let [start, end, caught, known, after] = [(); 5].map(|_| self.label());
        let Frame { exception, object, numbers, .. } = self.frame;
        self.bind(&start);
        self.line(format!("load_raw r{numbers}, i64 0"));
        self.steps(steps, depth + 1);
        self.bind(&end);
        self.line(format!("jump {after}"));
        self.bind(&caught);
        if steps.iter().any(Step::forks) {
            // The registers that the branches of a failing fork write have no value.
            (1..EACH).for_each(|index| self.reset(index));
        }
        self.line(format!("fault_of {}, r{exception}", name(number)));
        self.line(format!("raised r{object}, r{exception}"));
        self.line(format!("unbox r{numbers}, r{object}, {known}"));
        self.line(format!("xor {0}, {0}, r{numbers}", name(number)));
        self.bind(&known);
        self.steps(handler, depth + 1);
        self.bind(&after);
        self.line(format!(
            "catch_fault {} into r{exception} from {start} to {end} handler {caught}",
            fault.name()
        ));
    }

    fn fork(&mut self, branches: &[Vec<Step>; 2], depth: usize) {
        let (second, after) = (self.label(), self.label());
        self.line(format!("par {after}"));
        self.line(format!("branch {second}"));
        self.steps(&branches[0], depth + 1);
        self.end_branch();
        self.bind(&second);
        self.line(format!("branch {after}"));
        self.steps(&branches[1], depth + 1);
        self.end_branch();
        self.bind(&after);
    }

    /// Both branches would write the registers that are not the program's: a call destroys them.
    fn end_branch(&mut self) {
        let Frame { nothing, exception, .. } = self.frame;
        self.line(format!("call r{exception}, r{nothing}, 0, $nothing"));
        self.line("end_branch");
    }

    fn call(&mut self, to: Register, helper: usize, arguments: [Register; 2], as_value: bool) {
        let (window, value) = (self.frame.call, self.frame.function);
        for (place, argument) in arguments.into_iter().enumerate() {
            self.line(format!("move r{}, {}", window + place, name(argument)));
        }
        let helper = self.name_of_helper(helper);
        if as_value {
            self.line(format!("load_function r{value}, {helper}"));
            self.line(format!("call_indirect {}, r{window}, r{value}, 2", name(to)));
        } else {
            self.line(format!("call {}, r{window}, 2, {helper}", name(to)));
        }
    }

    /// Answers all registers, mixed into one number.
    fn finish(&mut self) {
        let hash = self.frame.numbers;
        self.line(format!("load_raw r{hash}, i64 17"));
        for kind in 0..self.program.types.len() {
            let function = self.all.iter().position(|other| *other == self.program.types[kind]);
            for index in 0..EACH {
                let window = self.frame.hashes + 3 * kind;
                self.line(format!("move r{window}, {}", name((kind, index))));
                self.line(format!("move r{}, r{hash}", window + 1));
                self.line(format!("call r{hash}, r{window}, 2, $hash{}", function.unwrap_or(0)));
            }
        }
        self.line(format!("return r{hash}"));
    }
}

/// A register of the program; the arguments come first.
fn name((kind, index): Register) -> String {
    format!("r{}", 2 + kind * EACH + index)
}

fn names(registers: &[Register]) -> String {
    let all: Vec<String> = registers.iter().map(|register| name(*register)).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use squall_bytecode::assembler::assemble;
    use squall_bytecode::verifier::{Trust, verify};

    use super::*;
    use crate::choices::Choices;
    use crate::forms;
    use crate::programs::generate;

    #[test]
    fn programs_are_verified_and_survive_their_other_forms() {
        for seed in 0..200 {
            let program = generate::program(&mut Choices::Seed(seed), 30);
            let text = module(&[program]);
            let module = match assemble(&text) {
                Ok(module) => module,
                Err(problems) => panic!("seed {seed}: {}\n{text}", problems[0]),
            };
            if let Err(errors) = verify(&module, Trust::Untrusted) {
                panic!("seed {seed}: {}\n{text}", errors[0]);
            }
            assert_eq!(forms::check(&module), Ok(()), "seed {seed}");
        }
    }
}
