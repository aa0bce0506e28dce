//! What the addresses in machine code stand for: shared code, functions, their instructions, sites, constants and
//! counters. [`machine`](super::machine) asks for each number that may be an address.

use squall_heap::LayoutId;
use squall_runtime::tiers::classes;
use squall_runtime::tiers::function::{Constant, Function, Site};
use squall_runtime::tiers::lookup::Action;
use squall_runtime::tiers::thread::Vm;

use crate::assembler::offset;
use crate::code::Code;
use crate::compiler::Compiler;
use crate::history::Made;

/// The names of addresses.
pub struct Names {
    vm: &'static Vm,
    /// Addresses of shared code, helpers, primitives and entries.
    exact: Vec<(usize, String)>,
    functions: Vec<&'static Function>,
    codes: Vec<&'static Code>,
}

/// Numbers from here on, up to the next one, are addresses. Other numbers of such a size would be very odd.
const ADDRESSES: std::ops::Range<u64> = 1 << 32..1 << 47;

impl Names {
    /// The names of what this code may refer to.
    pub fn new(vm: &'static Vm, made: &Made) -> Names {
        let mut functions: Vec<&'static Function> =
            made.codes.iter().map(|code| code.function).collect();
        functions.extend(made.units.iter().flat_map(|each| each.unit.functions.iter().copied()));
        functions.sort_by_key(|function| std::ptr::from_ref(*function).addr());
        functions.dedup_by_key(|function| std::ptr::from_ref(*function).addr());
        let mut exact = shared();
        for code in &made.codes {
            exact.push((code.entry, format!("{} base code", code.function.name())));
        }
        functions.iter().for_each(|function| exact.extend(actions(function)));
        Names { vm, exact, functions, codes: made.codes.clone() }
    }

    /// The class that has a layout, which is what 32 bits are compared with.
    pub fn of_layout(&self, number: u64) -> Option<String> {
        let layout = u32::try_from(number).ok()?;
        classes::name_of_layout(self.vm, LayoutId::from_bits(layout))
    }

    /// The name of an address, or of the first word of new objects; none for other numbers.
    pub fn of(&self, number: u64) -> Option<String> {
        self.of_address(number).or_else(|| self.of_header(number))
    }

    /// The layout of new objects is in the upper half of their first word.
    fn of_header(&self, number: u64) -> Option<String> {
        let class = (number as u32 == 0).then(|| self.of_layout(number >> 32)).flatten()?;
        Some(format!("header of {class}"))
    }

    /// The name of an address; none for other numbers.
    fn of_address(&self, number: u64) -> Option<String> {
        let address = number as usize;
        if let Some((_, name)) = self.exact.iter().find(|(other, _)| *other == address) {
            return Some(name.clone());
        }
        let parts = self.functions.iter().find_map(|function| part_of(function, address));
        let ways = || self.codes.iter().find_map(|code| ways_of(code, address));
        let unknown = || ADDRESSES.contains(&number).then(|| "address".to_owned());
        parts.or_else(ways).or_else(unknown)
    }
}

/// The code that all functions share.
fn shared() -> Vec<(usize, String)> {
    let Some(compiler) = Compiler::of_process() else { return Vec::new() };
    let stubs = &compiler.stubs;
    let mut names: Vec<(usize, String)> = stubs.names();
    let accesses = stubs.accesses;
    names.extend([
        (stubs.leaf, "leaf".to_owned()),
        (stubs.admit, "admit".to_owned()),
        (stubs.take_memory, "take memory".to_owned()),
        (stubs.charge_copy, "charge copy".to_owned()),
        (stubs.draw_fuel, "draw fuel".to_owned()),
        (accesses.load_slot, "load guarded slot".to_owned()),
        (accesses.store_slot, "store guarded slot".to_owned()),
        (accesses.load_element, "load guarded element".to_owned()),
        (accesses.store_element, "store guarded element".to_owned()),
    ]);
    names
}

/// The entries of a function's sites, and the primitives in them.
fn actions(function: &'static Function) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    for site in function.sites {
        let all = site.entries().map(|entries| entries.all()).unwrap_or_default();
        for entry in all.iter().copied().chain([site.entry()]) {
            let place = format!("{}@{}", function.name(), site.pc);
            names.push((std::ptr::from_ref(entry).addr(), format!("entry of {place}")));
            if let Action::Primitive(primitive) = entry.action {
                let address = std::ptr::from_ref(primitive).addr();
                names.push((address, format!("primitive {}", primitive.name)));
            }
        }
    }
    names
}

/// The part of a function that is there.
fn part_of(function: &'static Function, address: usize) -> Option<String> {
    let name = function.name();
    if std::ptr::from_ref(function).addr() == address {
        return Some(format!("function {name}"));
    }
    if let Some((pc, _)) = place_in(function.code, address) {
        return Some(format!("instruction {name}@{pc}"));
    }
    if let Some((index, distance)) = place_in::<Site>(function.sites, address) {
        let place = format!("{name}@{}", function.sites[index].pc);
        return Some(match distance as i32 {
            0 => format!("site {place}"),
            offset::FEEDBACK => format!("feedback of {place}"),
            offset::CACHE => format!("cache of {place}"),
            offset::CLOSURE => format!("closure of {place}"),
            _ => format!("site {place} + {distance}"),
        });
    }
    let (index, _) = place_in::<Constant>(function.constants, address)?;
    Some(format!("constant {index} of {name}"))
}

/// The counter of ways that is there.
fn ways_of(code: &Code, address: usize) -> Option<String> {
    let (pc, _) = place_in(code.profile, address)?;
    Some(format!("ways of {}@{pc}", code.function.name()))
}

/// The element of a slice at an address, and the distance from its beginning.
fn place_in<T>(slice: &[T], address: usize) -> Option<(usize, usize)> {
    let distance = address.checked_sub(slice.as_ptr().addr())?;
    let index = distance / size_of::<T>();
    (index < slice.len()).then_some((index, distance % size_of::<T>()))
}
