//! The table of operations: the single source for printing, parsing, verifying and for the passes' questions about
//! effects.
//!
//! | effect | meaning |
//! |---|---|
//! | `Pure` | depends on its arguments alone: may be removed, merged or moved to where its arguments are known |
//! | `Guard` | leaves the unit through its state unless a condition holds: may be merged, and removed if the condition is known |
//! | `Read` | reads memory that a `Write` or a `Call` may change |
//! | `Write` | writes memory, and does nothing else |
//! | `Call` | leaves machine code in a way that may reach a GC point, run guest code, and never return. Its state says what the frame holds meanwhile |
//! | `Allocate` | makes an object. That may reach a GC point as a call does, but changes no other memory. Its state says what the frame holds if the runtime makes the object |
//! | `Frame` | reads or writes the frame; `residence` inserts these |
//!
//! # Semantics
//!
//! Arguments of integer arithmetic are `i64`, those of `f…` are `f64`. `add`, `sub` and `mul` wrap around. The `…_small`
//! forms are guards: they leave if the result is no small integer. `quotient`, `remainder` and `modulo` need a divisor
//! that is not zero, which a guard before them shows; `modulo` has the divisor's sign.
//!
//! `load_part` reads a slot of a class object, which nothing changes.
//!
//! `assume` and `assume_within` are guards whose condition the branch to their block has shown; they must not be moved
//! out of there. `leaf` calls a primitive's leaf, which depends on its arguments alone, and leaves if that has no answer;
//! `try_leaf` answers `NO_ANSWER` then, and so does `try_tag_double` for doubles that need a box. `try_short` does so, too,
//! and has an effect outside of memory if it has an answer. `identical` is `same`, but compares boxed numbers and far
//! references by contents, by the leaf of its primitive. `same_text` compares a text with any word, `text_length` counts a
//! text's characters, and `character_at` answers the string of the one at an index, from one: each by the leaf of its
//! primitive where more is needed than a look at the objects. `character_at` leaves if that has no answer.
//!
//! The kind of a slot is what all objects of a layout have held there. A unit relies on the kinds that its `assume_kept` name,
//! and is not entered after one of them has changed. `guard_slot_kind` leaves if one of them, whichever, has changed since. That
//! holds until a call, or until an `admit`, which widens the kind of a slot so that it admits a word: that comes before each
//! store of a word that the kind may not admit. `assume_kept` is a word from such a slot, with what the kind says of it: it
//! stands where the guard holds.
//!
//! `guard_immediate` leaves if its double needs a box, and `tag_double` takes only doubles that need none. `box_double` is
//! the word of any double; only exits have it in their states, and make the box.
//!
//! An `absent_…` operation stands for an object that is not made: only exits have it in their states, and make the object.
//! Its arguments are the object's parts: the class and the slots, the variables, or what the closure captures. An allocation
//! with an absent object in its state leaves the unit if there is no memory without a collection.
//!
//! The `…guarded…` operations access what transactions of other strands may change. They leave before the access if
//! something is in its way. Each stands where it must: what it reads may have changed since the last one.
//!
//! A `call` has the callee's window in its operand, and the arguments as arguments. `send` does the same through its
//! site. `instruction` executes the bytecode at its state's pc by a helper of the baseline tier: the state stands
//! *before* that bytecode, the helper finds operands in the frame and leaves the result there, too. Its operand is the
//! first place of the frame that holds nothing afterwards. The `new_…` operations are such instructions with a known
//! meaning: machine code makes the object if there is room, and the helper otherwise. `new_array_of` has the class and the
//! length as arguments, and for the helper the same operand as `instruction`. `decide` executes an instruction that
//! branches, and answers whether it jumped; `load_frame` reads the register that it left in the frame.

use std::fmt;

use crate::ir::entities::{ActivationId, Block, FunctionRef, PrimitiveRef, StateId, Value};
use crate::ir::types::{Layouts, Range};
use crate::ir::values::{
    Bits, Cell, Condition, Place, Site, SlotKind, Source, Target, Width, WordBits,
};

/// The effect of an operation; the module's head explains them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "explained in the module's head")]
pub enum Effect {
    Pure,
    Guard,
    Read,
    Write,
    Call,
    Allocate,
    Frame,
}

/// The kind of result that an operation has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Results {
    /// A tagged word.
    Word,
    /// A raw integer.
    I64,
    /// A raw double.
    F64,
    /// A truth value.
    Bool,
    /// A word, or raw bits, as the function's register has it.
    Any,
    /// Nothing.
    None,
}

/// A value that an operation contains, in the text form.
pub trait Operand: Copy {
    /// Writes it.
    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// Reads it from one word of text.
    fn read(text: &str) -> Option<Self>;
}

macro_rules! operations {
    ($($mnemonic:literal $name:ident $(($operand:ty))? $arguments:ident $results:ident $effect:ident;)*) => {
        /// An operation, without its arguments.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Op {
            $(#[doc = concat!("`", $mnemonic, "`")] $name $(($operand))?,)*
        }

        impl Op {
            /// The name in the text form.
            pub fn mnemonic(self) -> &'static str {
                match self { $(operations!(@pattern $name $(($operand))?) => $mnemonic,)* }
            }

            /// The effect.
            pub fn effect(self) -> Effect {
                match self { $(operations!(@pattern $name $(($operand))?) => Effect::$effect,)* }
            }

            /// The kind of result.
            pub fn results(self) -> Results {
                match self { $(operations!(@pattern $name $(($operand))?) => Results::$results,)* }
            }

            /// The representations of its arguments: a letter each; `*` for any number of words or raw values.
            pub fn arguments(self) -> &'static str {
                match self {
                    $(operations!(@pattern $name $(($operand))?) => stringify!($arguments),)*
                }
            }

            /// The operation of this name with the operand that the text gives.
            pub fn read(mnemonic: &str, operand: Option<&str>) -> Option<Op> {
                match mnemonic {
                    $($mnemonic => operations!(@read operand $name $(($operand))?),)*
                    _ => None,
                }
            }

            /// Writes its operand, if it has one.
            pub fn write_operand(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(operations!(@bind operand $name $(($operand))?) =>
                    operations!(@write operand f $(($operand))?),)* }
            }
        }
    };
    (@pattern $name:ident) => { Op::$name };
    (@pattern $name:ident ($operand:ty)) => { Op::$name(..) };
    (@bind $operand:ident $name:ident) => { Op::$name };
    (@bind $bound:ident $name:ident ($operand:ty)) => { Op::$name($bound) };
    (@write $operand:ident $f:ident) => { Ok(()) };
    (@write $bound:ident $f:ident ($operand:ty)) => {{ $f.write_str(" ")?; $bound.write($f) }};
    (@read $operand:ident $name:ident) => { $operand.is_none().then_some(Op::$name) };
    (@read $text:ident $name:ident ($operand:ty)) => {
        Some(Op::$name(<$operand as Operand>::read($text?)?))
    };
}

// The column after the name has a letter for each argument: w(ord), i(64), f(64), b(ool), `n` for none, and `any` for
// any number of values of any representation.
operations! {
    // Constants.
    "integer" Integer(i64) n I64 Pure;
    "float" Float(Bits) n F64 Pure;
    "boolean" Boolean(bool) n Bool Pure;
    "word" Word(WordBits) n Word Pure;
    "cell" Cell(Cell) n Word Pure;
    "argument" Argument(Place) n Any Pure;

    // Representations.
    "tag_integer" TagInteger i Word Pure;
    "untag_integer" UntagInteger w I64 Pure;
    "tag_double" TagDouble f Word Pure;
    "box_double" BoxDouble f Word Pure;
    "try_tag_double" TryTagDouble f Word Pure;
    "untag_double" UntagDouble w F64 Pure;
    "tag_boolean" TagBoolean b Word Pure;
    "untag_boolean" UntagBoolean w Bool Pure;
    "extend" Extend b I64 Pure;
    "test" Test i Bool Pure;
    "bits_of" BitsOf f I64 Pure;
    "from_bits" FromBits i F64 Pure;

    // Guards.
    "guard_integer" GuardInteger w Word Guard;
    "guard_double" GuardDouble w Word Guard;
    "guard_boolean" GuardBoolean w Word Guard;
    "guard_layout" GuardLayout(Layouts) w Word Guard;
    "guard_nil" GuardNil w Word Guard;
    "guard_not_nil" GuardNotNil w Word Guard;
    "guard_plain" GuardPlain w Word Guard;
    "guard_immediate" GuardImmediate f F64 Guard;
    "guard_function" GuardFunction(FunctionRef) w Word Guard;
    "guard_slot_kind" GuardSlotKind(SlotKind) n None Guard;
    "assume" Assume(Layouts) w Word Pure;
    "assume_kept" AssumeKept(SlotKind) w Word Pure;
    "assume_within" AssumeWithin(Range) i I64 Pure;
    "guard" Guard b None Guard;
    "guard_not" GuardNot b None Guard;
    "leaf" Leaf(PrimitiveRef) any Word Guard;
    "try_leaf" TryLeaf(PrimitiveRef) any Word Pure;
    "try_short" TryShort(PrimitiveRef) any Word Write;
    "character_at" CharacterAt(PrimitiveRef) ww Word Guard;
    "poll" Poll n None Guard;
    "charge_turn" ChargeTurn n None Guard;
    "charge_call" ChargeCall n None Guard;
    "guard_not_killed" GuardNotKilled n None Guard;
    "load_guarded_slot" LoadGuardedSlot(Place) w Word Guard;
    "store_guarded_slot" StoreGuardedSlot(Place) ww None Guard;
    "load_guarded_element" LoadGuardedElement wi Word Guard;
    "store_guarded_element" StoreGuardedElement wiw None Guard;

    // Integers.
    "add" Add ii I64 Pure;
    "sub" Subtract ii I64 Pure;
    "mul" Multiply ii I64 Pure;
    "add_small" AddSmall ii I64 Guard;
    "sub_small" SubtractSmall ii I64 Guard;
    "mul_small" MultiplySmall ii I64 Guard;
    "quotient" Quotient ii I64 Pure;
    "remainder" Remainder ii I64 Pure;
    "modulo" Modulo ii I64 Pure;
    "and" And ii I64 Pure;
    "or" Or ii I64 Pure;
    "xor" Xor ii I64 Pure;
    "shl" ShiftLeft ii I64 Pure;
    "shr" ShiftRight ii I64 Pure;
    "ushr" ShiftRightUnsigned ii I64 Pure;
    "wrap" Wrap(Width) i I64 Pure;
    "compare" Compare(Condition) ii Bool Pure;

    // Doubles.
    "fadd" FloatAdd ff F64 Pure;
    "fsub" FloatSubtract ff F64 Pure;
    "fmul" FloatMultiply ff F64 Pure;
    "fdiv" FloatDivide ff F64 Pure;
    "fneg" FloatNegate f F64 Pure;
    "fsqrt" FloatSquareRoot f F64 Pure;
    "fcompare" FloatCompare(Condition) ff Bool Pure;
    "to_double" ToDouble i F64 Pure;
    "number_to_double" NumberToDouble w F64 Pure;

    // Truth.
    "not" Not b Bool Pure;
    "same" Same ww Bool Pure;
    "identical" Identical(PrimitiveRef) ww Bool Pure;
    "same_text" SameText(PrimitiveRef) ww Bool Pure;
    "text_length" TextLength(PrimitiveRef) w Word Pure;
    "has_layout" HasLayout(Layouts) w Bool Pure;
    "takes_arguments" TakesArguments(Place) w Bool Pure;

    // Memory.
    "load_slot" LoadSlot(Place) w Word Read;
    "class_of" ClassOf w Word Pure;
    "load_part" LoadPart(Place) w Word Pure;
    "store_slot" StoreSlot(Place) ww None Write;
    "length" Length w I64 Pure;
    "load_element" LoadElement wi Word Read;
    "load_captured" LoadCaptured(Place) w Word Pure;
    "frame_word" FrameWord(Place) n Word Pure;
    "strand_word" StrandWord n Word Pure;
    "store_element" StoreElement wiw None Write;
    "barrier" Barrier ww None Write;
    "admit" Admit(SlotKind) w None Write;

    // Calls.
    "call" Call(Target) any Any Call;
    "send" Send(Place) any Any Call;
    "call_closure" CallClosure(Place) any Any Call;
    "instruction" Instruction(Place) n Any Call;
    "decide" Decide n Bool Call;

    // Objects.
    "new_closure" NewClosure(FunctionRef) any Word Allocate;
    "new_context" NewContext(Place) n Word Allocate;
    "new_array" NewArray(Place) n Word Allocate;
    "new_object" NewObject(u32) w Word Allocate;
    "new_array_of" NewArrayOf(Place) wi Word Allocate;

    // Objects that are not made, in states.
    "absent_object" AbsentObject(u32) any Word Pure;
    "absent_context" AbsentContext any Word Pure;
    "absent_closure" AbsentClosure(FunctionRef) any Word Pure;

    // The frame.
    "store_frame" StoreFrame(Place) any None Frame;
    "store_site" StoreSite(Site) n None Frame;
    "load_frame" LoadFrame(Place) n Any Frame;
    "reload" Reload(Source) any None Frame;
}

impl Op {
    /// Whether it can be merged with an equal one that dominates it, memory apart.
    pub fn is_pure(self) -> bool {
        self.effect() == Effect::Pure
    }

    /// Whether it may leave the unit, and so needs a state.
    pub fn needs_state(self) -> bool {
        matches!(self.effect(), Effect::Guard | Effect::Call | Effect::Allocate)
    }

    /// Whether it is a constant, which the lowering makes anew wherever it is used.
    pub fn is_constant(self) -> bool {
        matches!(self, Op::Integer(_) | Op::Float(_) | Op::Boolean(_) | Op::Word(_) | Op::Cell(_))
    }

    /// Whether the operation is right only where it stands, though it is pure or a guard.
    pub fn is_pinned(self) -> bool {
        let is_pinned = matches!(
            self,
            Op::Assume(_)
                | Op::AssumeWithin(_)
                | Op::Argument(_)
                | Op::Poll
                | Op::ChargeTurn
                | Op::ChargeCall
                | Op::GuardNotKilled
        );
        is_pinned || self.is_guarded_access() || self.is_absent()
    }

    /// Whether it stands for an object that only exits make.
    pub fn is_absent(self) -> bool {
        matches!(self, Op::AbsentObject(_) | Op::AbsentContext | Op::AbsentClosure(_))
    }

    /// Whether the result is its argument, of whose range more is known.
    pub fn narrows(self) -> bool {
        matches!(self, Op::AssumeWithin(_))
    }

    /// Whether there is no code for it, since exits make what it stands for.
    pub fn is_made_by_exits(self) -> bool {
        self == Op::BoxDouble || self.is_absent()
    }

    /// Whether it is a guarded access.
    pub fn is_guarded_access(self) -> bool {
        matches!(
            self,
            Op::LoadGuardedSlot(_)
                | Op::StoreGuardedSlot(_)
                | Op::LoadGuardedElement
                | Op::StoreGuardedElement
        )
    }

    /// Whether leaving the unit by it says nothing about the code.
    pub fn leaves_in_passing(self) -> bool {
        let asks_thread =
            matches!(self, Op::Poll | Op::ChargeTurn | Op::ChargeCall | Op::GuardNotKilled);
        asks_thread || self.is_guarded_access()
    }

    /// Whether it can be removed if nothing uses its result. Leaving the unit never changes what the program does, so
    /// arithmetic that leaves for some results is not missed. Other guards are: the code behind them relies on them.
    pub fn is_removable(self) -> bool {
        let only_computes = matches!(
            self,
            Op::AddSmall | Op::SubtractSmall | Op::MultiplySmall | Op::GuardImmediate
        );
        let only_reads = matches!(self.effect(), Effect::Pure | Effect::Read);
        // Nobody can tell whether an object was made that nothing has; but there may be no memory for a long array, and it costs
        // fuel.
        let only_makes = self.allocates() && !matches!(self, Op::NewArrayOf(_));
        only_reads || only_computes || only_makes || matches!(self, Op::LoadFrame(_))
    }

    /// Whether it makes an object.
    pub fn allocates(self) -> bool {
        self.effect() == Effect::Allocate
    }

    /// Whether it may reach a GC point, so that words must be in the frame meanwhile.
    pub fn may_collect(self) -> bool {
        matches!(self.effect(), Effect::Call | Effect::Allocate)
    }

    /// Whether the result is its argument's word, of which more is known.
    pub fn refines(self) -> bool {
        matches!(
            self,
            Op::GuardInteger
                | Op::GuardDouble
                | Op::GuardBoolean
                | Op::GuardLayout(_)
                | Op::GuardNil
                | Op::GuardNotNil
                | Op::GuardPlain
                | Op::GuardFunction(_)
                | Op::Assume(_)
                | Op::AssumeKept(_)
        )
    }

    /// Whether the helper executes the bytecode at the state's pc, so that the state stands before it.
    pub fn is_instruction(self) -> bool {
        matches!(self, Op::Instruction(_) | Op::Decide) || self.allocates()
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())?;
        self.write_operand(f)
    }
}

macro_rules! plain_operands {
    ($($kind:ty),*) => {
        $(impl Operand for $kind {
            fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }

            fn read(text: &str) -> Option<$kind> {
                text.parse().ok()
            }
        })*
    };
}

plain_operands!(
    i64, u32, bool, Bits, WordBits, Cell, Place, SlotKind, Source, Target, Site, Width, Condition
);

impl Operand for Layouts {
    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(text: &str) -> Option<Layouts> {
        if text == "*" {
            return Some(Layouts::ALL);
        }
        text.split('|').try_fold(Layouts::NONE, |all, layout| {
            Some(all.with(u32::from_str_radix(layout, 16).ok()?))
        })
    }
}

impl Operand for Range {
    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.least, self.greatest)
    }

    fn read(text: &str) -> Option<Range> {
        let (least, greatest) = text.split_once("..")?;
        let (least, greatest) = (least.parse().ok()?, greatest.parse().ok()?);
        (least <= greatest).then(|| Range::new(least, greatest))
    }
}

macro_rules! entity_operands {
    ($($kind:ident),*) => {
        $(impl Operand for $kind {
            fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }

            fn read(text: &str) -> Option<$kind> {
                text.strip_prefix($kind::PREFIX)?.parse().ok().map($kind)
            }
        })*
    };
}

entity_operands!(FunctionRef, PrimitiveRef, ActivationId, Block, StateId, Value);
