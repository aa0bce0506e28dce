//! The code of primitives: functions of a thread and a window. The tables of primitives make it and tiers call it
//! through this module; the model stores the address only, so the type is right by construction.

use squall_heap::{Format, WORD_BYTES, Word};

use crate::model::outcome::{Failure, FailureReason, Meeting, Outcome};
use crate::model::primitive::{Code, Cost, Primitive, Shape};
use crate::state::thread::{Thread, Window};
use crate::state::vm::Vm;

/// The most bytes that a slow primitive passes over in a sandbox.
const FEW_BYTES: usize = 128 << 10;

/// The units of work for a byte in such a primitive.
const UNITS_OF_FEW: usize = 4;

/// The code of a primitive.
pub type PrimitiveFunction = fn(&mut Thread, Window) -> Outcome;

/// The *leaf* of a primitive: does its work for most arguments, and answers none for the others.
///
/// A leaf depends on its arguments and on what never changes, and has no effect. It reaches no GC point: it gets nothing
/// to allocate with. So machine code calls it like an operation. A primitive of one argument ignores the second word.
pub type Leaf = fn(&Vm, Word, Word) -> Option<Word>;

/// The *short form* of a primitive that has an effect: does its work for many arguments, and answers none, before anything
/// has happened, for the others.
///
/// It gets the primitive's arguments, which are at most four, and any words beyond those. It reaches no GC point and signals
/// nothing, so the strand's state need not be saved. Only machine code calls it, outside of transactions.
pub type ShortForm = fn(&mut Thread, [Word; 4]) -> Option<Word>;

/// The *direct form* of a primitive after which another strand may go on here: does its work in the usual case, and parks the
/// strand if it has to wait.
///
/// It gets the primitive's arguments. It reaches no GC point. Only machine code calls it, with the state saved and the call
/// noted. In a transaction no case is usual.
pub type DirectForm = fn(&mut Thread, Window) -> Meeting;

impl Primitive {
    /// A primitive that tiers just call.
    pub const fn ordinary(name: &'static str, run: PrimitiveFunction) -> Primitive {
        Primitive::shaped(name, Shape::Ordinary, run)
    }

    /// A primitive with an effect beyond memory.
    pub const fn effect(name: &'static str, run: PrimitiveFunction) -> Primitive {
        Primitive::shaped(name, Shape::Effect, run)
    }

    /// A primitive with a leaf; `run` is for the arguments for which the leaf answers none.
    pub const fn with_leaf(name: &'static str, leaf: Leaf, run: PrimitiveFunction) -> Primitive {
        let primitive = Primitive::ordinary(name, run);
        Primitive { leaf: Code(leaf as *const ()), ..primitive }
    }

    /// A primitive that tiers may do themselves, with a leaf.
    pub const fn shaped_with_leaf(
        name: &'static str,
        shape: Shape,
        leaf: Leaf,
        run: PrimitiveFunction,
    ) -> Primitive {
        Primitive { shape, ..Primitive::with_leaf(name, leaf, run) }
    }

    /// A primitive that tiers may do themselves, or that has an effect.
    pub const fn shaped(name: &'static str, shape: Shape, run: PrimitiveFunction) -> Primitive {
        let (code, none) = (Code(run as *const ()), Code(std::ptr::null()));
        Primitive {
            name,
            code,
            leaf: none,
            short_form: none,
            direct_form: none,
            shape,
            cost: Cost::Call,
        }
    }

    /// The same, with a short form.
    pub const fn with_short_form(self, short_form: ShortForm) -> Primitive {
        Primitive { short_form: Code(short_form as *const ()), ..self }
    }

    /// The same, with a direct form.
    pub const fn with_direct_form(self, direct_form: DirectForm) -> Primitive {
        Primitive { direct_form: Code(direct_form as *const ()), ..self }
    }

    /// The same, passing over its arguments once or a few times.
    pub const fn by_bytes(self) -> Primitive {
        Primitive { cost: Cost::Bytes, ..self }
    }

    /// The same, slowly, so that guests have few bytes.
    pub const fn by_few_bytes(self) -> Primitive {
        Primitive { cost: Cost::FewBytes, ..self }
    }

    /// The same, done in pieces if there is much to do.
    pub const fn in_pieces(self) -> Primitive {
        Primitive { cost: Cost::Pieces, ..self }
    }

    /// Runs it. The window's words are its arguments, and roots while it runs.
    #[inline(always)]
    pub fn run(&self, thread: &mut Thread, window: Window) -> Outcome {
        if let Some(value) = self.run_leaf(thread.vm, window) {
            return Outcome::Return(value);
        }
        if self.cost != Cost::Call && thread.sandbox.is_some() {
            let bytes = bytes_of(window);
            match self.cost {
                Cost::FewBytes if bytes > FEW_BYTES => {
                    return Failure::new(FailureReason::MessageTooLarge).into();
                }
                Cost::FewBytes => thread.charge(bytes * UNITS_OF_FEW),
                _ => thread.charge_bytes(bytes),
            }
        }
        // SAFETY: only `shaped` makes the code of a primitive, from a function of this type.
        let run = unsafe { std::mem::transmute::<*const (), PrimitiveFunction>(self.code.0) };
        run(thread, window)
    }

    /// The leaf, if it has one.
    #[inline(always)]
    pub fn leaf(&self) -> Option<Leaf> {
        // SAFETY: only `shaped` and `with_leaf` set the leaf: null, or a function of this type, whose option is null for none.
        unsafe { std::mem::transmute::<*const (), Option<Leaf>>(self.leaf.0) }
    }

    /// The short form, if it has one.
    #[inline(always)]
    pub fn short_form(&self) -> Option<ShortForm> {
        // SAFETY: only `shaped` and `with_short_form` set it: null, or a function of this type, whose option is null for none.
        unsafe { std::mem::transmute::<*const (), Option<ShortForm>>(self.short_form.0) }
    }

    /// The direct form, if it has one.
    #[inline(always)]
    pub fn direct_form(&self) -> Option<DirectForm> {
        // SAFETY: only `shaped` and `with_direct_form` set it: null, or a function of this type, whose option is null for
        // none.
        unsafe { std::mem::transmute::<*const (), Option<DirectForm>>(self.direct_form.0) }
    }

    /// The value for the window's words, if the leaf answers one.
    #[inline(always)]
    pub fn run_leaf(&self, vm: &Vm, window: Window) -> Option<Word> {
        let leaf = self.leaf()?;
        let second = if window.len() > 1 { window.get(1) } else { Word::NIL };
        leaf(vm, window.get(0), second)
    }
}

/// The bytes of texts, arrays and large integers among the arguments.
#[cold]
fn bytes_of(window: Window) -> usize {
    let bytes = |word: Word| {
        let object = word.as_object()?;
        let format = object.layout().format();
        match format {
            Format::Bytes => Some(object.length()),
            _ if format.has_elements() => Some(object.length() * WORD_BYTES),
            _ => None,
        }
    };
    window.words().filter_map(bytes).sum()
}
