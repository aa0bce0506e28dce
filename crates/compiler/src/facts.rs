//! The border towards the runtime, inwards: all that the compiler knows of the program that runs. The tier that installs
//! compiled code implements [`Facts`]; tests do so without a virtual machine.
//!
//! # Which answers may change
//!
//! Functions, live maps and callees never change. Feedback (sites, branches) may change while a unit is compiled: each
//! answer is an advice that the code checks by guards. All addresses lead to immortal memory.
//!
//! # Never executed
//!
//! A site that has seen no receiver, and a side of a branch that was not taken, were never executed: the compiler leaves
//! the unit there. So a tier that executes a site without recording it must not report the site as empty.

use squall_bytecode::entities::{ConstantId, FunctionId};
use squall_bytecode::liveness::FrameMaps;
use squall_bytecode::module::Function;

use crate::ir::entities::{FunctionRef, PrimitiveRef};
use crate::ir::values::Cell;

/// What the compiler may ask.
pub trait Facts {
    /// The bytecode of a function.
    fn function(&self, function: FunctionRef) -> &Function;

    /// Whether its code may be part of another function's: not if a debugger has set breakpoints there.
    fn may_be_inlined(&self, function: FunctionRef) -> bool;

    /// Its live registers.
    fn frame_maps(&self, function: FunctionRef) -> &FrameMaps;

    /// The function that a function's code names by its index in the module.
    fn callee(&self, caller: FunctionRef, function: FunctionId) -> FunctionRef;

    /// What the site of the instruction at `pc` has seen.
    fn site(&self, function: FunctionRef, pc: u32) -> SiteFacts;

    /// Which ways the branch at `pc` has gone.
    fn branch(&self, function: FunctionRef, pc: u32) -> BranchFacts;

    /// The object of a constant.
    fn constant(&self, function: FunctionRef, constant: ConstantId) -> ConstantFact;

    /// The name of a primitive: the selector under which the library calls it.
    fn primitive(&self, primitive: PrimitiveRef) -> &str;

    /// Whether a primitive has a leaf: a function of up to two words that reaches no GC point, has no effect, and depends on
    /// nothing that changes. It answers [`NO_ANSWER`](crate::words::NO_ANSWER) where it does not know better.
    fn has_leaf(&self, primitive: PrimitiveRef) -> bool;

    /// Whether a primitive has a short form: a function of up to four words that reaches no GC point and signals nothing, but
    /// has an effect unless it answers none.
    fn has_short_form(&self, primitive: PrimitiveRef) -> bool;

    /// The layout of the instances of a class whose class object has this layout, if `instantiate` makes them with slots.
    fn instance_layout(&self, class: u32) -> Option<u32>;

    /// The same for classes whose instances are arrays of any length.
    fn array_layout(&self, class: u32) -> Option<u32>;

    /// Whether objects of one layout are instances of the classes whose class objects have another layout; `None` if
    /// those are no class objects.
    fn is_instance(&self, layout: u32, class: u32) -> Option<bool>;

    /// The layout of the direct instances of the class whose class object has this layout.
    fn layout_of_instances(&self, class: u32) -> Option<u32>;

    /// What the objects of a layout have held in a slot so far: [`NIL_ALONE`](crate::words::NIL_ALONE), the bits of a
    /// layout, or [`ANYTHING`](crate::words::ANYTHING). It may widen at any time, but never narrows.
    fn slot_kind(&self, layout: u32, slot: u32) -> u32;

    /// Whether instances with this layout are checked at the end of their initializer.
    fn is_checked(&self, layout: u32) -> bool;

    /// Whether accesses to what guests can write are guarded.
    fn is_guarded(&self) -> bool;

    /// Whether calls and back-edges of the function made it hot in its own right.
    fn is_hot(&self, function: FunctionRef) -> bool;

    /// Offsets and constants of the machine.
    fn machine(&self) -> MachineFacts;

    /// The address of a part of the runtime.
    fn address(&self, symbol: Symbol) -> u64;
}

/// What a site has seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SiteFacts {
    /// For each layout of a receiver the action, the most frequent first if that is known.
    pub seen: Vec<Seen>,
    /// Whether there were more layouts than the site remembers.
    pub is_megamorphic: bool,
    /// Whether the site sends `==`. A flag of layouts says which classes redefine that.
    pub is_identity: bool,
    /// The operands of an operator, beyond small integers.
    pub numbers: Numbers,
    /// The function of the closures that the site evaluated, if it was one.
    pub closure: Option<FunctionRef>,
    /// Whether code that relied on these facts has left its unit here too often.
    pub distrusts: bool,
}

/// A layout of receivers, and what the site does for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The 32 bits of the layout. Immediate values have layouts, too.
    pub layout: u32,
    /// The action.
    pub action: Action,
}

/// The action of a site for receivers of one layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Runs a method.
    Method(FunctionRef),
    /// Answers a slot.
    LoadSlot(u32),
    /// Answers a slot that nothing changes once it has its value.
    LoadConstantSlot(u32),
    /// Stores the argument into a slot and answers it.
    StoreSlot(u32),
    /// Answers the class object in a slot, and makes it first if there is none.
    LoadClass(u32),
    /// Answers an immediate word.
    Answer(u64),
    /// Answers the receiver.
    AnswerReceiver,
    /// Runs a primitive on receiver and arguments.
    Primitive(PrimitiveRef),
    /// The index of the slot that the site names.
    SlotIndex(u32),
    /// The object around a class.
    Enclosing(ClassPath),
    /// Something that the compiler leaves to the runtime.
    Other,
}

/// The way to a class object, and the slots of class objects that it goes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassPath {
    /// Whether the way begins at the object itself, not at its class.
    pub from_class: bool,
    /// How many superclasses it goes up.
    pub hops: u32,
    /// The slot with the superclass.
    pub superclass: u32,
    /// The slot with the object around a class.
    pub enclosing: u32,
}

/// The operands that an operator has had, beyond small integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// Both were doubles.
    pub doubles: bool,
    /// One was a double, the other a small integer.
    pub mixed: bool,
    /// The result for small integers was no small integer.
    pub overflow: bool,
    /// Anything else, such as boxed numbers.
    pub others: bool,
}

/// Which ways a branch has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BranchFacts {
    /// To its target.
    pub taken: bool,
    /// To the next instruction.
    pub fell_through: bool,
    /// To its second target, because the value was of an unexpected kind.
    pub otherwise: bool,
}

/// The object of a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstantFact {
    /// An immediate word.
    Word(u64),
    /// The bits of a typed constant.
    Raw(u64),
    /// An object, in its cell.
    Object,
    /// No object yet: the code was never executed.
    Unmade,
}

/// Offsets in the thread, which machine code has in a register, and constants of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineFacts {
    /// Offset of the limit: the address that no frame may pass, or zero if the thread must poll.
    pub limit: i32,
    /// Offset of the address of the window for new objects: the address of the next one, and behind that the window's end.
    pub window: i32,
    /// Offset of the entry for machine code in a function.
    pub entry: i32,
    /// Offset in a function of the number of words that it takes, with the receiver, as 32 bits.
    pub arguments: i32,
    /// Offset of the address in the thread that the native stack must not pass.
    pub floor: i32,
    /// Offset of the address of the strand in the thread.
    pub strand: i32,
    /// Offset in a strand of the number that no other strand has, a word.
    pub strand_identity: i32,
    /// Offset in a strand of what others wish of it, 64 bits.
    pub strand_wishes: i32,
    /// The bit in that of the wish to end it.
    pub killed: i64,
    /// Offset in the thread of its fuel, 32 bits with a sign, if the code is to count its polls: each takes one, and if the
    /// result is negative, more fuel must be drawn.
    pub fuel: Option<i32>,
    /// How the code is hardened, if the guest is not trusted.
    pub hardening: Option<Hardening>,
}

/// What hardened code needs: it confines indices, and has the constants of guests only as what they give in an exclusive or
/// with a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hardening {
    /// Offset in the thread of the key, 64 bits.
    pub place: i32,
    /// The key.
    pub key: u64,
}

/// Parts of the runtime with an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// The cell of an object, which machine code loads.
    Cell(Cell),
    /// The function as the runtime has it: closures begin with it, and calls load their target from it.
    Function(FunctionRef),
    /// The site of an instruction that calls.
    Site(FunctionRef, u32),
    /// An instruction of a function.
    Instruction(FunctionRef, u32),
    /// A primitive.
    Primitive(PrimitiveRef),
    /// The 32 bits of the kind of a layout's slot.
    SlotKind(u32, u32),
    /// The 64 bits of the unit's own notice: 0 while all kinds are as they were that it relies on.
    Notice,
    /// The 256 words of the strings of one character, by code point; nil for one that was not needed yet.
    Characters,
    /// The record of the unit's exit with this number.
    Exit(u32),
    /// A stub or helper.
    Helper(Helper),
}

/// Stubs and helpers that machine code calls. The head of [`code`](crate::code) states how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Helper {
    /// Leaves the unit: `(frame, exit's record)`; reached by a jump, with the caller's return address on top.
    Exit,
    /// The same for an exit that makes objects first: the boxes of doubles, and absent objects.
    MakingExit,
    /// The frame does not fit the chunk, or the thread must poll: `(frame, function)`; reached by a jump.
    Enter,
    /// Sends through a site: `(callee's frame, site)`; answers the result.
    Send,
    /// Executes the instruction with this opcode: `(frame, instruction, function)`, or `(frame, site)` for that of a
    /// primitive; answers the result, or whether it jumped.
    Instruction(u8),
    /// Calls a primitive's leaf: `(thread, primitive, word, word)`, in the System V convention; keeps objects where they are.
    Leaf,
    /// Calls a primitive's short form: `(thread, primitive, word, word, word, word)`, as a leaf.
    ShortForm,
    /// Widens a slot's kind: `(thread, address of the kind, word)`, in the System V convention; keeps objects where they are.
    Admit,
    /// Takes memory for an object: `(thread, bytes)`, as a leaf; 0 if the collector has to run first, or counts.
    TakeMemory,
    /// Counts the elements of a new array as fuel of a sandbox: `(thread, bytes)`, as a leaf; answers 0.
    ChargeCopy,
    /// Draws fuel for polls that were counted: `(thread, again)`, as a leaf; 0 if there is not enough. Then `again` polls
    /// will be counted again.
    DrawFuel,
    /// Loads a slot by a guarded access: `(thread, object, index, instruction)`, as a leaf; `NO_ANSWER` if the interpreter
    /// must do it.
    LoadGuardedSlot,
    /// Stores into a slot by a guarded access: `(thread, object, index, word, instruction)`, as a leaf; 0 if the
    /// interpreter must do it.
    StoreGuardedSlot,
    /// The same as [`Helper::LoadGuardedSlot`] for an element.
    LoadGuardedElement,
    /// The same as [`Helper::StoreGuardedSlot`] for an element.
    StoreGuardedElement,
    /// Logs an object whose unlogged bit is set: `(object)`; keeps all registers.
    Log,
}
