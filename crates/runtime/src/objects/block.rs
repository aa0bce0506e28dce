//! Closures, contexts, and the markers of activations that closures return from. Tiers make them, and calls and
//! unwinding read them.
//!
//! A closure is an array: first the address of its function, which is aligned and so reads as a
//! small integer, then the captured values. A context is an array of variables. A home marker has
//! the address of the activation's frame, or nil once the activation was left, and the stack it
//! is on.

use squall_heap::{Object, Word};

use crate::model::function::Function;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::thread::{Thread, Window, allocated};

const FUNCTION: usize = 0;
/// Where the captured values start.
pub const FIRST_CAPTURED: usize = 1;

/// The closure in a word, if it is one.
#[inline(always)]
pub fn closure(word: Word) -> Option<Object> {
    word.as_object().filter(|object| object.layout() == known::BLOCK)
}

/// The function of a closure.
#[inline(always)]
pub fn closure_function(closure: Object) -> &'static Function {
    // SAFETY: `make_closure` stored the address of an immortal function, and no guest code reaches
    // the elements of closures.
    unsafe { &*(closure.element_unchecked(FUNCTION).bits() as *const Function) }
}

/// Makes a closure. *GC point.*
#[inline]
pub fn make_closure(
    thread: &mut Thread,
    function: &'static Function,
    captured: Window,
) -> Result<Word, Failure> {
    make_closure_of(thread, function, captured.len(), |index| captured.get(index))
}

/// Makes a closure that captures so many words; they are asked for after the *GC point*.
#[inline]
pub fn make_closure_of(
    thread: &mut Thread,
    function: &'static Function,
    count: usize,
    captured: impl Fn(usize) -> Word,
) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::Block);
    let length = FIRST_CAPTURED + count;
    let object = allocated(thread.mutator.allocate_array(known::BLOCK, class, length, Word::NIL))?;
    let function = Word::from_address(std::ptr::from_ref(function) as usize);
    // SAFETY: the closure was made for these elements.
    unsafe {
        object.initialize_element_unchecked(FUNCTION, function);
        for index in 0..count {
            object.initialize_element_unchecked(FIRST_CAPTURED + index, captured(index));
        }
    }
    Ok(object.word())
}

/// Makes a context of `size` variables. *GC point.*
pub fn make_context(thread: &mut Thread, size: usize) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::Object);
    allocated(thread.mutator.allocate_array(known::CONTEXT, class, size, Word::NIL))
        .map(Object::word)
}

/// The context in a word, if it is one that has a variable with this index.
#[inline(always)]
pub fn context(word: Word, index: usize) -> Option<Object> {
    word.as_object().filter(|object| {
        object.layout() == known::CONTEXT && {
            // SAFETY: a context is an array.
            index < unsafe { object.length_unchecked() }
        }
    })
}

/// Makes the marker of the activation with this frame. *GC point.*
pub fn make_home(thread: &mut Thread, frame: *mut Word) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::Object);
    let object = allocated(thread.mutator.allocate_slots(known::HOME, class))?;
    object.initialize_slot(0, Word::from_address(frame as usize));
    object.initialize_slot(1, Word::from_address(thread.strand_identity() as usize));
    Ok(object.word())
}

/// Whether a word is a marker.
pub fn is_home(word: Word) -> bool {
    word.as_object().is_some_and(|object| object.layout() == known::HOME)
}

/// The frame of the activation that a marker stands for, if it is still active on this stack.
pub fn home_frame(thread: &Thread, marker: Word) -> Option<*mut Word> {
    let object = marker.as_object().filter(|object| object.layout() == known::HOME)?;
    // SAFETY: markers have two slots.
    let [frame, stack] = [0, 1].map(|slot| unsafe { object.slot_unchecked(slot) });
    let here = stack.bits() == thread.strand_identity();
    (frame != Word::NIL && here).then_some(frame.bits() as *mut Word)
}

/// Records that the activation of a marker was left.
#[inline(always)]
pub fn leave_home(thread: &mut Thread, marker: Word) {
    if let Some(object) = marker.as_object().filter(|object| object.layout() == known::HOME) {
        // SAFETY: markers have two slots.
        unsafe { object.set_slot_unchecked(&mut thread.mutator, 0, Word::NIL) };
    }
}
