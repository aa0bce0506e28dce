//! The origins of promises, and the record of those that broke without a reaction. The end of the program reports it.
//!
//! The origin of a promise is the site of the call that made it. A promise that is broken while it has no reactions is
//! recorded, and forgotten again once it gets one; the promises that remain when the program ends are reported on the
//! standard error output. Only the first few are kept.

use std::fmt::Write;

use parking_lot::Mutex;
use squall_heap::{Object, RootAddress, Word};

use super::{RECORDED, owner, slots};
use crate::execution::stack_traces;
use crate::model::function::Site;
use crate::objects::far_reference::{far_reference, vat_of};
use crate::objects::string::without_controls;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// How many promises are kept for the report.
const KEPT: usize = 8;

/// Broken promises without reactions.
#[derive(Default)]
pub struct Unhandled(Mutex<Record>);

#[derive(Default)]
struct Record {
    kept: Vec<Word>,
    /// How many there are beside those.
    others: u64,
}

impl Unhandled {
    /// Shows the promises to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        RootAddress::of_all(&mut self.0.lock().kept).for_each(visit);
    }
}

/// A call's site as an origin.
pub fn origin_of(site: Option<&'static Site>) -> Word {
    // Sites are aligned, so that the address is the bits of a small integer.
    site.filter(|site| !site.function.is_null())
        .map_or(Word::NIL, |site| Word::from_address(std::ptr::from_ref(site) as usize))
}

/// The program's call of the library as an origin: for library methods that make promises.
pub fn caller_origin(thread: &Thread) -> Word {
    origin_of(stack_traces::call_of_library(thread))
}

/// Records a promise that broke and has no reactions. Its lock is held.
pub(super) fn record(vm: &Vm, promise: Object) {
    _ = promise.set_flag(RECORDED);
    let mut record = vm.concurrency().unhandled.0.lock();
    match record.kept.len() < KEPT {
        true => record.kept.push(promise.word()),
        false => record.others += 1,
    }
}

/// Forgets a promise that has a reaction now. Its lock is held.
pub(super) fn forget(vm: &Vm, promise: Object) {
    if !promise.clear_flag(RECORDED) {
        return;
    }
    let mut record = vm.concurrency().unhandled.0.lock();
    match record.kept.iter().position(|&kept| kept == promise.word()) {
        Some(index) => _ = record.kept.remove(index),
        None => record.others -= 1,
    }
}

/// Reports broken promises without reactions, now that the program has ended.
pub fn report_unhandled(vm: &Vm) {
    let record = vm.concurrency().unhandled.0.lock();
    let mut text = String::new();
    for promise in record.kept.iter().filter_map(|kept| kept.as_object()) {
        let error = description(vm, promise);
        _ = writeln!(text, "broken promise without a reaction: {error}{}", place(promise));
    }
    if record.others > 0 {
        _ = writeln!(text, "and {} more of these", record.others);
    }
    if !text.is_empty() {
        vm.host().write_error(&text);
    }
}

/// The description of a promise's error. A guest controls no terminal by it, forges no line, and fills no screen.
fn description(vm: &Vm, promise: Object) -> String {
    let error = promise.slot(slots::OUTCOME);
    let text = stack_traces::describe_exception(vm, error);
    let vat = far_reference(error).map_or_else(|| owner(promise), vat_of);
    match vat.sandbox() {
        None => text,
        Some(_) => without_controls(text.chars().take(LONGEST_OF_GUEST), false),
    }
}

/// The most characters of a description of a guest's error.
const LONGEST_OF_GUEST: usize = 1000;

fn place(promise: Object) -> String {
    let Some(site) = site_of(promise) else { return String::new() };
    let (path, line, _) = site.function().position(site.pc as usize);
    format!(" from {path}:{line}")
}

/// Appends where a promise comes from, as a line of a trace.
pub(super) fn render_place_of(promise: Object, text: &mut String) {
    match site_of(promise) {
        Some(site) => stack_traces::render_place(site.function(), site.pc as usize, text),
        None => text.push_str("  made by the machine\n"),
    }
}

/// The site of the call that made a promise.
fn site_of(promise: Object) -> Option<&'static Site> {
    let origin = promise.slot(slots::ORIGIN);
    // SAFETY: `origin_of` stored the address of an immortal site with a function, and no guest code
    // reaches the slots of promises.
    origin.is_small_integer().then(|| unsafe { &*(origin.bits() as *const Site) })
}
