//! C for guest programs: the runtime's side of `squall-foreign`. The primitives for `lib/Foreign.ns` call this module.
//!
//! `squall-foreign` knows C; this is where its things get owners in the heap, and where native threads go from
//! guest code to C and back. The library's part is `lib/Foreign.ns`.
//!
//! | module | subject |
//! |---|---|
//! | this one | *native handles*: objects that own a native part |
//! | [`convert`] | guest values to C's and back |
//! | [`callouts`] | guest code calls C |
//! | [`callbacks`] | C calls guest code, on the native thread on which it was called |
//! | [`anchor`] | the place where a native thread with C's frames waits for its strand's turn |
//! | [`requests`] | C calls guest code from any other native thread |
//! | [`confinement`] | calls that only one native thread may make |
//!
//! A *native handle* is an object that only the VM makes, with the address of a [`Native`]. The guest has it in the
//! first slot of an object of the library, its *wrapper*. Primitives accept both. So a program cannot forge a native
//! handle by writing into its own objects.
//!
//! Invariants
//!
//! - A native part lives at least as long as its native handle. The collector finds the dead native handles; their
//!   native parts are dropped when the next native handle is made, never during a collection, since dropping may call
//!   C.
//! - Native handles of libraries, functions and types never change, and vats share them. Those of memory and callbacks
//!   belong to one vat.

pub mod anchor;
pub mod callbacks;
pub mod callouts;
pub mod confinement;
pub mod convert;
mod owned;
pub mod requests;

use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_foreign::{Callback, Declarations, Function, Library, Type};
use squall_heap::{CollectionKind, Format, Object, RootAddress, Tracer, Word};

use crate::concurrency::sandbox::grants;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::{made_symbol_object, make_string, symbol_object};
use crate::state::roots::RootWord;
use crate::state::thread::{Thread, allocated};
use crate::state::vm::Vm;
use anchor::Anchors;
use callbacks::{GuestCallback, Numbered};
use requests::Requests;

/// The slots of a handle.
pub mod slots {
    /// The address of the native part.
    pub const NATIVE: usize = 0;
    /// Of a callback: the block. Of a confined library or function: the native thread.
    pub const KEPT: usize = 1;
    /// Of a callback: the object of its vat.
    pub const VAT: usize = 2;
    /// Of a callback: the block that serves calls from native threads which are none of the VM's.
    pub const SERVER: usize = 3;
    /// Of a callback: the block that evaluates what C has called, in a replay.
    pub const REPEATER: usize = 4;

    const _: () = crate::model::known::assert_slots(crate::model::known::FOREIGN, REPEATER + 1);
}

/// The native part of a native handle.
pub struct Native {
    /// The handle. Nothing but the collector looks at it, to see when it is dead.
    object: RootWord,
    /// Its kind and contents.
    pub body: Body,
}

/// Something of C's.
pub enum Body {
    /// A library, with its declarations.
    Library(OpenLibrary),
    /// A function.
    Function(ForeignFunction),
    /// A type.
    Type(KnownType),
    /// Memory.
    Memory(ForeignMemory),
    /// A function for C to call; none once it was released.
    Callback(Arc<GuestCallback>, Mutex<Option<Callback>>),
}

/// A library and the declarations that its functions are looked up in.
#[derive(Clone)]
pub struct OpenLibrary {
    /// The library.
    pub library: Library,
    /// Its declarations.
    pub declarations: Arc<Declarations>,
    /// Whether only one native thread, which the handle keeps, may call it.
    pub is_confined: bool,
}

/// A function, and how it is called.
pub struct ForeignFunction {
    /// The function.
    pub function: Function,
    /// The declarations in which types are looked up.
    pub declarations: Arc<Declarations>,
    /// Whether it returns so soon that no other worker need take over meanwhile.
    pub is_leaf: bool,
    /// Whether only one native thread, which the handle keeps, may call it.
    pub is_confined: bool,
}

/// A type, and the meanings of the names in it.
#[derive(Clone)]
pub struct KnownType {
    /// The type.
    pub c_type: Type,
    /// The declarations in which names are looked up.
    pub declarations: Arc<Declarations>,
}

/// Memory, and the type of its contents if that is known.
pub struct ForeignMemory {
    /// The memory.
    pub memory: squall_foreign::NativeMemory,
    /// The type of its contents.
    pub content: Option<KnownType>,
}

/// The VM's data about C.
#[derive(Default)]
pub struct Foreign {
    natives: Mutex<Natives>,
    /// The library's class of addresses.
    pub pointer_class: RootWord,
    /// The library's class of memory.
    pub memory_class: RootWord,
    /// The handles of callbacks that C is expected to call: they are alive, and so is the program.
    expected: Mutex<Vec<Word>>,
    /// Native threads that wait for their strands' turns.
    pub anchors: Anchors,
    /// Calls from native threads that are none of the VM's.
    pub requests: Requests,
    /// Callbacks of recorded runs and replays.
    pub numbered: Numbered,
}

/// All native parts.
#[derive(Default)]
struct Natives {
    /// Made since the last collection.
    young: Vec<Owned>,
    old: Vec<Owned>,
    /// Those whose handles are dead.
    dead: Vec<Owned>,
}

/// A native part at an address of its own.
struct Owned(NonNull<Native>);

// SAFETY: native parts are `Send`; the assertion below proves it for their components.
unsafe impl Send for Owned {}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Body>();
};

impl Owned {
    /// Whether the handle survives a collection, and where it is now.
    fn survives(&self, tracer: &mut Tracer<'_>) -> bool {
        // SAFETY: the native part lives until this is dropped.
        let native = unsafe { self.0.as_ref() };
        let survives = native.object.update(tracer);
        if let Body::Callback(callback, _) = &native.body {
            callback.handle.set(if survives { native.object.get() } else { Word::NIL });
        }
        survives
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `make`, and this is its only owner.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Foreign {
    /// Shows the classes to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        self.pointer_class.visit(visit);
        self.memory_class.visit(visit);
        RootAddress::of_all(&mut self.expected.lock()).for_each(visit);
    }

    /// Follows the native handles that survive, and puts the native parts of the others aside.
    pub(crate) fn update(&self, kind: CollectionKind, tracer: &mut Tracer<'_>) {
        let Natives { young, old, dead } = &mut *self.natives.lock();
        let mut candidates = std::mem::take(young);
        if kind == CollectionKind::Full {
            candidates.append(old);
        }
        for native in candidates {
            if native.survives(tracer) { old.push(native) } else { dead.push(native) }
        }
    }

    /// C is expected to call the callback with this native handle: while it is expected, a program in which no strand
    /// is ready waits for the call.
    pub fn expect(&self, vm: &Vm, handle: Object) {
        let mut expected = self.expected.lock();
        if !expected.contains(&handle.word()) {
            expected.push(handle.word());
            vm.scheduler.begin_outside();
        }
    }

    /// C is not expected to call the callback with this handle any more.
    pub fn forget(&self, vm: &Vm, handle: Object) {
        let mut expected = self.expected.lock();
        let before = expected.len();
        expected.retain(|other| *other != handle.word());
        if expected.len() < before {
            drop(expected);
            vm.scheduler.end_outside();
        }
    }

    /// C is not expected to call anything any more.
    pub fn forget_all(&self, vm: &Vm) {
        let forgotten = std::mem::take(&mut *self.expected.lock());
        forgotten.iter().for_each(|_| vm.scheduler.end_outside());
    }

    /// The program ends: no request waits any more.
    pub(crate) fn end(&self) {
        self.anchors.end();
        self.requests.end();
    }
}

/// Drops the native parts of dead native handles. This may call functions of C, whose callbacks are refused; no call of the
/// guest's is to blame for that.
pub fn release_dead(thread: &Thread) {
    let dead = std::mem::take(&mut thread.vm.concurrency().foreign.natives.lock().dead);
    if !dead.is_empty() {
        drop(dead);
        callbacks::forget_refusal();
    }
}

/// Makes a handle. *GC point.*
pub fn make(thread: &mut Thread, body: Body) -> Result<Object, Failure> {
    release_dead(thread);
    let class = thread.vm.known_class(KnownClass::Object);
    let handle = allocated(thread.mutator.allocate_slots(known::FOREIGN, class))?;
    let native = Box::leak(Box::new(Native { object: RootWord::default(), body }));
    native.object.set(handle.word());
    if let Body::Callback(callback, _) = &native.body {
        callback.handle.set(handle.word());
    }
    let address = std::ptr::from_ref(native) as usize;
    handle.initialize_slot(slots::NATIVE, Word::from_address(address));
    thread.vm.concurrency().foreign.natives.lock().young.push(Owned(NonNull::from(native)));
    Ok(handle)
}

/// The native handle in a word: itself or its wrapper.
#[inline]
pub fn handle(word: Word) -> Option<Object> {
    let object = word.as_object()?;
    let layout = object.layout();
    if layout == known::FOREIGN {
        return Some(object);
    }
    let is_wrapper = layout.format() == Format::Slots
        && layout.slot_count() > 0
        && layout.number() >= known::FIRST_FREE_NUMBER;
    // SAFETY: the layout has slots, at least one.
    let first = if is_wrapper { unsafe { object.slot_unchecked(0) }.as_object() } else { None };
    first.filter(|object| object.layout() == known::FOREIGN)
}

/// The native part of the handle in a word. It lives at least as long as the handle is reachable.
#[inline]
pub fn native(word: Word) -> Option<&'static Native> {
    handle(word).map(native_of)
}

/// The native part of a handle.
#[inline]
pub fn native_of(handle: Object) -> &'static Native {
    assert!(handle.layout() == known::FOREIGN);
    // SAFETY: it is a handle. `make` stored the address, and no guest code reaches the slots of handles. The caller uses
    // the reference no longer than the handle is reachable.
    unsafe { &*(handle.slot_unchecked(slots::NATIVE).bits() as *const Native) }
}

/// The body of the handle in a word.
pub fn body(word: Word) -> Result<&'static Body, Failure> {
    native(word).map(|native| &native.body).ok_or(Failure::argument(word))
}

/// The library of the handle in a word.
pub fn library(word: Word) -> Result<&'static OpenLibrary, Failure> {
    match body(word)? {
        Body::Library(library) => Ok(library),
        _ => Err(Failure::argument(word)),
    }
}

/// The memory of the handle in a word.
#[inline]
pub fn memory(word: Word) -> Result<&'static ForeignMemory, Failure> {
    match body(word)? {
        Body::Memory(memory) => Ok(memory),
        _ => Err(Failure::argument(word)),
    }
}

/// Whether vats share the native part of a native handle.
pub fn is_shared(handle: Object) -> bool {
    !matches!(native_of(handle).body, Body::Memory(_) | Body::Callback(..))
}

/// The failure for something that C, or its declarations, do not allow. *GC point.*
pub fn failure(thread: &mut Thread, reason: &'static str, text: &str) -> Failure {
    let symbol = thread.vm.symbol(reason);
    let made = symbol_object(thread, symbol).and_then(|_| make_string(thread, text));
    match made {
        Ok(text) => {
            let reason = made_symbol_object(thread.vm, symbol);
            Failure::with(FailureReason::Foreign, reason, text)
        }
        Err(failure) => failure,
    }
}

/// Whether the program may have to do with C. *GC point.*
pub fn check_permission(thread: &mut Thread, what: &str) -> Result<(), Failure> {
    grants::check(thread, "ffi", what)?;
    if thread.vm.options.permissions.foreign_functions {
        thread.vm.debugging.act("calls C");
        return Ok(());
    }
    let mut made = make_string(thread, what)?;
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(made);
    let flag = make_string(thread, "--allow-ffi");
    made = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    Err(Failure::with(FailureReason::PermissionDenied, flag?, made))
}

/// The reason for which memory could not be used.
pub fn memory_reason(error: &squall_foreign::MemoryError) -> &'static str {
    use squall_foreign::{MemoryError, Mismatch};
    match error {
        MemoryError::Exhausted { .. } => "Exhausted",
        MemoryError::Released | MemoryError::Value(Mismatch::Released) => "Released",
        MemoryError::Bounds { .. } => "Bounds",
        MemoryError::Unterminated { .. } => "Unterminated",
        MemoryError::Value(_) => "Argument",
    }
}

/// The name of the error of a library.
pub fn library_reason(error: &squall_foreign::LibraryError) -> &'static str {
    use squall_foreign::LibraryError;
    match error {
        LibraryError::NotLoaded { .. } => "NotLoaded",
        LibraryError::Closed { .. } => "Closed",
        LibraryError::MissingSymbol { .. } => "MissingSymbol",
        LibraryError::Variable(_) => "Declaration",
    }
}

/// The failure for memory that could not be used. *GC point.*
#[cold]
pub fn memory_failure(thread: &mut Thread, error: &squall_foreign::MemoryError) -> Failure {
    failure(thread, memory_reason(error), &error.to_string())
}
