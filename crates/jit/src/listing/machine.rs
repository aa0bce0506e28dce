//! Machine code as text: the instructions, with labels in place of the addresses of jumps, names in place of other
//! addresses, and the instruction of bytecode that each is for. [`listing`](super) calls it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

use iced_x86::{
    Decoder, DecoderOptions, Formatter, FormatterTextKind, Instruction, IntelFormatter, Mnemonic,
    OpKind, SymbolResolver, SymbolResult,
};
use squall_bytecode::instructions::Opcode;
use squall_runtime::tiers::function::Function;

use crate::code::units::{CodeLine, ExitRecord};
use crate::listing::names::Names;
use crate::optimised::line_of;

/// A piece of machine code.
pub struct Piece<'a> {
    /// Where it is.
    pub address: usize,
    /// The bytes.
    pub bytes: &'a [u8],
    /// The function that it is for.
    pub function: &'static Function,
    /// The instructions of bytecode that its parts are for, in the order of their places.
    pub lines: &'a [CodeLine],
    /// The exits, by their numbers.
    pub exits: &'a [&'static ExitRecord],
}

/// The piece as text.
pub fn text(piece: &Piece<'_>, names: &Names) -> String {
    let instructions = decoded(piece);
    let labels = Rc::new(labels(piece, &instructions));
    let known = known(piece, &instructions, names);
    let resolver = Resolver { labels: labels.clone(), known };
    let mut formatter = IntelFormatter::with_options(Some(Box::new(resolver)), None);
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(false);
    let mut text = String::new();
    let mut lines = piece.lines.iter().peekable();
    let mut shown_line = None;
    for instruction in &instructions {
        let offset = (instruction.ip() as usize - piece.address) as u32;
        if let Some(label) = labels.get(&instruction.ip()) {
            _ = writeln!(text, "{label}:");
        }
        let mut line = None;
        while let Some(next) = lines.next_if(|line| line.offset <= offset) {
            line = Some(next);
        }
        if let Some(line) = line {
            let place = (std::ptr::from_ref(line.function), line.pc);
            if shown_line.replace(place) != Some(place) {
                describe(piece, line, &mut text);
            }
        }
        let mut shown = String::new();
        formatter.format(instruction, &mut Plain(&mut shown));
        _ = writeln!(text, "  {offset:04x}  {shown}");
    }
    text
}

fn decoded(piece: &Piece<'_>) -> Vec<Instruction> {
    let address = piece.address as u64;
    Decoder::with_ip(64, piece.bytes, address, DecoderOptions::NONE).into_iter().collect()
}

/// The names of the places in a piece to which it jumps.
fn labels(piece: &Piece<'_>, instructions: &[Instruction]) -> BTreeMap<u64, String> {
    let targets = instructions.iter().filter(|each| is_near_jump(each));
    let inside = piece.address as u64..(piece.address + piece.bytes.len()) as u64;
    let targets = targets.map(Instruction::near_branch_target);
    let mut labels: BTreeMap<u64, String> =
        targets.filter(|target| inside.contains(target)).map(|at| (at, String::new())).collect();
    labels.values_mut().enumerate().for_each(|(number, label)| *label = format!("L{number}"));
    labels
}

fn is_near_jump(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::NearBranch64
}

/// The names of all addresses in a piece.
fn known(piece: &Piece<'_>, instructions: &[Instruction], names: &Names) -> BTreeMap<u64, String> {
    let exits = piece.exits.iter().enumerate();
    let mut known: BTreeMap<u64, String> = exits
        .map(|(number, exit)| (std::ptr::from_ref(*exit).addr() as u64, format!("<exit {number}>")))
        .collect();
    for instruction in instructions {
        let mut numbers =
            vec![instruction.near_branch_target(), instruction.memory_displacement64()];
        numbers.extend(
            (0..instruction.op_count()).filter_map(|index| instruction.try_immediate(index).ok()),
        );
        // Tests of layouts compare 32 bits.
        let is_test = instruction.mnemonic() == Mnemonic::Cmp
            && instruction.op1_kind() == OpKind::Immediate32;
        let layout = u64::from(instruction.immediate32());
        if let Some(class) = is_test.then(|| names.of_layout(layout)).flatten() {
            known.insert(layout, format!("<{class}>"));
        }
        for number in numbers {
            if let Some(name) = names.of(number) {
                known.entry(number).or_insert_with(|| format!("<{name}>"));
            }
        }
    }
    known
}

/// A line about the bytecode that the following instructions are for.
fn describe(piece: &Piece<'_>, line: &CodeLine, text: &mut String) {
    let pc = line.pc;
    let word = line.function.bytecode().code.get(pc as usize).copied();
    let mnemonic = word.and_then(Opcode::of_word).map_or("", |opcode| opcode.info().mnemonic);
    let is_own = std::ptr::eq(line.function, piece.function);
    let name = if is_own { String::new() } else { format!("{} ", line.function.name()) };
    _ = writeln!(text, "  ; {name}@{pc} {mnemonic} ({})", line_of(line.function, pc));
}

/// Gives the formatter the names.
struct Resolver {
    labels: Rc<BTreeMap<u64, String>>,
    known: BTreeMap<u64, String>,
}

impl SymbolResolver for Resolver {
    fn symbol(
        &mut self,
        _: &Instruction,
        _: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        let name = self.labels.get(&address).or_else(|| self.known.get(&address))?;
        Some(SymbolResult::with_str(address, name))
    }
}

/// Text without colours, and without the word that says that a name stands for a number.
struct Plain<'t>(&'t mut String);

impl iced_x86::FormatterOutput for Plain<'_> {
    fn write(&mut self, text: &str, _: FormatterTextKind) {
        *self.0 += text;
    }
}
