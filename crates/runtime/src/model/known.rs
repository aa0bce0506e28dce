//! The classes and layouts that the VM itself knows. The boot makes them, and all layers compare with them.
//!
//! Immediate objects have no header, and strings, arrays and closures are made by the VM, so their
//! layouts are constants. Each belongs to a class that the kernel library declares under the same
//! name; the connection is made while the kernel boots ([`crate::library::bootstrap`]).
//!
//! Invariant: a layout number below [`FIRST_FREE_NUMBER`] belongs to the row with that number here.

use squall_heap::{Format, LayoutId, Word};

/// Declares [`KnownClass`] with the list of all and their names, which are those in the library.
macro_rules! known_classes {
    ($($(#[$documentation:meta])* $name:ident,)*) => {
        /// Kernel classes that the VM makes instances of, or gives a meaning to. A class comes after its
        /// superclass.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(usize)]
        pub enum KnownClass {
            $($(#[$documentation])* $name,)*
        }

        impl KnownClass {
            /// Every known class; a class comes after its superclass.
            pub const ALL: &[KnownClass] = &[$(KnownClass::$name),*];

            /// The name of the class in the kernel module.
            pub fn name(self) -> &'static str {
                const NAMES: &[&str] = &[$(stringify!($name)),*];
                NAMES[self as usize]
            }
        }
    };
}

known_classes! {
    /// The root of the hierarchy, which understands nothing.
    Top,
    /// The superclass of everything but far references.
    Thing,
    /// The superclass of classes that name none.
    Object,
    /// Marks classes whose instances are deeply immutable.
    Value,
    /// Marks classes whose instances travel between vats by copy.
    TransferObject,
    /// The class of class objects.
    Class,
    /// The class of `nil`.
    Nil,
    /// The class of `false`.
    False,
    /// The class of `true`.
    True,
    /// Integers of any size.
    Integer,
    /// IEEE 754 doubles.
    Double,
    /// Immutable sequences of code points.
    String,
    /// Interned strings.
    Symbol,
    /// Mutable arrays.
    Array,
    /// Arrays of values that never change.
    ValueArray,
    /// Arrays that travel between vats by copy.
    TransferArray,
    /// Closures.
    Block,
    /// The class of objects that can be signalled and caught.
    Exception,
    /// References to objects of other vats.
    FarReference,
    /// Results that are not there yet.
    Promise,
    /// Several promises as one; the first slot has that.
    PromiseGroup,
}

impl KnownClass {
    /// The classes that the VM creates itself before any guest code can run, with their superclasses.
    pub const ROOTS: [(KnownClass, Option<KnownClass>); 5] = [
        (KnownClass::Top, None),
        (KnownClass::Thing, Some(KnownClass::Top)),
        (KnownClass::Object, Some(KnownClass::Thing)),
        (KnownClass::Value, Some(KnownClass::Thing)),
        (KnownClass::Class, Some(KnownClass::Object)),
    ];

    /// The layout of its direct instances, for the classes whose layout is a constant.
    pub fn layout(self) -> Option<LayoutId> {
        Some(match self {
            KnownClass::Nil => NIL,
            KnownClass::False => FALSE,
            KnownClass::True => TRUE,
            KnownClass::Integer => SMALL_INTEGER,
            KnownClass::Double => IMMEDIATE_DOUBLE,
            KnownClass::String => STRING,
            KnownClass::Symbol => SYMBOL,
            KnownClass::Array => ARRAY,
            KnownClass::ValueArray => VALUE_ARRAY,
            KnownClass::TransferArray => TRANSFER_ARRAY,
            KnownClass::Block => BLOCK,
            KnownClass::FarReference => FAR_REFERENCE,
            KnownClass::Promise => PROMISE,
            _ => return None,
        })
    }

    /// A second layout of its instances: the boxed form of numbers.
    pub fn boxed_layout(self) -> Option<LayoutId> {
        match self {
            KnownClass::Integer => Some(LARGE_INTEGER),
            KnownClass::Double => Some(BOXED_DOUBLE),
            _ => None,
        }
    }

    /// Whether the library's text has neither slots nor expressions in the initializer, nor that of
    /// its superclasses.
    pub fn initializes_nothing(self) -> bool {
        matches!(self, KnownClass::Top | KnownClass::Thing | KnownClass::Object | KnownClass::Value)
    }

    /// Whether instances are arrays, whose size their initializer is told.
    pub fn is_array(self) -> bool {
        matches!(self, KnownClass::Array | KnownClass::ValueArray | KnownClass::TransferArray)
    }

    /// Whether `instantiate` can make instances: arrays are made empty, to be replaced by their
    /// initializer, the other VM-made objects not at all.
    pub fn is_instantiable(self) -> bool {
        !matches!(
            self,
            KnownClass::Nil
                | KnownClass::False
                | KnownClass::True
                | KnownClass::Integer
                | KnownClass::Double
                | KnownClass::String
                | KnownClass::Symbol
                | KnownClass::Block
                | KnownClass::FarReference
                | KnownClass::Promise
        )
    }
}

const fn layout(format: Format, slots: u32, number: u32) -> LayoutId {
    match LayoutId::new(format, slots, false, number) {
        Some(layout) => layout,
        None => panic!("not a layout"),
    }
}

/// Asserts, at compile time, that objects of this layout have `count` slots, for the files that define the slots.
pub const fn assert_slots(layout: LayoutId, count: usize) {
    assert!(layout.slot_count() == count, "the layout has another number of slots");
}

/// Small integers, which have no header.
pub const SMALL_INTEGER: LayoutId = layout(Format::Slots, 0, 1);
/// Immediate doubles.
pub const IMMEDIATE_DOUBLE: LayoutId = layout(Format::Slots, 0, 2);
/// `nil`.
pub const NIL: LayoutId = layout(Format::Slots, 0, 3);
/// `false`.
pub const FALSE: LayoutId = layout(Format::Slots, 0, 4);
/// `true`.
pub const TRUE: LayoutId = layout(Format::Slots, 0, 5);
/// Integers beyond the small ones: sign and magnitude, see [`crate::objects::number`].
pub const LARGE_INTEGER: LayoutId = layout(Format::Bytes, 0, 6);
/// Doubles whose exponent does not fit a word.
pub const BOXED_DOUBLE: LayoutId = layout(Format::Raw, 1, 7);
/// Strings: see [`crate::objects::string`].
pub const STRING: LayoutId = layout(Format::Bytes, 0, 8);
/// Symbols: strings of which there is one per text.
pub const SYMBOL: LayoutId = layout(Format::Bytes, 0, 9);
/// Arrays.
pub const ARRAY: LayoutId = layout(Format::Array, 0, 10);
/// Arrays of values.
pub const VALUE_ARRAY: LayoutId = layout(Format::Array, 0, 11);
/// Arrays that travel by copy.
pub const TRANSFER_ARRAY: LayoutId = layout(Format::Array, 0, 12);
/// Closures: the function, then the captured values.
pub const BLOCK: LayoutId = layout(Format::Array, 0, 13);
/// Contexts: variables that an activation shares with its closures. Never seen by guest code.
pub const CONTEXT: LayoutId = layout(Format::Array, 0, 14);
/// Markers of activations that closures can return from. Never seen by guest code.
pub const HOME: LayoutId = layout(Format::Slots, 2, 15);
/// Pending unwindings, while an `ensure:` block runs. Never seen by guest code.
pub const UNWIND: LayoutId = layout(Format::Slots, 4, 16);

/// Strands: see [`crate::state::strand::slots`]. Never seen by guest code outside the library.
pub const STRAND: LayoutId = layout(Format::Strand, 10, 17);
/// Vats: see [`crate::state::vat::slots`]. Never seen by guest code.
pub const VAT: LayoutId = layout(Format::Slots, 6, 18);
/// Waiters: see [`crate::state::strand::waiter`]. Never seen by guest code.
pub const WAITER: LayoutId = layout(Format::Slots, 5, 19);
/// Messages: see [`crate::concurrency::messages`]. Never seen by guest code.
pub const MESSAGE: LayoutId = layout(Format::Array, 0, 20);
/// References to objects of other vats: see [`crate::concurrency::isolation`].
pub const FAR_REFERENCE: LayoutId = layout(Format::Slots, 2, 21);
/// Promises: see [`crate::concurrency::promises`].
pub const PROMISE: LayoutId = layout(Format::Slots, 7, 22);
/// Sandboxes: see [`crate::concurrency::sandbox`]. Never seen by guest code outside the library.
pub const SANDBOX: LayoutId = layout(Format::Slots, 5, 23);
/// Channels: see [`crate::concurrency::channels`]. Never seen by guest code outside the library.
pub const CHANNEL: LayoutId = layout(Format::Slots, 10, 24);
/// Mutexes: see [`crate::concurrency::locks`]. Never seen by guest code outside the library, as the others here.
pub const MUTEX: LayoutId = layout(Format::Slots, 4, 25);
/// Mutexes that vats share.
pub const SHARED_MUTEX: LayoutId = layout(Format::Slots, 4, 26);
/// Conditions.
pub const CONDITION: LayoutId = layout(Format::Slots, 4, 27);
/// Semaphores.
pub const SEMAPHORE: LayoutId = layout(Format::Slots, 4, 28);
/// Barriers, which vats share.
pub const BARRIER: LayoutId = layout(Format::Slots, 4, 29);
/// Buckets, which vats share.
pub const BUCKET: LayoutId = layout(Format::Slots, 4, 30);

/// Native handles: see [`crate::concurrency::foreign`]. Never seen by guest code outside of the library.
pub const FOREIGN: LayoutId = layout(Format::Slots, 5, 31);

/// Lists of typed code: see [`crate::objects::typed`]. Never seen by guest code outside of it, as the next ones.
pub const LIST: LayoutId = layout(Format::Slots, 2, 32);
/// Nodes of maps.
pub const MAP_NODE: LayoutId = layout(Format::Slots, 5, 33);
/// Packed elements of lists.
pub const PACKED: LayoutId = layout(Format::Bytes, 0, 34);
/// Elements of lists that are words.
pub const WORDS: LayoutId = layout(Format::Array, 0, 35);

/// Rights: see [`crate::objects::rights`]. Of no use to guest code outside of the library.
pub const RIGHT: LayoutId = layout(Format::Slots, 4, 36);

/// The object that the branches of a fork share: see [`crate::concurrency::processes::forks`]. Never seen by guest
/// code.
pub const JOIN: LayoutId = layout(Format::Slots, 5, 40);

/// The first layout number for classes that programs define.
pub const FIRST_FREE_NUMBER: u32 = 48;

/// The layout of any word.
#[inline(always)]
pub fn layout_of(word: Word) -> LayoutId {
    if word.is_pointer() { word.object().layout() } else { immediate_layout(word) }
}

/// The layout of a word that is no pointer.
#[inline(always)]
pub fn immediate_layout(word: Word) -> LayoutId {
    if word.is_small_integer() {
        return SMALL_INTEGER;
    }
    match word {
        Word::NIL => NIL,
        Word::FALSE => FALSE,
        Word::TRUE => TRUE,
        _ => IMMEDIATE_DOUBLE,
    }
}
