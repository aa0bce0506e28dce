//! The bytecode of a function, with the lines of the source text that it was made of, and what was observed at its sites
//! and branches. [`listing`](super) calls it.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use squall_bytecode::disassembler::disassemble_function;
use squall_bytecode::entities::FunctionId;
use squall_heap::LayoutId;
use squall_runtime::tiers::classes;
use squall_runtime::tiers::function::{Function, Site, feedback};
use squall_runtime::tiers::lookup::CacheEntry;
use squall_runtime::tiers::thread::Vm;
use squall_runtime::tiers::tracing;

use crate::code::{Code, way};

/// Where the comments begin, unless an instruction is longer.
const COMMENTS: usize = 48;

/// The bytecode as text. `code` is the base code that has observed the ways of branches.
pub fn text(
    vm: &Vm,
    function: &'static Function,
    code: Option<&Code>,
    line: &dyn Fn(&str, u32) -> Option<String>,
) -> String {
    let module = function.module.bytecode.whole();
    let path = function.module.bytecode.path_text();
    let (mut text, mut last) = (String::new(), 0);
    for row in disassemble_function(&module, FunctionId(function.index)).lines() {
        if let Some(number) = row.trim_start().strip_prefix("at ").and_then(line_number) {
            if number != last {
                let source = line(path, number).unwrap_or_default();
                _ = writeln!(text, "  ; {path}:{number}: {}", source.trim());
            }
            last = number;
            continue;
        }
        let Some((instruction, comment)) = row.split_once("  ; @") else {
            _ = writeln!(text, "{row}");
            continue;
        };
        let (pc, comment) = comment.split_once(' ').unwrap_or((comment, ""));
        let Ok(pc) = pc.parse() else { continue };
        let observed = observed(vm, function, code, pc);
        let remarks = [comment, &observed].map(str::trim);
        let remarks: Vec<&str> = remarks.into_iter().filter(|text| !text.is_empty()).collect();
        let row = format!("{pc:4} {}", instruction.strip_prefix("    ").unwrap_or(instruction));
        match remarks.is_empty() {
            true => _ = writeln!(text, "{row}"),
            false => _ = writeln!(text, "{row:COMMENTS$}  ; {}", remarks.join("; ")),
        }
    }
    text
}

/// The line of `line:column`.
fn line_number(place: &str) -> Option<u32> {
    place.split(':').next()?.parse().ok()
}

/// What was observed at an instruction.
fn observed(vm: &Vm, function: &Function, code: Option<&Code>, pc: usize) -> String {
    let mut parts = Vec::new();
    if let Some(site) = function.sites.iter().find(|site| site.pc as usize == pc) {
        parts.extend(entries(vm, site));
        parts.extend(operands(site));
    }
    let ways = code.map_or(0, |code| code.ways(pc));
    let names = [
        (way::TAKEN, "jumped"),
        (way::FELL_THROUGH, "went on"),
        (way::OTHERWISE, "jumped otherwise"),
    ];
    let taken = names.into_iter().filter(|(bit, _)| ways & bit != 0);
    parts.extend(taken.map(|(_, name)| name.to_owned()));
    if parts.is_empty() { String::new() } else { format!("has seen {}", parts.join(", ")) }
}

/// The classes of receivers, and what the message does for them.
fn entries(vm: &Vm, site: &Site) -> Vec<String> {
    let last = site.entry();
    let several = site.entries().map(|entries| entries.all()).unwrap_or_default();
    let last = (last.layout != LayoutId::NONE && several.is_empty()).then_some(last);
    let describe = |entry: &CacheEntry| {
        let class = classes::name_of_layout(vm, entry.layout).unwrap_or("?".into());
        format!("{class}: {}", tracing::description_of(entry.action))
    };
    last.into_iter().chain(several.iter().copied()).map(describe).collect()
}

/// The operands of an operator, and the rest of a site's feedback.
fn operands(site: &Site) -> impl Iterator<Item = String> {
    let observed = site.feedback.load(Ordering::Relaxed);
    let names = [
        (feedback::INTEGERS, "small integers"),
        (feedback::DOUBLES, "doubles"),
        (feedback::MIXED, "doubles with integers"),
        (feedback::ARRAY, "arrays"),
        (feedback::OTHERS, "others"),
        (feedback::DISTRUSTED, "too many exits"),
    ];
    let bits = names.into_iter().filter(move |(bit, _)| observed & bit != 0);
    bits.map(|(_, name)| name.to_owned())
}
