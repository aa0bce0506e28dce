//! Reports of events while a program runs: messages, inline caches, collections. The option `--trace` selects them, and
//! slow paths write them.
//!
//! Reports cost nothing unless they are selected, because only slow paths look at the selection. For a report of
//! every message, inline caches are not filled, so that every message takes the slow path.
//!
//! There are no reports before the platform exists: the boot is not a part of the program.

use std::fmt::Write;

use squall_bytecode::module::Site as SiteDescription;
use squall_heap::{CollectionKind, CollectionReport, LayoutId, Word};

use crate::model::behavior::Behavior;
use crate::model::function::{Entries, MOST_ENTRIES, Site};
use crate::model::lookup::{Action, CacheEntry};
use crate::model::symbols::Symbol;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// The events to report on the standard error output.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tracing {
    /// Every message.
    pub sends: bool,
    /// Every change of an inline cache.
    pub caches: bool,
    /// Every collection.
    pub collections: bool,
    /// Everything that the compilers to machine code do, and every first exit from optimised code.
    pub compilations: bool,
}

/// Messages from activations beyond this depth are indented as if they came from there.
const DEEPEST: usize = 50;

/// Remembers a lookup's result at a site, and reports it.
#[cold]
pub(crate) fn remember(
    thread: &Thread,
    site: &'static Site,
    behavior: &'static Behavior,
    entry: &'static CacheEntry,
) {
    let tracing = thread.vm.options.tracing;
    let module = site.function().module;
    let description = &site.function().bytecode().sites[site.index()];
    if let (true, SiteDescription::Send { selector, .. }) = (tracing.sends, description) {
        return sent(thread, site, behavior, module.symbol(*selector));
    }
    if tracing.caches {
        let name = match *description {
            SiteDescription::Send { selector, .. } => {
                format!("#{}", module.bytecode.string(selector))
            }
            SiteDescription::Enclosing(..) => "enclosing object".to_owned(),
            SiteDescription::Captures(_) => "captured variables".to_owned(),
            SiteDescription::InitializeSlot(_, slot) => {
                format!("initial value of {}", module.bytecode.string(slot))
            }
            SiteDescription::ClassSlot(_) => "class object".to_owned(),
        };
        changed(thread.vm, site, &name, behavior, entry);
    }
    site.remember(entry);
}

/// Reports a message from a site to an object of this behavior.
#[cold]
pub(crate) fn sent(thread: &Thread, site: &Site, behavior: &'static Behavior, selector: Symbol) {
    let depth = thread.activations().take(DEEPEST).count().saturating_sub(1);
    let (class, selector) = (behavior.full_name(), thread.vm.modules.symbols.text(selector));
    let place = place_of(site);
    report(thread.vm, &format!("send: {:1$}{class}>>{selector} ({place})\n", "", 2 * depth));
}

/// Reports that a site is about to remember an entry.
fn changed(vm: &Vm, site: &Site, name: &str, behavior: &'static Behavior, entry: &CacheEntry) {
    let is_unused = |entry: &CacheEntry| entry.layout == LayoutId::NONE;
    let change = match (is_unused(site.entry()), site.entries().map_or(0, Entries::count)) {
        (true, _) => "empty -> monomorphic",
        (_, MOST_ENTRIES) => "polymorphic -> megamorphic",
        (_, 0) => "monomorphic -> polymorphic",
        _ => "polymorphic -> polymorphic",
    };
    let (class, action) = (behavior.full_name(), description_of(entry.action));
    let place = place_of(site);
    report(vm, &format!("ic: {place} {name} {change}, {class}: {action}\n"));
}

/// File and line, as far as they are known; the machine itself begins turns.
fn place_of(site: &Site) -> String {
    if site.function.is_null() {
        return "the machine".to_owned();
    }
    match site.function().position(site.pc as usize) {
        (path, 0, _) => path.to_owned(),
        (path, line, _) => format!("{path}:{line}"),
    }
}

/// An action in words.
pub fn description_of(action: Action) -> String {
    match action {
        Action::Method(function) => format!("method {}", function.name()),
        Action::LoadSlot(index) | Action::LoadConstantSlot(index) => format!("reads slot {index}"),
        Action::StoreSlot(index) => format!("writes slot {index}"),
        Action::LoadClass(index, _) => format!("nested class in slot {index}"),
        Action::AnswerReceiver => "answers the receiver".to_owned(),
        Action::Answer(Word::NIL) => "answers nil".to_owned(),
        Action::Answer(word) => format!("answers {}", word == Word::TRUE),
        Action::Primitive(primitive) => format!("primitive {}", primitive.name),
        Action::InitializeArray => "initialises an array".to_owned(),
        Action::Missing => "not understood".to_owned(),
        Action::Enclosing(path) | Action::Captures(path) => {
            let mixin = path.mixin.map_or(String::new(), |index| format!(", mixin {index}"));
            format!("{} classes up{mixin}", path.hops)
        }
        Action::SlotIndex(index) => format!("slot {index}"),
    }
}

/// Reports a collection.
pub(crate) fn collected(vm: &Vm, collection: &CollectionReport) {
    let kind = match collection.kind {
        CollectionKind::Nursery => "nursery",
        CollectionKind::Full => "full",
    };
    let pause = collection.pause.as_secs_f64() * 1e3;
    let mut text = format!("gc: {kind} collection, {pause:.2} ms, ");
    let size = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    let (before, after) = (size(collection.bytes_before), size(collection.bytes_after));
    _ = writeln!(text, "{before:.1} MiB -> {after:.1} MiB");
    report(vm, &text);
}

/// Reports what became of machine code.
pub fn compiled(vm: &Vm, text: impl FnOnce() -> String) {
    if vm.options.tracing.compilations {
        report(vm, &format!("jit: {}\n", text()));
    }
}

/// Whether what becomes of machine code is reported.
pub fn reports_compilations(vm: &Vm) -> bool {
    vm.options.tracing.compilations
}

fn report(vm: &Vm, text: &str) {
    if vm.roots.platform.get() != Word::NIL {
        vm.host().write_error(text);
    }
}
