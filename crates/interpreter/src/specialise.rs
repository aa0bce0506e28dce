//! Specialisation: after a lookup, the send handlers in `calls` rewrite a send to the form for the action found.
//!
//! The form is chosen once, at the site's first miss: most sites do one thing. A form that no longer fits does the same
//! as the general send, at the cost of one failed check.

use std::sync::atomic::{AtomicU32, Ordering};

use squall_bytecode::codes::{general, observed_forms};
use squall_bytecode::decode::instructions;
use squall_bytecode::instructions::Opcode;
use squall_bytecode::module::Site as SiteDescription;
use squall_runtime::tiers::function::Site;
use squall_runtime::tiers::lookup::{Action, CacheEntry};
use squall_runtime::tiers::primitive::Shape;
use squall_runtime::tiers::thread::Thread;

use crate::arithmetic::is_branch_on;
use crate::machine::{a, c, specialise_at};

/// Rewrites the send in the state for the entry that its lookup found.
///
/// When every message is reported, all sends stay general, since each must take the slow path.
pub fn after_lookup(thread: &Thread, site: &'static Site, entry: &CacheEntry) {
    if thread.vm.options.tracing.sends {
        return;
    }
    let pc = thread.state.pc;
    let general = opcode(pc);
    match entry.action {
        Action::LoadSlot(index) if general == general::Send0 => {
            remember_slot(site, entry, index);
            specialise_at(pc, observed_forms::SEND0_SLOT);
        }
        Action::LoadConstantSlot(index) => {
            remember_slot(site, entry, index | CONSTANT);
            if general == general::Send0 {
                specialise_at(pc, observed_forms::SEND0_SLOT);
            }
        }
        Action::StoreSlot(index) if general == general::Send1 => {
            remember_slot(site, entry, index);
            specialise_at(pc, observed_forms::SEND1_SLOT);
        }
        Action::LoadSlot(index) | Action::StoreSlot(index) => remember_slot(site, entry, index),
        Action::Method(_) => specialise_method(pc, general),
        Action::Primitive(primitive) if primitive.shape == Shape::Evaluate => {
            specialise_evaluation(pc, general);
        }
        Action::Primitive(_) => specialise_operator(site, general),
        _ => {}
    }
}

fn opcode(pc: *const AtomicU32) -> u8 {
    // SAFETY: the state's pc points at a code word.
    unsafe { &*pc }.load(Ordering::Relaxed) as u8
}

/// A flag of a remembered slot: nothing assigns the slot. The index has 16 bits.
const CONSTANT: u32 = 1 << 31;

/// The index of the slot that a site remembers.
#[inline(always)]
pub fn slot_index(cached: u64) -> usize {
    cached as u16 as usize
}

/// Whether nothing assigns the slot that a site remembers.
#[inline(always)]
pub fn is_constant_slot(cached: u64) -> bool {
    cached as u32 & CONSTANT != 0
}

/// Layout and index go into one word, so that no reader combines those of two classes.
fn remember_slot(site: &Site, entry: &CacheEntry, index: u32) {
    let packed = u64::from(entry.layout.bits()) << 32 | u64::from(index);
    site.slot_cache.store(packed, Ordering::Relaxed);
}

fn specialise_method(pc: *const AtomicU32, general: u8) {
    match general {
        general::Send0 => specialise_at(pc, observed_forms::SEND0_METHOD),
        general::Send1 => specialise_at(pc, observed_forms::SEND1_METHOD),
        general::Send2 => specialise_at(pc, observed_forms::SEND2_METHOD),
        general::Send => specialise_at(pc, observed_forms::SEND_METHOD),
        _ => {}
    }
}

fn specialise_evaluation(pc: *const AtomicU32, general: u8) {
    match general {
        general::Send0 => specialise_at(pc, observed_forms::SEND0_EVALUATE),
        general::Send1 => specialise_at(pc, observed_forms::SEND1_EVALUATE),
        general::Send2 => specialise_at(pc, observed_forms::SEND2_EVALUATE),
        _ => {}
    }
}

/// Operators on numbers and arrays, by selector; the handlers check the kind of the receiver.
fn specialise_operator(site: &'static Site, general: u8) {
    let function = site.function();
    let Some(SiteDescription::Send { selector, .. }) = function.bytecode().sites.get(site.index())
    else {
        return;
    };
    let selector = function.module.bytecode.string(*selector);
    let pc = &raw const function.code[site.pc as usize];
    if general == general::Send2 && selector == "at:put:" {
        return specialise_at(pc, observed_forms::ARRAY_AT_PUT);
    }
    if general != general::Send1 {
        return;
    }
    if let Some((plain, branching)) = comparison(selector) {
        let next = &function.code[site.pc as usize + 2];
        let fuses = is_branch_on(next, usize::from(site.destination));
        return specialise_at(pc, if fuses { branching } else { plain });
    }
    if let Some(operator) = operator(selector) {
        specialise_at(pc, operator);
        fuse_integer(site, operator);
    }
}

fn comparison(selector: &str) -> Option<(u8, u8)> {
    Some(match selector {
        "<" => (observed_forms::LESS, observed_forms::LESS_BRANCH),
        "<=" => (observed_forms::LESS_OR_EQUAL, observed_forms::LESS_OR_EQUAL_BRANCH),
        ">" => (observed_forms::GREATER, observed_forms::GREATER_BRANCH),
        ">=" => (observed_forms::GREATER_OR_EQUAL, observed_forms::GREATER_OR_EQUAL_BRANCH),
        "=" => (observed_forms::EQUAL, observed_forms::EQUAL_BRANCH),
        "<>" | "~=" => (observed_forms::NOT_EQUAL, observed_forms::NOT_EQUAL_BRANCH),
        "==" => (observed_forms::IDENTICAL, observed_forms::IDENTICAL_BRANCH),
        _ => return None,
    })
}

fn operator(selector: &str) -> Option<u8> {
    Some(match selector {
        "+" => observed_forms::ADD,
        "-" => observed_forms::SUBTRACT,
        "*" => observed_forms::MULTIPLY,
        "/" => observed_forms::QUOTIENT,
        "//" => observed_forms::DIVIDE,
        "%" => observed_forms::MODULO,
        "&" => observed_forms::BIT_AND,
        "at:" => observed_forms::ARRAY_AT,
        _ => return None,
    })
}

/// Makes the `load_integer` of the right operand, directly before the send, do the operation as well.
fn fuse_integer(site: &'static Site, operator: u8) {
    let fused = match operator {
        observed_forms::ADD => observed_forms::LOAD_INTEGER_ADD,
        observed_forms::SUBTRACT => observed_forms::LOAD_INTEGER_SUBTRACT,
        _ => return,
    };
    let function = site.function();
    let before = instructions(&function.bytecode().code)
        .take_while(|instruction| instruction.pc < site.pc as usize)
        .last();
    let Some(before) = before.filter(|before| before.opcode == Opcode::LoadInteger) else { return };
    let send = function.bytecode().code[site.pc as usize];
    if a(before.words()[0]) == c(send) {
        specialise_at(&raw const function.code[before.pc], fused);
    }
}
