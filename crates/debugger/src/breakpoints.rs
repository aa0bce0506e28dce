//! Breakpoints as the user sets them, and the places in code that they mean. `control` keeps the table; the server changes
//! it.
//!
//! A line means, in each function that has code for it, the first instruction of that code; but no block that begins in the
//! middle of the line. A line without code means the next one that has some, in the same method or block. Modules that are loaded
//! later are searched then: until something was found, a breakpoint is not *verified*.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use squall_bytecode::module::FunctionKind;
use squall_events::Kind;
use squall_runtime::model::function::Function;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::Place;
use squall_runtime::state::vm::Vm;

use crate::places::{absolute, functions, key};
use crate::points::{self, Point, Which};

/// What the user asks for at a line, or at the beginning of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The line, from 1; for functions, 0.
    pub line: u32,
    /// The column, from 1, if it matters.
    pub column: Option<u32>,
    /// The expression that must be true for a stop.
    pub condition: Option<String>,
    /// How often the place must be reached before it counts.
    pub hits: Option<u64>,
    /// The text to be shown in place of a stop; expressions in braces are replaced by their values.
    pub log: Option<String>,
}

/// A breakpoint.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    /// Its number.
    pub id: u64,
    /// What was asked for.
    pub request: Request,
    /// The line where it stands, if any code was found.
    pub line: Option<u32>,
    /// How often it was reached, if it counts or is a data breakpoint.
    pub reached: u64,
    /// Whether that is since the beginning of the run.
    pub is_counted: bool,
    /// Why it stands nowhere, although its code was loaded.
    pub problem: Option<&'static str>,
}

/// Why a line without code has no breakpoint.
const NO_CODE: &str = "no code follows in its method or block";

/// All breakpoints.
#[derive(Default)]
pub struct Breakpoints {
    next: u64,
    /// Those of lines, by file.
    files: BTreeMap<PathBuf, Vec<Breakpoint>>,
    /// Those of functions, of points and of events, with their names.
    functions: Vec<(String, Breakpoint)>,
    /// Which breakpoints stand at a place, by the address of its code word.
    places: HashMap<usize, (Place, Vec<u64>)>,
    /// The places that may write what a data breakpoint is about, in the same way.
    writers: HashMap<usize, Place>,
    /// Which breakpoints stand where turns return from their bottom frame, in the same way.
    ends: HashMap<usize, (Place, Vec<u64>)>,
    /// Breakpoints for a step of a strand, which are gone once that strand has come to one of their places.
    hidden: HashMap<u64, u64>,
    /// How often those were reached that are gone with the client that had set them, by their [`spot`]s: this process may be a
    /// copy, to which the same ones are told anew.
    remembered: HashMap<String, u64>,
    /// Answers the lines of the methods and blocks of a file: the first and the last of each.
    bodies_of: Option<BodiesOf>,
}

/// What answers the lines of methods and blocks.
type BodiesOf = Box<dyn Fn(&str) -> Vec<(u32, u32)> + Send>;

/// What a breakpoint is about, whatever its conditions are.
fn spot(place: &str, request: &Request) -> String {
    format!("{place}:{}:{}", request.line, request.column.unwrap_or_default())
}

/// The changes of code that a change of breakpoints needs.
#[derive(Default)]
pub struct Changes {
    /// The places that get one.
    pub set: Vec<Place>,
    /// The places that have none any more.
    pub removed: Vec<Place>,
}

impl Breakpoints {
    /// None yet.
    pub fn new(bodies_of: impl Fn(&str) -> Vec<(u32, u32)> + Send + 'static) -> Breakpoints {
        Breakpoints { bodies_of: Some(Box::new(bodies_of)), ..Breakpoints::default() }
    }

    /// Replaces the breakpoints of a file. Answers them.
    pub fn set_lines(
        &mut self,
        vm: &'static Vm,
        path: &Path,
        requests: Vec<Request>,
        has_begun: bool,
    ) -> (Vec<Breakpoint>, Changes) {
        let path = absolute(path);
        let old = self.files.remove(&path).unwrap_or_default();
        old.iter().for_each(|old| self.remember(&path.to_string_lossy(), old));
        let mut make = |request| self.make_counted(&path.to_string_lossy(), request, has_begun);
        let new = requests.into_iter().map(&mut make).collect();
        old.iter().for_each(|old| self.forget(&path.to_string_lossy(), old));
        self.files.insert(path.clone(), new);
        let changes = self.place_again(vm, &old.iter().map(|old| old.id).collect::<Vec<_>>());
        (self.files[&path].clone(), changes)
    }

    /// Replaces the breakpoints of functions. Answers them.
    pub fn set_functions(
        &mut self,
        vm: &'static Vm,
        requests: Vec<(String, Request)>,
        has_begun: bool,
    ) -> (Vec<Breakpoint>, Changes) {
        let functions = std::mem::take(&mut self.functions);
        functions.iter().for_each(|(name, old)| self.remember(name, old));
        let old: Vec<u64> = functions.iter().map(|(_, old)| old.id).collect();
        for (name, request) in requests {
            let mut breakpoint = self.make_counted(&name, request, has_begun);
            if points::named(&name).is_some() || points::event_named(&name).is_some() {
                breakpoint.line = Some(0);
            }
            self.functions.push((name, breakpoint));
        }
        functions.iter().for_each(|(name, old)| self.forget(name, old));
        let changes = self.place_again(vm, &old);
        (self.functions.iter().map(|(_, breakpoint)| breakpoint.clone()).collect(), changes)
    }

    /// The kinds of events with a breakpoint.
    pub fn events(&self) -> impl Iterator<Item = Kind> {
        self.functions.iter().filter_map(|(name, _)| event_of(name)).map(|(kind, _)| kind)
    }

    /// The breakpoints of a kind of events, with their names and with what counts.
    pub fn of_event(&self, kind: Kind) -> Vec<(u64, String, Which)> {
        let wanted = self.functions.iter().filter_map(|(name, breakpoint)| {
            let (other, which) = event_of(name)?;
            (other == kind).then(|| (breakpoint.id, name.clone(), which))
        });
        wanted.collect()
    }

    /// The name of a breakpoint that is a point.
    pub fn point_name(&self, id: u64) -> Option<String> {
        let (name, _) = self.functions.iter().find(|(_, breakpoint)| breakpoint.id == id)?;
        points::named(name).is_some().then(|| name.clone())
    }

    /// A breakpoint for a step of a strand.
    pub fn hide(&mut self, strand: u64) -> u64 {
        let id = self.make(Request::default()).id;
        self.hidden.insert(id, strand);
        id
    }

    /// The places of a point get a hidden breakpoint.
    pub fn hide_at_point(&mut self, vm: &'static Vm, id: u64, point: &Point) -> Changes {
        let modules = vm.modules.all();
        let all = modules.flat_map(|module| points::places(module, point.code));
        let places: Vec<Place> = all.map(|(place, _)| place).collect();
        stand(&mut self.places, id, &places);
        Changes { set: places, removed: Vec::new() }
    }

    /// A breakpoint stands where turns return.
    pub fn stand_at_ends(&mut self, id: u64, places: Vec<Place>) -> Changes {
        stand(&mut self.ends, id, &places);
        Changes { set: places, removed: Vec::new() }
    }

    /// If a strand has come to a hidden breakpoint of its own: forgets it.
    pub fn take_hidden(&mut self, place: Place, strand: u64, is_end: bool) -> Option<Changes> {
        let mut ids = self.places.get(&key(place)).map(|(_, ids)| ids.clone()).unwrap_or_default();
        if is_end && let Some((_, ends)) = self.ends.get(&key(place)) {
            ids.extend(ends);
        }
        let id = ids.into_iter().find(|id| self.hidden.get(id) == Some(&strand))?;
        self.hidden.remove(&id);
        Some(self.take_away(&[id]))
    }

    /// Takes breakpoints away from all places.
    fn take_away(&mut self, gone: &[u64]) -> Changes {
        let mut left = Vec::new();
        for table in [&mut self.places, &mut self.ends] {
            table.retain(|_, (place, ids)| {
                ids.retain(|id| !gone.contains(id));
                if ids.is_empty() {
                    left.push(*place);
                }
                !ids.is_empty()
            });
        }
        left.retain(|place| !self.has(*place));
        Changes { set: Vec::new(), removed: left }
    }

    /// A breakpoint with a new number.
    pub(crate) fn make(&mut self, request: Request) -> Breakpoint {
        self.next += 1;
        let (line, reached, is_counted, problem) = (None, 0, false, None);
        Breakpoint { id: self.next, request, line, reached, is_counted, problem }
    }

    /// The same; it goes on to count where one was that is gone.
    fn make_counted(&mut self, place: &str, request: Request, has_begun: bool) -> Breakpoint {
        let known = self.remembered.get(&spot(place, &request)).copied();
        let is_counted = known.is_some() || !has_begun || request.hits.is_none();
        Breakpoint { reached: known.unwrap_or_default(), is_counted, ..self.make(request) }
    }

    /// The breakpoint is gone, and the same may come again.
    fn remember(&mut self, place: &str, gone: &Breakpoint) {
        if gone.request.hits.is_some() && gone.is_counted {
            self.remembered.insert(spot(place, &gone.request), gone.reached);
        }
    }

    /// The breakpoint does not come again.
    fn forget(&mut self, place: &str, gone: &Breakpoint) {
        self.remembered.remove(&spot(place, &gone.request));
    }

    /// Forgets the breakpoints that were gone with their client: all of the next one's are told.
    pub fn forget_remembered(&mut self) {
        self.remembered.clear();
    }

    /// How often the breakpoints were reached that count.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let all = self.files.values().flatten().chain(self.functions.iter().map(|(_, each)| each));
        let counting = all.filter(|each| each.request.hits.is_some() && each.is_counted);
        counting.map(|each| (each.id, each.reached)).collect()
    }

    /// A repetition of the run has counted how often a breakpoint was reached.
    pub fn set_count(&mut self, id: u64, count: u64) {
        for breakpoint in self.all_mut().filter(|each| each.id == id) {
            (breakpoint.reached, breakpoint.is_counted) = (count, true);
        }
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Breakpoint> {
        let of_functions = self.functions.iter_mut().map(|(_, breakpoint)| breakpoint);
        self.files.values_mut().flatten().chain(of_functions)
    }

    /// The breakpoints at a place that count how often strands come there, with their conditions: only if those are met, it counts.
    pub fn counting_at(&self, place: Place, is_end: bool) -> Vec<(u64, Option<String>)> {
        let ids = self.ids_at(place, is_end);
        let of_functions = self.functions.iter().map(|(_, breakpoint)| breakpoint);
        let all = self.files.values().flatten().chain(of_functions);
        let counting = all.filter(|each| each.request.hits.is_some() && ids.contains(&each.id));
        counting.map(|each| (each.id, each.request.condition.clone())).collect()
    }

    /// A strand has come to the places of these breakpoints.
    pub fn add_hits(&mut self, ids: &[u64]) {
        self.all_mut().filter(|each| ids.contains(&each.id)).for_each(|each| each.reached += 1);
    }

    fn ids_at(&self, place: Place, is_end: bool) -> Vec<u64> {
        let here = self.places.get(&key(place));
        let ends = self.ends.get(&key(place)).filter(|_| is_end);
        here.into_iter().chain(ends).flat_map(|(_, ids)| ids).copied().collect()
    }

    /// Finds the places of all breakpoints that have none, without those that are gone.
    fn place_again(&mut self, vm: &'static Vm, gone: &[u64]) -> Changes {
        let mut changes = self.take_away(gone);
        for module in vm.modules.all() {
            changes.set.extend(self.search(module).0);
        }
        changes
    }

    /// Finds the places in a module of those breakpoints that have none so far. Answers the places that are new, and the
    /// breakpoints that were found, or that have no place in their method or block.
    pub fn search(&mut self, module: &'static LoadedModule) -> (Vec<Place>, Vec<Breakpoint>) {
        let path = absolute(Path::new(module.bytecode.path_text()));
        let (mut new, mut found, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        let mut stand = |places: &mut HashMap<usize, (Place, Vec<u64>)>,
                         breakpoint: &mut Breakpoint,
                         all: Vec<(Place, u32)>| {
            let Some(&(_, line)) = all.first() else { return };
            breakpoint.line = Some(line);
            for (place, _) in all {
                let (_, ids) = places.entry(key(place)).or_insert_with(|| {
                    new.push(place);
                    (place, Vec::new())
                });
                if !ids.contains(&breakpoint.id) {
                    ids.push(breakpoint.id);
                }
            }
            found.push(breakpoint.clone());
        };
        let mut bodies = None;
        for breakpoint in self.files.get_mut(&path).into_iter().flatten() {
            if breakpoint.line.is_some() {
                continue;
            }
            let all = places_of_line(module, &breakpoint.request);
            let line = breakpoint.request.line;
            let leaves_body = all.first().is_some_and(|&(_, found)| {
                let bodies = bodies.get_or_insert_with(|| {
                    let bodies_of = self.bodies_of.as_ref();
                    bodies_of.map_or_else(Vec::new, |of| of(module.bytecode.path_text()))
                });
                found > line && end_of_body(bodies, line).is_some_and(|end| found > end)
            });
            if leaves_body {
                breakpoint.problem = Some(NO_CODE);
                lost.push(breakpoint.clone());
            } else {
                stand(&mut self.places, breakpoint, all);
            }
        }
        for (name, breakpoint) in &mut self.functions {
            let point = points::named(name);
            let all = match point {
                Some(point) => points::places(module, point.code),
                None => places_of_function(module, name),
            };
            stand(&mut self.places, breakpoint, all);
            if point.is_some() {
                breakpoint.line = Some(0);
            }
        }
        found.extend(lost);
        (new, found)
    }

    /// The breakpoints at a place, where a turn returns from its bottom frame or not.
    pub fn at(&self, place: Place, is_end: bool) -> Vec<Breakpoint> {
        let ids = self.ids_at(place, is_end);
        let all = self.files.values().flatten().chain(self.functions.iter().map(|(_, each)| each));
        all.filter(|each| ids.contains(&each.id)).cloned().collect()
    }

    /// The breakpoint of an event that has happened, if it still exists.
    pub fn of_function(&self, id: u64) -> Option<Breakpoint> {
        let found = self.functions.iter().find(|(_, breakpoint)| breakpoint.id == id);
        found.map(|(_, breakpoint)| breakpoint.clone())
    }

    /// Whether a breakpoint exists.
    pub fn knows(&self, id: u64) -> bool {
        let of_functions = self.functions.iter().map(|(_, breakpoint)| breakpoint);
        self.files.values().flatten().chain(of_functions).any(|breakpoint| breakpoint.id == id)
    }

    /// Whether a breakpoint of the user stands there, or one for data breakpoints.
    pub fn has(&self, place: Place) -> bool {
        let key = key(place);
        self.places.contains_key(&key)
            || self.ends.contains_key(&key)
            || self.writers.contains_key(&key)
    }

    /// Whether the place may write what a data breakpoint is about.
    pub fn has_writer(&self, place: Place) -> bool {
        self.writers.contains_key(&key(place))
    }

    /// Replaces the places for data breakpoints.
    pub fn set_writers(&mut self, places: Vec<Place>) -> Changes {
        let old = std::mem::take(&mut self.writers);
        let set = self.add_writers(places);
        let gone = old.into_values().filter(|place| !self.has(*place)).collect();
        Changes { set, removed: gone }
    }

    /// Adds places for data breakpoints; answers those that have no breakpoint so far.
    pub fn add_writers(&mut self, places: Vec<Place>) -> Vec<Place> {
        self.writers.extend(places.iter().map(|&place| (key(place), place)));
        places
    }

    /// Forgets all breakpoints; answers their places.
    pub fn clear(&mut self) -> Changes {
        for (path, gone) in std::mem::take(&mut self.files) {
            gone.iter().for_each(|gone| self.remember(&path.to_string_lossy(), gone));
        }
        for (name, gone) in std::mem::take(&mut self.functions) {
            self.remember(&name, &gone);
        }
        self.hidden.clear();
        let places = self.places.drain().map(|(_, (place, _))| place);
        let ends = self.ends.drain().map(|(_, (place, _))| place);
        let writers = self.writers.drain().map(|(_, place)| place);
        let removed = places.chain(ends).chain(writers).collect();
        Changes { set: Vec::new(), removed }
    }
}

/// The events that a breakpoint with this name is about, and which of them count.
fn event_of(name: &str) -> Option<(Kind, Which)> {
    match points::named(name) {
        Some(point) => point.event,
        None => points::event_named(name).map(|kind| (kind, Which::All)),
    }
}

/// A breakpoint stands at places.
fn stand(table: &mut HashMap<usize, (Place, Vec<u64>)>, id: u64, places: &[Place]) {
    for &place in places {
        let (_, ids) = table.entry(key(place)).or_insert_with(|| (place, Vec::new()));
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
}

/// The last line of the innermost method or block that has a line.
fn end_of_body(bodies: &[(u32, u32)], line: u32) -> Option<u32> {
    let around = bodies.iter().filter(|&&(first, last)| first <= line && line <= last);
    around.min_by_key(|&&(first, last)| last - first).map(|&(_, last)| last)
}

/// The places of a line, or of the next one that has code, with the line.
fn places_of_line(module: &'static LoadedModule, request: &Request) -> Vec<(Place, u32)> {
    let mut best: Option<u32> = None;
    let mut places: Vec<(Place, u32)> = Vec::new();
    for function in functions(module) {
        for entry in &function.bytecode().lines {
            let is_right = entry.line >= request.line && best.is_none_or(|best| entry.line <= best);
            if !is_right {
                continue;
            }
            if best != Some(entry.line) {
                best = Some(entry.line);
                places.clear();
            }
            let place = (function, entry.pc as usize);
            let is_exact = request.column == Some(entry.column);
            let other = places.iter_mut().find(|((known, _), _)| std::ptr::eq(*known, function));
            match other {
                // Positions ascend by pc, so the first one is that of the line's beginning.
                None => places.push((place, entry.line)),
                Some(other) if is_exact => *other = (place, entry.line),
                Some(_) => {}
            }
        }
    }
    if request.column.is_none() {
        drop_inner_blocks(&mut places);
    }
    places
}

/// Leaves out the blocks that begin on a line after other code: the line is reached before them.
fn drop_inner_blocks(places: &mut Vec<(Place, u32)>) {
    let column = |(function, pc): Place| function.position(pc).2;
    let first = places.iter().map(|(place, _)| column(*place)).min();
    let is_inner =
        |place: Place| place.0.kind == FunctionKind::Block && Some(column(place)) != first;
    places.retain(|(place, _)| !is_inner(*place));
}

/// The first places of the functions with a name: `Class>>selector`, or a selector alone.
fn places_of_function(module: &'static LoadedModule, name: &str) -> Vec<(Place, u32)> {
    let has_name = |function: &&'static Function| {
        let full = function.name();
        full == name || full.rsplit_once(">>").is_some_and(|(_, selector)| selector == name)
    };
    let first = |function: &'static Function| {
        let entry = function.bytecode().lines.first()?;
        Some(((function, entry.pc as usize), entry.line))
    };
    match name {
        "" => Vec::new(),
        _ => functions(module).filter(has_name).filter_map(first).collect(),
    }
}
