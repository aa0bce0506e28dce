//! Link words: through them, instructions that may wait find their sites and complete after the wait. The linker writes
//! them.
//!
//! An instruction that may wait has a word of room for the linker. The word has the index of a site, as in other calls,
//! and, in the place of an opcode, the code that completes the instruction when the result is there: the strand
//! continues at that word. While it waits, it stands at the instruction itself.

use squall_bytecode::codes::internal::{ACCEPTED, CHOSEN, RECEIVED};
use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::instructions::{Field, Opcode, OperandKind};
use squall_bytecode::module::Function;
use squall_bytecode::scopes::Scopes;

use crate::model::function::{NOWHERE, Site};

/// The index of the site in a link word.
#[inline(always)]
pub fn site_index(link: u32) -> u32 {
    link >> 8
}

/// Makes the site of an instruction that has room for a link.
pub(crate) fn link(
    function: &Function,
    instruction: &Instruction,
    words: &mut [u32],
    sites: &mut Vec<Site>,
) {
    let Some(room) = instruction.info().operand(OperandKind::Link) else { return };
    let mut site = Site::new();
    site.pc = instruction.pc as u32;
    // The report of a fault is called beyond the frame, so that it destroys nothing.
    site.window = function.registers.len() as u16 + 1;
    site.destination = match instruction.opcode {
        Opcode::Read | Opcode::Accept => instruction.register(Field::A).index() as u16,
        _ => NOWHERE,
    };
    let work = match instruction.opcode {
        Opcode::Read => RECEIVED,
        Opcode::Accept => ACCEPTED,
        Opcode::Alt | Opcode::AltPriority => CHOSEN,
        _ => 0,
    };
    let link = (sites.len() as u32) << 8 | u32::from(work);
    sites.push(site);
    room.field.insert(&mut words[instruction.pc..], link);
}

/// The place where execution continues after the instruction at a pc, if that is not the next instruction.
pub(crate) fn resumption(function: &Function, pc: usize) -> Option<usize> {
    let instruction = Instruction::decode(&function.code, pc).ok()?;
    let room = instruction.info().operand(OperandKind::Link)?;
    let (word, _, _) = room.field.place();
    match instruction.opcode {
        Opcode::Par | Opcode::ParFor => usize::try_from(instruction.targets().next()?).ok(),
        Opcode::Read => {
            let kind = function.registers[instruction.register(Field::A).index()];
            kind.is_scalar().then_some(pc + word)
        }
        Opcode::Accept | Opcode::Alt | Opcode::AltPriority => Some(pc + word),
        _ => None,
    }
}

/// The scopes of a function; cheap if it has none.
pub(crate) fn scopes(function: &Function) -> Scopes {
    let opens =
        |at: Instruction| matches!(at.opcode, Opcode::Par | Opcode::ParFor | Opcode::Accept);
    match instructions(&function.code).any(opens) {
        true => Scopes::of(function),
        false => Scopes::default(),
    }
}
