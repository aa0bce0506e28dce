//! The assembler of machine code, and the places of fields in the structures that machine code reads. All of the crate
//! uses it.

use dynasmrt::VecAssembler;
use dynasmrt::x64::X64Relocation;
use squall_heap::{HEADER_OFFSET, Mutator, TAG_POINTER};
use squall_runtime::tiers::function::{CodeKind, Entries, Function, NativeCode, Site};
use squall_runtime::tiers::lookup::CacheEntry;
use squall_runtime::tiers::thread::{Around, NativeStack, State, StrandRef, Thread};

/// The assembler of machine code.
pub type Assembler = VecAssembler<X64Relocation>;

/// Where fields are, in bytes.
pub mod offset {
    use super::*;
    use std::mem::offset_of;

    /// The limit of the frames in a thread.
    pub const LIMIT: i32 = offset_of!(Thread, limit) as i32;
    /// The base of the native stack in a thread.
    pub const NATIVE_BASE: i32 =
        (offset_of!(Thread, native_stack) + offset_of!(NativeStack, base)) as i32;
    /// The frame of the outermost activation with a native frame, in a thread.
    pub const OUTERMOST: i32 =
        (offset_of!(Thread, native_stack) + offset_of!(NativeStack, outermost)) as i32;
    /// The activations inside of that one, in a thread.
    pub const AROUND: i32 =
        (offset_of!(Thread, native_stack) + offset_of!(NativeStack, around)) as i32;
    /// How many of them there are, in a thread.
    pub const DEPTH: i32 =
        (offset_of!(Thread, native_stack) + offset_of!(NativeStack, depth)) as i32;
    /// The value of a call that machine code goes on after, in a thread.
    pub const VALUE: i32 =
        (offset_of!(Thread, native_stack) + offset_of!(NativeStack, value)) as i32;
    /// The return address in one of them.
    pub const RETURN_ADDRESS: i32 = offset_of!(Around, return_address) as i32;
    /// The inner frame in one of them.
    pub const INNER: i32 = offset_of!(Around, inner) as i32;
    /// The address that the native stack must not pass, in a thread.
    pub const NATIVE_FLOOR: i32 =
        (offset_of!(Thread, native_stack) + offset_of!(NativeStack, floor)) as i32;
    /// The byte with the bit of the write barrier, in an object's header.
    pub const BARRIER: i32 = HEADER_OFFSET as i32 - TAG_POINTER as i32;
    /// The address of the window for new objects, in a thread.
    pub const WINDOW_OF_OBJECTS: i32 = (offset_of!(Thread, mutator) + Mutator::WINDOW) as i32;
    /// The calls and turns until the next sample, in a thread.
    pub const COUNTDOWN: i32 =
        (offset_of!(Thread, native_stack) + offset_of!(NativeStack, countdown)) as i32;
    /// The fuel in a thread.
    pub const FUEL: i32 = Thread::FUEL as i32;
    /// The key of constants in a thread.
    pub const CODE_KEY: i32 = Thread::CODE_KEY as i32;
    /// The strand in a thread.
    pub const STRAND: i32 = Thread::STRAND as i32;
    /// The identity in a strand.
    pub const STRAND_IDENTITY: i32 = StrandRef::IDENTITY as i32;
    /// The wishes in a strand.
    pub const STRAND_WISHES: i32 = StrandRef::WISHES as i32;
    /// The wish to end a strand.
    pub const KILLED: i64 = StrandRef::KILLED as i64;
    /// The saved function in a thread.
    pub const FUNCTION: i32 = (offset_of!(Thread, state) + offset_of!(State, function)) as i32;
    /// The saved frame in a thread.
    pub const FRAME: i32 = (offset_of!(Thread, state) + offset_of!(State, frame)) as i32;
    /// The entry in a function, for code of this kind.
    pub const fn entry(kind: CodeKind) -> i32 {
        let code = offset_of!(Function, native_codes) + kind as usize * size_of::<NativeCode>();
        (code + NativeCode::ENTRY) as i32
    }

    /// The number of arguments in a function.
    pub const ARGUMENTS: i32 = offset_of!(Function, arguments) as i32;
    /// The cache in a site.
    pub const CACHE: i32 = Site::CACHE as i32;
    /// The list of entries in a site.
    pub const SITE_ENTRIES: i32 = Site::ENTRIES as i32;
    /// The entries in a list, after the layouts.
    pub const LIST_ENTRIES: i32 = Entries::ENTRIES as i32;
    /// The feedback in a site.
    pub const FEEDBACK: i32 = Site::FEEDBACK as i32;
    /// The last closure's function in a site.
    pub const CLOSURE: i32 = offset_of!(Site, callee) as i32;
    /// The window in a site.
    pub const WINDOW: i32 = offset_of!(Site, window) as i32;
    /// The number of arguments in a site.
    pub const SITE_ARGUMENTS: i32 = offset_of!(Site, arguments) as i32;
    /// The layout in a cache entry.
    pub const LAYOUT: i32 = offset_of!(CacheEntry, layout) as i32;
    /// The kind of the action in a cache entry.
    pub const SIMPLE: i32 = offset_of!(CacheEntry, simple) as i32;
    /// The operand of the action in a cache entry.
    pub const OPERAND: i32 = offset_of!(CacheEntry, operand) as i32;
    /// The layout in an object, from its word.
    pub const OBJECT_LAYOUT: i32 = squall_heap::LAYOUT_OFFSET as i32 - 1;
    /// The class in an object, from its word.
    pub const CLASS: i32 = squall_heap::CLASS_OFFSET as i32 - 1;
    /// The length in an object, from its word.
    pub const LENGTH: i32 = squall_heap::LENGTH_OFFSET as i32 - 1;

    /// A slot in an object, from its word.
    pub const fn slot(index: usize) -> i32 {
        squall_heap::FIRST_SLOT_OFFSET as i32 - 1 + 8 * index as i32
    }

    /// An element in an object, from its word.
    pub const fn element(index: usize) -> i32 {
        squall_heap::FIRST_ELEMENT_OFFSET as i32 - 1 + 8 * index as i32
    }
}
