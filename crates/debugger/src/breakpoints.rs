//! Breakpoints as the user sets them, and the places in code that they mean. `control` keeps the table; the server changes
//! it.
//!
//! A line means, in each function that has code for it, the first instruction of that code; but no block that begins in the
//! middle of the line. A line without code means the next one that has some. Modules that are loaded later are searched then:
//! until something was found, a breakpoint is not *verified*.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use squall_bytecode::entities::FunctionId;
use squall_bytecode::module::FunctionKind;
use squall_events::Kind;
use squall_runtime::model::function::Function;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::Place;
use squall_runtime::state::vm::Vm;

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
    /// How often it was reached.
    pub reached: u64,
}

/// All breakpoints.
#[derive(Default)]
pub struct Breakpoints {
    next: u64,
    /// Those of lines, by file.
    files: BTreeMap<PathBuf, Vec<Breakpoint>>,
    /// Those of functions, with their names.
    functions: Vec<(String, Breakpoint)>,
    /// Those of events.
    events: Vec<(Kind, Breakpoint)>,
    /// Which breakpoints stand at a place, by the address of its code word.
    places: HashMap<usize, (Place, Vec<u64>)>,
    /// The places that may write what a data breakpoint is about, in the same way.
    writers: HashMap<usize, Place>,
}

/// The kind of events that a name such as `promise:resolved` means.
fn event_named(name: &str) -> Option<Kind> {
    let (entity, event) = name.split_once(':')?;
    let is_meant = |kind: &&Kind| kind.entity().name() == entity && kind.name() == event;
    Kind::ALL.iter().find(is_meant).copied()
}

/// The key of a place.
pub fn key(place: Place) -> usize {
    std::ptr::from_ref(&place.0.code[place.1]).addr()
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
    /// Replaces the breakpoints of a file. Answers them.
    pub fn set_lines(
        &mut self,
        vm: &'static Vm,
        path: &Path,
        requests: Vec<Request>,
    ) -> (Vec<Breakpoint>, Changes) {
        let path = absolute(path);
        let old = self.files.remove(&path).unwrap_or_default();
        let new = requests.into_iter().map(|request| self.make(request)).collect();
        self.files.insert(path.clone(), new);
        let changes = self.place_again(vm, &old.iter().map(|old| old.id).collect::<Vec<_>>());
        (self.files[&path].clone(), changes)
    }

    /// Replaces the breakpoints of functions. Answers them.
    pub fn set_functions(
        &mut self,
        vm: &'static Vm,
        requests: Vec<(String, Request)>,
    ) -> (Vec<Breakpoint>, Changes) {
        let old: Vec<u64> = self.functions.iter().map(|(_, old)| old.id).collect();
        self.functions.clear();
        self.events.clear();
        for (name, request) in requests {
            let mut breakpoint = self.make(request);
            match event_named(&name) {
                Some(kind) => {
                    breakpoint.line = Some(0);
                    self.events.push((kind, breakpoint));
                }
                None => self.functions.push((name, breakpoint)),
            }
        }
        let changes = self.place_again(vm, &old);
        let of_functions = self.functions.iter().map(|(_, breakpoint)| breakpoint);
        let of_events = self.events.iter().map(|(_, breakpoint)| breakpoint);
        let mut all: Vec<Breakpoint> = of_functions.chain(of_events).cloned().collect();
        all.sort_by_key(|breakpoint| breakpoint.id);
        (all, changes)
    }

    /// The kinds of events with a breakpoint.
    pub fn events(&self) -> impl Iterator<Item = Kind> {
        self.events.iter().map(|(kind, _)| *kind)
    }

    /// The breakpoint of a kind of events.
    pub fn of_event(&self, kind: Kind) -> Option<u64> {
        self.events.iter().find(|(other, _)| *other == kind).map(|(_, breakpoint)| breakpoint.id)
    }

    /// A breakpoint with a new number.
    pub(crate) fn make(&mut self, request: Request) -> Breakpoint {
        self.next += 1;
        Breakpoint { id: self.next, request, line: None, reached: 0 }
    }

    /// Finds the places of all breakpoints that have none, without those that are gone.
    fn place_again(&mut self, vm: &'static Vm, gone: &[u64]) -> Changes {
        let mut changes = Changes::default();
        self.places.retain(|_, (place, ids)| {
            ids.retain(|id| !gone.contains(id));
            if ids.is_empty() && !self.writers.contains_key(&key(*place)) {
                changes.removed.push(*place);
            }
            !ids.is_empty()
        });
        for module in (0..).map_while(|number| vm.modules.at(number)) {
            changes.set.extend(self.search(module).0);
        }
        changes
    }

    /// Finds the places in a module of those breakpoints that have none so far. Answers the places that are new, and the
    /// breakpoints that were found.
    pub fn search(&mut self, module: &'static LoadedModule) -> (Vec<Place>, Vec<Breakpoint>) {
        let path = absolute(Path::new(module.bytecode.path_text()));
        let (mut new, mut found) = (Vec::new(), Vec::new());
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
        for breakpoint in self.files.get_mut(&path).into_iter().flatten() {
            if breakpoint.line.is_none() {
                let all = places_of_line(module, &breakpoint.request);
                stand(&mut self.places, breakpoint, all);
            }
        }
        for (name, breakpoint) in &mut self.functions {
            let all = places_of_function(module, name);
            stand(&mut self.places, breakpoint, all);
        }
        (new, found)
    }

    /// The breakpoints at a place. Each counts as reached.
    pub fn reach(&mut self, place: Place) -> Vec<Breakpoint> {
        let Some((_, ids)) = self.places.get(&key(place)) else { return Vec::new() };
        let of_files = self.files.values_mut().flatten();
        let of_functions = self.functions.iter_mut().map(|(_, breakpoint)| breakpoint);
        let mut reached = Vec::new();
        for breakpoint in of_files.chain(of_functions).filter(|each| ids.contains(&each.id)) {
            breakpoint.reached += 1;
            reached.push(breakpoint.clone());
        }
        reached
    }

    /// The breakpoint of an event that has happened, which counts as reached.
    pub fn reach_event(&mut self, id: u64) -> Option<Breakpoint> {
        let (_, breakpoint) = self.events.iter_mut().find(|(_, breakpoint)| breakpoint.id == id)?;
        breakpoint.reached += 1;
        Some(breakpoint.clone())
    }

    /// Whether a breakpoint of the user stands there, or one for data breakpoints.
    pub fn has(&self, place: Place) -> bool {
        self.places.contains_key(&key(place)) || self.has_writer(place)
    }

    /// Whether the place may write what a data breakpoint is about.
    pub fn has_writer(&self, place: Place) -> bool {
        self.writers.contains_key(&key(place))
    }

    /// Replaces the places for data breakpoints.
    pub fn set_writers(&mut self, places: Vec<Place>) -> Changes {
        let old = std::mem::take(&mut self.writers);
        let set = self.add_writers(places);
        let gone = old
            .into_iter()
            .filter(|(key, _)| !self.writers.contains_key(key) && !self.places.contains_key(key));
        Changes { set, removed: gone.map(|(_, place)| place).collect() }
    }

    /// Adds places for data breakpoints; answers those that have no breakpoint so far.
    pub fn add_writers(&mut self, places: Vec<Place>) -> Vec<Place> {
        self.writers.extend(places.iter().map(|&place| (key(place), place)));
        places
    }

    /// Forgets all breakpoints; answers their places.
    pub fn clear(&mut self) -> Changes {
        self.files.clear();
        self.functions.clear();
        self.events.clear();
        let places = self.places.drain().map(|(_, (place, _))| place);
        let removed = places.chain(self.writers.drain().map(|(_, place)| place)).collect();
        Changes { set: Vec::new(), removed }
    }
}

/// A path as breakpoints are compared by.
pub fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The functions of a module that have code.
pub(crate) fn functions(module: &'static LoadedModule) -> impl Iterator<Item = &'static Function> {
    let numbers = 0..module.bytecode.function_count();
    let all = numbers.map(|number| module.function(FunctionId(number as u32)));
    all.filter(|function| !function.bytecode().is_imported())
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
