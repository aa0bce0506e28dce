//! Writes the manual of all instructions, as Markdown, from the instruction table. The test of the manual calls it.
//!
//! `docs/bytecode-reference.md` is its output; a test fails when that is out of date, and rewrites
//! it if `BLESS=1` is set.
//!
//! Each instruction has an example in `reference/examples.sqasm`, of which the head says how to add one.

use std::fmt::Write;

use crate::instructions::{Field, Flow, InstructionInfo, Opcode, OperandKind, SiteRule};
use crate::types::TypeRule;

/// Where the groups of the table start.
const GROUPS: [(Opcode, &str); 9] = [
    (Opcode::Move, "Values"),
    (Opcode::LoadCaptured, "Closures and captured variables"),
    (Opcode::Jump, "Control"),
    (Opcode::Send0, "Messages and calls"),
    (Opcode::MakeClass, "Classes and objects"),
    (Opcode::Add, "Typed registers"),
    (Opcode::MakeTuple, "Tuples, lists and maps"),
    (Opcode::LoadFunction, "Function values"),
    (Opcode::Spawn, "Processes"),
];

/// The examples, a module after each line of [`HEADING`] and mnemonics.
const EXAMPLES: &str = include_str!("reference/examples.sqasm");

const HEADING: &str = ";; ";

const INTRODUCTION: &str = "\
# Instruction reference

This page is made from the instruction table in `crates/bytecode/src/instructions.rs`; do not edit it. After a change to
the table, `cargo xtask generate` writes it anew. [bytecode.md](bytecode.md) explains the
machine, the text form and the module format.

An instruction takes one to three 32-bit words. Its operands live in these fields:

```text
word 0   [ C:8 | B:8 | A:8 | opcode:8 ]     Bc = C and B as one 16-bit field, Abc = 24 bits
word 1   [ X3:8 | X2:8 | Xlo:16 ]           X  = the whole word
word 2   [ Y:32 ]
```

Bits of no operand are 0. Targets are signed distances in words from the instruction's first word.
";

/// The whole manual.
pub fn markdown() -> String {
    let mut text = String::from(INTRODUCTION);
    text += "\n| code | instruction | effect |\n|---:|---|---|\n";
    for info in Opcode::ALL.iter().map(|opcode| opcode.info()) {
        let InstructionInfo { opcode, mnemonic, semantics, .. } = info;
        let code = *opcode as u8;
        let _ = writeln!(text, "| {code} | [`{mnemonic}`](#{mnemonic}) | {} |", cell(semantics));
    }
    for opcode in Opcode::ALL {
        if let Some((_, title)) = GROUPS.iter().find(|(first, _)| first == opcode) {
            let _ = write!(text, "\n## {title}\n");
        }
        text += &instruction(opcode.info());
    }
    text
}

/// The section of one instruction.
fn instruction(info: &InstructionInfo) -> String {
    let written = info.operands.iter().filter(|operand| operand.kind != OperandKind::Link);
    let names: Vec<&str> = written.map(|operand| operand.name).collect();
    let words = match info.words() {
        1 => "1 word".to_owned(),
        words => format!("{words} words"),
    };
    let mut text = format!(
        "\n### `{}`\n\n```text\n{} {}\n```\n\n{}.",
        info.mnemonic,
        info.mnemonic,
        names.join(", "),
        sentence(info.semantics)
    );
    if !info.notes.is_empty() {
        let _ = write!(text, " {}", info.notes);
    }
    let _ = write!(text, "\n\nCode {}, {words}. {}\n", info.opcode as u8, flow(info.flow));
    text += "\n| operand | field | meaning |\n|---|---|---|\n";
    for operand in info.operands {
        let (name, meaning) = (operand.name, meaning(operand.kind));
        let _ = writeln!(text, "| {name} | {} | {meaning} |", field(operand.field));
    }
    text += &example(info.mnemonic);
    text
}

/// How long an example is at most that is shown wherever it belongs.
const SHORT: usize = 24;

/// The example of an instruction; a long one is shown once, at the first instruction that it is for.
fn example(mnemonic: &str) -> String {
    let Some(example) = examples().find(|example| example.mnemonics.contains(&mnemonic)) else {
        return String::new();
    };
    let first = Opcode::ALL.iter().map(|opcode| opcode.info().mnemonic);
    let first = first.into_iter().find(|other| example.mnemonics.contains(other));
    match first.filter(|first| *first != mnemonic && example.text.lines().count() > SHORT) {
        Some(first) => format!("\nThere is an example at [`{first}`](#{first}).\n"),
        None => format!("\n```sqasm\n{}```\n", example.text),
    }
}

/// A module in which instructions are used.
struct Example {
    mnemonics: Vec<&'static str>,
    text: String,
}

/// The texts of all examples.
#[cfg(test)]
pub(crate) fn example_texts() -> impl Iterator<Item = String> {
    examples().map(|example| example.text)
}

fn examples() -> impl Iterator<Item = Example> {
    let sections = EXAMPLES.split(&format!("\n{HEADING}")).skip(1).collect::<Vec<_>>();
    sections.into_iter().filter_map(|section| {
        let (mnemonics, text) = section.split_once('\n')?;
        let mnemonics = mnemonics.split_whitespace().collect();
        Some(Example { mnemonics, text: format!("{}\n", text.trim_end()) })
    })
}

/// A line of the table as the start of a sentence: capital if it is prose, not an assignment.
fn sentence(semantics: &str) -> String {
    if semantics.contains(":=") {
        return format!("`{semantics}`");
    }
    let mut characters = semantics.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

/// A line of the table as a cell of a Markdown table.
fn cell(semantics: &str) -> String {
    let text = if semantics.contains(":=") { format!("`{semantics}`") } else { semantics.into() };
    text.replace('|', "\\|")
}

fn field(field: Field) -> String {
    let (word, shift, width) = field.place();
    format!("{field:?} (word {word}, bits {shift}–{})", shift + width - 1)
}

fn flow(flow: Flow) -> &'static str {
    match flow {
        Flow::Next => "Goes on to the next instruction.",
        Flow::Call => {
            "Goes on to the next instruction, after guest code may have run in the window."
        }
        Flow::Branch => "Goes on to the next instruction or to a target.",
        Flow::Jump => "Goes on at the target.",
        Flow::Leave => "Leaves the function.",
        Flow::Resume => "Goes on to the next instruction, or leaves the function.",
    }
}

fn meaning(kind: OperandKind) -> String {
    use OperandKind::*;
    match kind {
        Define(rule) => format!("register, written: {}", type_rule(rule)),
        Use(rule) => format!("register, read: {}", type_rule(rule)),
        Update(rule) => format!("register, read and written: {}", type_rule(rule)),
        Window => "first register of the call window".into(),
        Range => "first of a run of registers".into(),
        Count => "length of the window or range".into(),
        Immediate => "signed number".into(),
        Index => "unsigned number".into(),
        Special => "0 `nil`, 1 `false`, 2 `true`".into(),
        Constant => "constant of the function".into(),
        Site(rule) => format!("site: {}", site_rule(rule)),
        Function => "function of the module".into(),
        Class => "class definition of the module".into(),
        Primitive => "string of the module, the primitive's name".into(),
        Target => "target, signed distance in words".into(),
        Link => "room for the linker: 0 in a module, not written in the text form".into(),
    }
}

fn type_rule(rule: TypeRule) -> &'static str {
    match rule {
        TypeRule::Any => "`any`",
        TypeRule::Bool => "`bool`",
        TypeRule::Integer => "an integer type",
        TypeRule::Bits => "`bool` or an integer type",
        TypeRule::Number => "an integer or float type",
        TypeRule::I64 => "`i64`",
        TypeRule::Scalar => "`bool`, an integer or a float",
        TypeRule::Boxable => "`bool`, a number, or a tuple, list or map of such types",
        TypeRule::Typed => "a type other than `any`",
        TypeRule::Ordered => "a number, or a tuple or list of ordered types",
        TypeRule::Tuple => "a tuple",
        TypeRule::List => "a list",
        TypeRule::Map => "a map",
        TypeRule::Collection => "a list or a map",
        TypeRule::Function => "a function",
        TypeRule::Callable => "a function or a process",
        TypeRule::Whatever => "of every type",
        TypeRule::Channel => "a channel",
        TypeRule::Reader => "a reading end",
        TypeRule::Writer => "a writing end",
        TypeRule::Readable => "a channel or a reading end",
        TypeRule::Writable => "a channel or a writing end",
        TypeRule::Communicating => "a channel or an end",
        TypeRule::Barrier => "a barrier",
        TypeRule::Bucket => "a bucket",
        TypeRule::Process => "a process",
        TypeRule::SameAsFirst => "the type of the first register",
        TypeRule::SameAsSecond => "the type of the second register",
    }
}

fn site_rule(rule: SiteRule) -> String {
    match rule {
        SiteRule::Send(0) => "a send without arguments".into(),
        SiteRule::Send(1) => "a send with 1 argument".into(),
        SiteRule::Send(count) => format!("a send with {count} arguments"),
        SiteRule::SendCounted => "a send with count − 1 arguments".into(),
        SiteRule::Enclosing => "an enclosing object".into(),
        SiteRule::Captures => "the captured variables of an object literal".into(),
        SiteRule::InitializeSlot => "a slot to initialise".into(),
        SiteRule::ClassSlot => "the hidden slot of a nested class".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::{assemble, format};
    use crate::verifier::{Trust, verify};

    const EXAMPLES_PATH: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/src/reference/examples.sqasm");

    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bytecode-reference.md");

    #[test]
    fn the_committed_reference_is_fresh() {
        let fresh = markdown();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(PATH, &fresh).unwrap();
        }
        let committed = std::fs::read_to_string(PATH).unwrap_or_default();
        assert!(
            committed == fresh,
            "docs/bytecode-reference.md is out of date: set BLESS=1 to rewrite it"
        );
    }

    #[test]
    fn every_instruction_has_an_example() {
        let known: Vec<&str> = examples().flat_map(|example| example.mnemonics).collect();
        let mnemonics = Opcode::ALL.iter().map(|opcode| opcode.info().mnemonic);
        let missing: Vec<&str> = mnemonics.filter(|name| !known.contains(name)).collect();
        assert!(missing.is_empty(), "no example in reference/examples.sqasm: {missing:?}");
    }

    #[test]
    fn the_examples_are_correct_and_have_what_they_are_for() {
        let problems: Vec<String> = examples().filter_map(|example| problem(&example)).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// The mistake in an example.
    fn problem(Example { mnemonics, text }: &Example) -> Option<String> {
        let begins = |line: &str, mnemonic| line.split_whitespace().next() == Some(mnemonic);
        let unused = mnemonics.iter().find(|name| !text.lines().any(|line| begins(line, **name)));
        let trust = if *mnemonics == ["primitive"] { Trust::Trusted } else { Trust::Untrusted };
        let problem = match assemble(text) {
            Ok(module) => verify(&module, trust).err().map(|errors| errors[0].to_string()),
            Err(problems) => Some(problems[0].to_string()),
        };
        let problem = problem.or_else(|| unused.map(|name| format!("there is no `{name}`")))?;
        Some(format!("{}: {problem}", mnemonics.join(" ")))
    }

    #[test]
    fn the_examples_are_laid_out() {
        let laid_out = format(EXAMPLES).expect("it is a text form");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(EXAMPLES_PATH, &laid_out).unwrap();
        }
        assert!(laid_out == EXAMPLES, "`squall format` has another layout; BLESS=1 takes it over");
    }

    #[test]
    fn every_instruction_is_described() {
        let text = markdown();
        for opcode in Opcode::ALL {
            assert!(text.contains(&format!("\n### `{}`\n", opcode.info().mnemonic)));
        }
        assert_eq!(text.matches("\n## ").count(), GROUPS.len());
    }
}
