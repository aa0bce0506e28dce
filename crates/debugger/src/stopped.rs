//! What a stopped strand shows: frames, variables, parts of objects. The thread whose strand has stopped runs this code,
//! when a request for it comes.
//!
//! Objects that the user may ask about again are roots of the thread until it goes on; a *reference* is a number for one.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_bytecode::register_set::RegisterSet;
use squall_heap::{RootHandle, Word};
use squall_newspeak::lower::places::{
    FunctionVariables, Variable, VariablePlace, bodies_of, variables_of,
};
use squall_newspeak::{CompileOptions, Source};
use squall_runtime::execution::debugging;
use squall_runtime::library::inspection::{self, Frame, Part};
use squall_runtime::model::function::Function;
use squall_runtime::state::thread::Thread;

use crate::listing;
use crate::watches::Target;

/// A strand that has stopped, on its thread.
pub struct Stopped<'t> {
    /// The thread.
    pub thread: &'t mut Thread,
    /// Names that mean words in addition to those of variables. No GC point comes while they are used.
    pub given: Vec<(&'static str, Word)>,
    /// The objects that the user may ask about.
    objects: Vec<RootHandle>,
    names: &'t Names,
}

/// A variable or a part of an object, for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub name: String,
    /// Its value as text.
    pub value: String,
    /// The class of the value.
    pub class: String,
    /// The reference to its parts, or 0 if it has none.
    pub reference: usize,
    /// How many named parts it has.
    pub named: usize,
    /// How many numbered parts it has.
    pub indexed: usize,
}

/// The name of the receiver among variables.
pub const RECEIVER: &str = "self";

impl<'t> Stopped<'t> {
    /// A strand that has just stopped on this thread.
    pub fn new(thread: &'t mut Thread, names: &'t Names) -> Stopped<'t> {
        Stopped { thread, given: Vec::new(), objects: Vec::new(), names }
    }

    /// The frame with this index, the innermost being 0.
    pub fn frame(&self, index: usize) -> Option<Frame> {
        inspection::frames(self.thread).nth(index)
    }

    /// The number of the strand's vat, or 0.
    pub fn vat(&self) -> u64 {
        let vat = self.thread.strand().vat();
        vat.map_or(0, |vat| vat.number(self.thread.vm))
    }

    /// All frames, innermost first.
    pub fn frames(&self) -> Vec<Frame> {
        inspection::frames(self.thread).collect()
    }

    /// The variables of a frame, with the receiver first.
    pub fn variables(&mut self, index: usize) -> Vec<Shown> {
        let Some(frame) = self.frame(index) else { return Vec::new() };
        let receiver = frame.receiver().map(|word| (RECEIVER.to_owned(), Some(word)));
        let mut found: Vec<(String, Option<Word>)> = receiver.into_iter().collect();
        for variable in self.visible(frame) {
            // Of two with one name, the inner one is visible.
            found.retain(|(name, _)| *name != variable.name);
            found.push((variable.name.clone(), read(frame, variable.place)));
        }
        if !self.names.are_known(frame.place().function) {
            // Modules in text form have registers only.
            let registers = 0..frame.place().function.register_types.len();
            let words = registers.filter_map(|index| Some((index, frame.register(index)?)));
            found.extend(words.map(|(index, word)| (format!("r{index}"), Some(word))));
        }
        let mut shown = Vec::new();
        for (name, word) in found {
            shown.push(match word {
                Some(word) => self.show(name, word),
                None => Shown {
                    name,
                    value: "not set yet".into(),
                    class: String::new(),
                    reference: 0,
                    named: 0,
                    indexed: 0,
                },
            });
        }
        shown
    }

    /// The variables that are visible where a frame stands, inner ones last.
    fn visible(&self, frame: Frame) -> Vec<Variable> {
        let place = frame.place();
        let (_, line, column) = place.position();
        let all = self.names.of(place.function);
        let variables = all.variables.iter();
        let is_visible = |variable: &&Variable| {
            variable.scope.is_none_or(|scope| scope.contains((line, column)))
        };
        variables.filter(is_visible).cloned().collect()
    }

    /// The value of a variable that is visible in a frame.
    pub fn variable(&self, index: usize, name: &str) -> Option<Word> {
        let frame = self.frame(index)?;
        if name == RECEIVER {
            return frame.receiver();
        }
        if let Some(register) = name.strip_prefix('r')
            && !self.names.are_known(frame.place().function)
        {
            return frame.register(register.parse().ok()?);
        }
        let found = self.visible(frame).into_iter().rfind(|variable| variable.name == name)?;
        read(frame, found.place)
    }

    /// Assigns a variable of a frame; the error says why not.
    pub fn assign(&mut self, index: usize, name: &str, word: Word) -> Result<(), String> {
        let frame = self.frame(index).ok_or("there is no such frame")?;
        let found = self.visible(frame).into_iter().rfind(|variable| variable.name == name);
        let found = found.ok_or_else(|| format!("there is no variable {name} here"))?;
        if !found.is_assignable {
            return Err(format!(
                "{name} is not assigned by programs, so its value may be elsewhere, too"
            ));
        }
        let is_done = match found.place {
            VariablePlace::Register(register) => frame.set_register(register.index(), word),
            VariablePlace::Captured(_) => false,
            VariablePlace::Context(..) | VariablePlace::CapturedContext(..) => {
                match context_of(frame, found.place) {
                    Some((context, place)) => {
                        inspection::set_context_variable(self.thread, context, place, word)
                    }
                    None => false,
                }
            }
        };
        is_done.then_some(()).ok_or_else(|| format!("{name} has no place here"))
    }

    /// The parts of an object: slots, then elements, of which as many as asked for from an index on.
    pub fn parts(&mut self, reference: usize, range: Option<(usize, usize)>) -> Vec<Shown> {
        let Some(word) = self.object(reference) else { return Vec::new() };
        let (first, count) = range.unwrap_or((0, MOST_ELEMENTS));
        let mut parts = match first {
            0 => inspection::slots(self.thread.vm, word),
            _ => Vec::new(),
        };
        parts.extend(inspection::elements(word, first, count));
        // No GC point comes before all are roots.
        parts.into_iter().map(|Part { name, word }| self.show(name, word)).collect()
    }

    /// The object of a reference.
    pub fn object(&self, reference: usize) -> Option<Word> {
        let handle = self.objects.get(reference.checked_sub(1)?)?;
        Some(self.thread.mutator.get(*handle))
    }

    /// The slot of an object with a reference, for a data breakpoint; the error says why there is none.
    pub fn slot_target(&self, reference: usize, name: &str) -> Result<Target, String> {
        let word = self.object(reference).ok_or("this object is not known any more")?;
        self.slot_of(word, name)
    }

    /// The slot of an object, for a data breakpoint.
    pub fn slot_of(&self, word: Word, name: &str) -> Result<Target, String> {
        let vm = self.thread.vm;
        let slot = inspection::slot_place(vm, word, name);
        let (index, is_mutable) = slot.ok_or_else(|| format!("there is no slot {name}"))?;
        if !is_mutable {
            return Err(format!("programs do not assign {name}"));
        }
        let holder = vm.debugging.keep(word);
        Ok(Target { name: name.to_owned(), holder, index, is_slot: true })
    }

    /// A variable of a frame, or else a slot of its receiver, for a data breakpoint.
    pub fn variable_target(&self, index: usize, name: &str) -> Result<Target, String> {
        let frame = self.frame(index).ok_or("there is no such frame")?;
        let found = self.visible(frame).into_iter().rfind(|variable| variable.name == name);
        let Some(found) = found else {
            let receiver = frame.receiver();
            let none = || format!("there is no variable or slot {name} here");
            return receiver.ok_or_else(none).and_then(|receiver| {
                self.slot_of(receiver, name).map_err(|problem| match problem.contains("no slot") {
                    true => none(),
                    false => problem,
                })
            });
        };
        if !found.is_assignable {
            return Err(format!("programs do not assign {name}"));
        }
        let (context, index) = context_of(frame, found.place).ok_or_else(|| {
            format!(
                "{name} belongs to this activation alone: use a breakpoint where it is assigned"
            )
        })?;
        let holder = self.thread.vm.debugging.keep(context);
        Ok(Target { name: name.to_owned(), holder, index, is_slot: false })
    }

    /// Has the strand go on at the beginning of a frame, without those above it; the error says why it does not.
    pub fn restart(&mut self, index: usize) -> Result<(), String> {
        self.move_to(index, 0)
    }

    /// Has the innermost frame go on at a line of its function; the error says why it does not.
    pub fn go_to(&mut self, line: u32) -> Result<(), String> {
        let function = self.frame(0).ok_or("no code runs")?.place().function;
        let mut places = listing::places_of_line(function, line).into_iter();
        let none = || format!("line {line} has no code of {}", function.name());
        let first = self.move_to(0, places.next().ok_or_else(none)?);
        // The line may begin in the midst of a statement, and another one may follow there.
        let others = |problem| places.find_map(|pc| self.move_to(0, pc).ok()).ok_or(problem);
        first.or_else(others)
    }

    fn move_to(&mut self, index: usize, pc: usize) -> Result<(), String> {
        if !self.thread.stands_before {
            return Err("the strand is in the middle of a call".into());
        }
        let function = self.frame(index).ok_or("there is no such frame")?.place().function;
        let variables = self.names.registers_of(function);
        debugging::move_to(self.thread, index, pc, &variables).map_err(str::to_owned)
    }

    /// Assigns a slot of an object; the error says why not.
    pub fn assign_slot(&mut self, object: Word, name: &str, word: Word) -> Result<(), String> {
        let slot = inspection::slot_place(self.thread.vm, object, name);
        let (index, is_mutable) = slot.ok_or_else(|| format!("there is no slot {name}"))?;
        if !is_mutable {
            return Err(format!("programs do not assign {name}"));
        }
        if self.thread.is_guarded {
            return Err("its vat has transactions, which this would not be part of".into());
        }
        object.object().set_slot(&mut self.thread.mutator, index, word);
        Ok(())
    }

    /// The names of variables and slots that can stand in a frame, or the slots of an object.
    pub fn names(&self, index: usize, object: Option<Word>) -> Vec<String> {
        let vm = self.thread.vm;
        let slots = |word: Word| inspection::slots(vm, word).into_iter().map(|slot| slot.name);
        if let Some(object) = object {
            return slots(object).collect();
        }
        let Some(frame) = self.frame(index) else { return Vec::new() };
        let mut names = vec![RECEIVER.to_owned()];
        names.extend(self.visible(frame).into_iter().map(|variable| variable.name));
        names.extend(frame.receiver().into_iter().flat_map(slots));
        names
    }

    /// A word as the user sees it.
    pub fn show(&mut self, name: String, word: Word) -> Shown {
        let vm = self.thread.vm;
        let (named, indexed) = inspection::part_counts(vm, word);
        let reference = match named + indexed {
            0 => 0,
            _ => {
                self.objects.push(self.thread.mutator.push_root(word));
                self.objects.len()
            }
        };
        let (value, class) = (inspection::text(vm, word), inspection::class_name(vm, word));
        Shown { name, value, class, reference, named, indexed }
    }
}

/// The most elements that are shown unless more are asked for.
const MOST_ELEMENTS: usize = 1_000;

fn read(frame: Frame, place: VariablePlace) -> Option<Word> {
    match place {
        VariablePlace::Register(register) => frame.register(register.index()),
        VariablePlace::Captured(index) => frame.captured(index),
        VariablePlace::Context(..) | VariablePlace::CapturedContext(..) => {
            let (context, index) = context_of(frame, place)?;
            inspection::context_variable(context, index)
        }
    }
}

/// The context of a variable, and the index there.
fn context_of(frame: Frame, place: VariablePlace) -> Option<(Word, usize)> {
    match place {
        VariablePlace::Context(register, index) => {
            Some((frame.register(register.index())?, usize::from(index)))
        }
        VariablePlace::CapturedContext(captured, index) => {
            Some((frame.captured(captured)?, usize::from(index)))
        }
        VariablePlace::Register(_) | VariablePlace::Captured(_) => None,
    }
}

/// Whether a file is no module in text form.
fn is_newspeak(path: &str) -> bool {
    Path::new(path).extension().is_none_or(|extension| extension != "sqasm")
}

/// The text of a module's file, if it is known.
pub type TextOf = Box<dyn Fn(&str) -> Option<(Vec<u8>, bool)> + Send + Sync>;

/// The variables of functions, by the addresses of their modules.
pub struct Names {
    text_of: Arc<TextOf>,
    modules: Mutex<HashMap<usize, Arc<Vec<FunctionVariables>>>>,
}

impl Names {
    /// Names from texts, which this function answers for a module's path, and whether the module is one of the library.
    pub fn new(text_of: TextOf) -> Names {
        Names { text_of: Arc::new(text_of), modules: Mutex::default() }
    }

    /// What answers the first and the last line of each method and block of a file.
    pub fn bodies(&self) -> impl Fn(&str) -> Vec<(u32, u32)> + Send + 'static {
        let text_of = Arc::clone(&self.text_of);
        move |path| {
            let text = text_of(path).filter(|_| is_newspeak(path));
            text.map_or_else(Vec::new, |(bytes, _)| bodies_of(&Source::from_bytes(path, &bytes)))
        }
    }

    /// The text of a module.
    pub fn text(&self, path: &str) -> Option<Vec<u8>> {
        (self.text_of)(path).map(|(bytes, _)| bytes)
    }

    /// Whether the variables of a function have names.
    fn are_known(&self, function: &'static Function) -> bool {
        is_newspeak(function.module.bytecode.path_text())
    }

    /// The registers of a function's variables; all, if the variables have no names.
    fn registers_of(&self, function: &'static Function) -> RegisterSet {
        if !self.are_known(function) {
            return RegisterSet::ALL;
        }
        let variables = self.of(function).variables.into_iter();
        let registers = variables.filter_map(|variable| match variable.place {
            VariablePlace::Register(register) => Some(register),
            _ => None,
        });
        registers.collect()
    }

    fn of(&self, function: &'static Function) -> FunctionVariables {
        let module = function.module;
        let key = std::ptr::from_ref(module).addr();
        let mut modules = self.modules.lock();
        let all = modules.entry(key).or_insert_with(|| {
            let path = module.bytecode.path_text();
            let compiled = (self.text_of)(path).and_then(|(bytes, trusted)| {
                let source = Source::from_bytes(path, &bytes);
                variables_of(&source, &CompileOptions { trusted }).ok()
            });
            Arc::new(compiled.unwrap_or_default())
        });
        all.get(function.index as usize).cloned().unwrap_or_default()
    }
}
