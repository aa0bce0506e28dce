//! The descriptor of a primitive: a native function that library code calls by name. `primitives` makes the table, and
//! lookup finds it.
//!
//! Linked functions, inline caches and tiers refer to primitives; the table of them all belongs to the library above, which
//! gives it to the machine when that is made.

/// A primitive.
pub struct Primitive {
    /// The selector that names it.
    pub name: &'static str,
    /// What it does: a function of the execution state, whose type is known where that is
    /// ([`crate::state::primitive_code`]).
    pub(crate) code: Code,
    /// A function that does its work for most arguments, or null.
    pub(crate) leaf: Code,
    /// A function that does its work for many arguments while the strand's state is not saved, or null.
    pub(crate) short_form: Code,
    /// A function that does its work in the usual case, and may let another strand go on, or null.
    pub(crate) direct_form: Code,
    /// The form that lets tiers do its work instead of calling `run`.
    pub shape: Shape,
    /// How much work it is.
    pub cost: Cost,
}

/// How much work a primitive is, and how that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// As much as a call, whatever the arguments are; or it is so much less common than calls that it does not matter.
    Call,
    /// A pass over the arguments, at least a thousand million bytes in a second. It is counted for each call, by the size
    /// of the arguments; the size of new objects is counted when they are made.
    Bytes,
    /// The same, but slower: in a sandbox, the arguments have two megabytes at most, since others wait meanwhile.
    FewBytes,
    /// More. It is done in [pieces](crate::library::work), which are counted.
    Pieces,
}

/// The address of a native function. Only [`crate::state::primitive_code`] makes and calls it.
#[derive(Clone, Copy)]
pub(crate) struct Code(pub(crate) *const ());

// SAFETY: it is the address of a function, which every thread may call.
unsafe impl Send for Code {}
// SAFETY: as for `Send`.
unsafe impl Sync for Code {}

/// Finds the primitive with a name; for an unknown name, one that fails.
pub type FindPrimitive = fn(&str) -> &'static Primitive;

/// Primitives that tiers know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Nothing special.
    Ordinary,
    /// Runs the closure in the window's first word with the other words as arguments.
    Evaluate,
    /// Whether the window's two words are the same, bit for bit, unless they are boxed numbers.
    Identical,
    /// Has an effect that others can notice or that cannot be undone, or waits: a transaction becomes
    /// inevitable before.
    Effect,
    /// Begins a transaction: see [`transaction::try_begin`](crate::concurrency::transactions::transaction::try_begin).
    Begin,
    /// Ends a transaction: see [`transaction::try_commit`](crate::concurrency::transactions::transaction::try_commit).
    Commit,
}
