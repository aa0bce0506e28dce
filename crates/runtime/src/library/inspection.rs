//! What a debugger sees of strands, frames and objects. The debugger calls it, on a thread whose strand stands, or from
//! outside of the machine.
//!
//! Words that these functions answer are valid until the next GC point: the caller roots those it keeps.

use squall_bytecode::module::FunctionKind;
use squall_heap::{Format, Object, Word};

use crate::concurrency::stalls;
use crate::library::primitives::decimal::format_number;
use crate::model::behavior::SlotContent;
use crate::model::function::Function;
use crate::model::known;
use crate::objects::block::{self, FIRST_CAPTURED};
use crate::objects::number::Number;
use crate::objects::string::Text;
use crate::state::recording;
use crate::state::stack::Activation;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// A strand as it stands.
pub struct SeenStrand {
    /// Its number, which no other strand of the run has.
    pub number: u64,
    /// Its kind and place, for humans.
    pub name: String,
    /// What it does or waits for.
    pub state: String,
    /// Where it stands, innermost first.
    pub places: Vec<Place>,
}

/// An instruction of a function.
#[derive(Clone, Copy)]
pub struct Place {
    /// The function.
    pub function: &'static Function,
    /// The index of the instruction.
    pub pc: usize,
}

impl Place {
    /// File, line and column.
    pub fn position(self) -> (&'static str, u32, u32) {
        self.function.position(self.pc)
    }
}

/// All strands that have something to do, in the order in which they were made. The calling thread is none of the
/// machine's, or in native state; the machine stands for a moment.
pub fn strands(vm: &Vm) -> Vec<SeenStrand> {
    vm.heap.while_stopped(|| {
        let mut seen = Vec::new();
        vm.look_at_running(&mut |strand, place, activations| {
            seen.push(SeenStrand {
                number: recording::number_of(strand),
                name: stalls::name(&vm.strands, strand),
                state: format!("runs on {place}"),
                places: places(activations),
            });
        });
        for strand in stalls::idle_strands(vm) {
            seen.push(SeenStrand {
                number: recording::number_of(strand),
                name: stalls::name(&vm.strands, strand),
                state: stalls::state_of(vm, strand),
                places: places(&mut strand.activations()),
            });
        }
        seen.sort_by_key(|strand| strand.number);
        seen
    })
}

/// The deepest stack of which all activations are shown.
const MOST_PLACES: usize = 10_000;

fn places(activations: &mut dyn Iterator<Item = Activation>) -> Vec<Place> {
    let place = |activation: Activation| Place { function: activation.function, pc: activation.pc };
    activations.take(MOST_PLACES).map(place).collect()
}

/// A frame of the strand that runs on the calling thread, which stands before an instruction.
#[derive(Clone, Copy)]
pub struct Frame {
    activation: Activation,
    is_innermost: bool,
}

/// The frames of the strand that runs on this thread, innermost first.
pub fn frames(thread: &Thread) -> impl Iterator<Item = Frame> {
    let stands_before = thread.stands_before;
    thread.activations().enumerate().map(move |(depth, activation)| Frame {
        activation,
        is_innermost: depth == 0 && stands_before,
    })
}

impl Frame {
    /// Where it stands.
    pub fn place(self) -> Place {
        Place { function: self.activation.function, pc: self.activation.pc }
    }

    /// Its address, which no other frame of the strand has at the same time.
    pub fn address(self) -> usize {
        self.activation.frame.addr()
    }

    /// The instruction after the one in progress.
    pub fn next_pc(self) -> usize {
        self.activation.pc + self.activation.instruction_words()
    }

    /// The word in a register, if the register holds one that is still used.
    pub fn register(self, index: usize) -> Option<Word> {
        self.cell(index).map(|cell| {
            // SAFETY: see `cell`.
            unsafe { cell.read() }
        })
    }

    /// Replaces the word in a register; whether the register holds one that is still used.
    pub fn set_register(self, index: usize, word: Word) -> bool {
        let cell = self.cell(index);
        if let Some(cell) = cell {
            // SAFETY: see `cell`; the register holds any word.
            unsafe { cell.write(word) };
        }
        cell.is_some()
    }

    fn cell(self, index: usize) -> Option<*mut Word> {
        let maps = self.activation.function.frame_maps();
        let live = match self.is_innermost {
            true => maps.before(self.activation.pc),
            false => *maps.at(self.activation.pc),
        };
        let is_live = live.iter().any(|register| register.index() == index);
        // SAFETY: the map names registers of the frame that hold words there. The frame is active, since it was found on
        // the calling thread's stack and its strand stands.
        is_live.then(|| unsafe { self.activation.register(index) })
    }

    /// The closure whose code this is.
    fn closure(self) -> Option<Word> {
        let is_block = self.activation.function.kind == FunctionKind::Block;
        is_block.then(|| self.register(0)).flatten()
    }

    /// The receiver of the method, or of the method around the block.
    pub fn receiver(self) -> Option<Word> {
        match self.activation.function.kind {
            FunctionKind::Block => self.captured(0),
            FunctionKind::Method => self.register(0),
            FunctionKind::Plain | FunctionKind::Process => None,
        }
    }

    /// What the closure of a block has captured at an index.
    pub fn captured(self, index: usize) -> Option<Word> {
        let closure = block::closure(self.closure()?)?;
        let index = FIRST_CAPTURED + index;
        (index < closure.length()).then(|| closure.element(index))
    }
}

/// The variable at an index of a context.
pub fn context_variable(context: Word, index: usize) -> Option<Word> {
    block::context(context, index).map(|context| context.element(index))
}

/// Replaces the variable at an index of a context; whether there is one.
pub fn set_context_variable(thread: &mut Thread, context: Word, index: usize, word: Word) -> bool {
    let context = block::context(context, index);
    context.inspect(|context| context.set_element(&mut thread.mutator, index, word)).is_some()
}

/// A part of an object: its name, and what it holds.
pub struct Part {
    /// The name of a slot, or the index of an element from 1.
    pub name: String,
    /// The word there.
    pub word: Word,
}

/// The number of an object's named slots, and of its elements.
pub fn part_counts(vm: &Vm, word: Word) -> (usize, usize) {
    let Some(object) = word.as_object() else { return (0, 0) };
    let behavior = vm.behavior_of_layout(object.layout());
    let is_shown = |content: SlotContent| content.is_data();
    let named = behavior
        .map_or(0, |behavior| behavior.slots.iter().filter(|slot| is_shown(slot.content)).count());
    (named, elements_of(word).map_or(0, |object| object.length()))
}

/// The elements of an array.
fn elements_of(word: Word) -> Option<Object> {
    let is_array = word.as_object().is_some_and(|object| object.layout().format() == Format::Array);
    let is_text = Text::of(word).is_some() || block::closure(word).is_some();
    word.as_object().filter(|_| is_array && !is_text)
}

/// The named slots of an object.
pub fn slots(vm: &Vm, word: Word) -> Vec<Part> {
    let Some(object) = word.as_object() else { return Vec::new() };
    let Some(behavior) = vm.behavior_of_layout(object.layout()) else { return Vec::new() };
    let slots = behavior.slots.iter().enumerate();
    let part = |(index, slot): (usize, &crate::model::behavior::SlotCell)| {
        let name = vm.modules.symbols.text(slot.content.name()?).to_owned();
        Some(Part { name, word: object.slot(index) })
    };
    slots.filter_map(part).collect()
}

/// The index of an object's slot with a name, and whether programs may assign it.
pub fn slot_place(vm: &Vm, word: Word, name: &str) -> Option<(usize, bool)> {
    let behavior = vm.behavior_of_layout(word.as_object()?.layout())?;
    let has_name = |slot: &crate::model::behavior::SlotCell| {
        slot.content.name().is_some_and(|other| vm.modules.symbols.text(other) == name)
    };
    let index = behavior.slots.iter().position(has_name)?;
    Some((index, behavior.slots[index].mutable))
}

/// Elements of an array, from an index on.
pub fn elements(word: Word, first: usize, count: usize) -> Vec<Part> {
    let Some(array) = elements_of(word) else { return Vec::new() };
    let indices = first..array.length().min(first.saturating_add(count));
    let part = |index: usize| Part { name: (index + 1).to_string(), word: array.element(index) };
    indices.map(part).collect()
}

/// The most characters of a text that are shown.
const MOST_CHARACTERS: usize = 200;

/// A word as text, without running any code of the program.
pub fn text(vm: &Vm, word: Word) -> String {
    if let Some(text) = Text::of(word) {
        return quoted(&text.to_rust(), known::layout_of(word) == known::SYMBOL);
    }
    match (word, Number::of(word)) {
        (Word::NIL, _) => "nil".into(),
        (Word::TRUE, _) => "true".into(),
        (Word::FALSE, _) => "false".into(),
        (_, Some(number)) => format_number(&number),
        _ => match vm.behavior_of_layout(known::layout_of(word)) {
            Some(behavior) => with_article(&behavior.full_name(), elements_of(word)),
            None => "an object of the machine".into(),
        },
    }
}

/// The name of a word's class.
pub fn class_name(vm: &Vm, word: Word) -> String {
    let behavior = vm.behavior_of_layout(known::layout_of(word));
    behavior.map(|behavior| behavior.full_name()).unwrap_or_default()
}

fn with_article(class: &str, elements: Option<Object>) -> String {
    let article = if class.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
    match elements {
        Some(array) => format!("{article} {class} ({})", array.length()),
        None => format!("{article} {class}"),
    }
}

fn quoted(text: &str, is_symbol: bool) -> String {
    let mut shown: String = text.chars().take(MOST_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    let shown = shown.replace('\'', "''");
    if is_symbol { format!("#{shown}") } else { format!("'{shown}'") }
}
