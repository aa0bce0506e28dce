//! The contract between the runtime and a tier: the only part of the runtime that a tier may use. The interpreter
//! imports this module and no other of the crate; `cargo xtask tidy` checks this.
//!
//! # What a tier owes
//!
//! - It runs the strand of its thread from [`thread::Thread`]'s saved state until it stops, and leaves the state saved.
//! - Before it calls a function here that takes a thread, the saved state says where it is; afterwards it reads the state
//!   again, because the function may have entered, left or parked an activation. The functions of [`block`], [`number`],
//!   [`typed`] and [`access`] that answer a value leave the state alone, unless they fail.
//! - A function marked *GC point* moves objects. Words live across it only in frames, in the window or in the message.
//! - It polls at calls and at backward jumps ([`polls`]), and runs each instruction's effect once.
//! - Accesses to slots and elements go through [`access`] if [`thread::Thread::is_guarded`]; otherwise they are bare.
//!
//! # What it gets
//!
//! | part | modules |
//! |---|---|
//! | the thread, its state and frames | [`thread`], [`stack`], [`tier`] |
//! | code and what lookups find | [`function`], [`lookup`], [`primitive`], [`outcome`], [`types`], [`specialise`], [`links`], [`known`] |
//! | calls and everything that is not on a fast path | [`calls`], [`unwind`], [`messages`], [`polls`] |
//! | objects | [`block`], [`classes`], [`number`], [`string`], [`typed`], [`values`] |
//! | transactions | [`access`], [`transaction`] |
//! | processes of typed code | [`processes`], [`channels`], [`locks`] |

/// The interface that a tier implements.
pub mod tier {
    pub use crate::state::tier::{Interpreter, Tier};
}

/// A native thread, and where its strand stands.
pub mod thread {
    pub use crate::state::native_stack::{Around, NativeStack};
    pub use crate::state::strand::StrandRef;
    pub use crate::state::thread::{State, Stop, Thread, Window, allocated};
    pub use crate::state::vm::Vm;
}

/// The words around frames.
pub mod stack {
    pub use crate::state::stack::{CHUNK_RESULT, boundary_site, halt_code};
}

/// Linked functions, their sites and constants.
pub mod function {
    pub use crate::model::function::{
        Constant, Entries, Function, MOST_ENTRIES, NOWHERE, Site, feedback,
    };
    pub use crate::model::native_code::{CALL, CodeKind, NativeCode, TURN, compile_after};
}

/// Breakpoints, and strands that step.
pub mod debugging {
    pub use crate::execution::debugging::{at_breakpoint, step_through, word_behind};
}

/// The key of machine code for sandboxes.
pub mod hashing {
    pub use crate::model::hashing::code_key;
}

/// What a lookup finds, and the entries of inline caches.
pub mod lookup {
    pub use crate::model::lookup::{Action, CacheEntry, ClassPath, Simple};
}

/// Primitives, and the shapes that a tier may do itself.
pub mod primitive {
    pub use crate::model::primitive::{Primitive, Shape};
}

/// What primitives answer, and why instructions fail.
pub mod outcome {
    pub use crate::model::outcome::{Failure, FailureReason, Meeting, Outcome};
}

/// The types of registers.
pub mod types {
    pub use crate::model::types::{Storage, Type};
}

/// The forms of typed instructions.
pub mod specialise {
    pub use crate::model::specialise::JUMPS_IF;
}

/// The link words of instructions that wait.
pub mod links {
    pub use crate::model::links::site_index;
}

/// Layouts and classes that the VM knows.
pub mod known {
    pub use crate::model::known::{
        ARRAY, BLOCK, BOXED_DOUBLE, BUCKET, CONTEXT, FALSE, FAR_REFERENCE, HOME, IMMEDIATE_DOUBLE,
        KnownClass, LARGE_INTEGER, NIL, SMALL_INTEGER, STRING, SYMBOL, TRUE, VALUE_ARRAY,
        layout_of,
    };
}

/// Reports of what a tier does.
pub mod tracing {
    pub use crate::state::tracing::{compiled, description_of, reports_compilations};
}

/// Sends, calls, returns, failures.
pub mod calls {
    pub use crate::execution::calls::{
        class_on_path, complete_here, enter, escape, fail_here, find, finish, has_begun, jump_here,
        leave_hot, look_up, perform, primitive_of, run_bare_primitive, run_primitive,
    };
}

/// Exceptions, returns from closures, `ensure:` blocks.
pub mod unwind {
    pub use crate::execution::unwind::{ensure_ended, resume, return_from, return_from_home};
}

/// Eventual sends.
pub mod messages {
    pub use crate::concurrency::messages::{send_eventually, send_in_general};
    pub use crate::concurrency::promises::send_plainly;
}

/// Fuel for polls that machine code counts.
pub mod metering {
    pub use crate::concurrency::sandbox::metering::draw_fuel;
}

/// The slow path of polls.
pub mod polls {
    pub use crate::concurrency::polls::{after_effort, poll};
}

/// Closures, contexts and home activations.
pub mod block {
    pub use crate::objects::block::{
        FIRST_CAPTURED, closure, closure_function, context, is_home, leave_home, make_closure,
        make_closure_of, make_context, make_home,
    };
}

/// Class objects and instances.
pub mod classes {
    pub use crate::objects::classes::{
        ENCLOSING, SUPERCLASS, array_layout, captures, enclosing, instance_layout, instantiate,
        is_instance, layout_of_instances, make_class, name_of_layout,
    };
}

/// Boxed numbers.
pub mod number {
    pub use crate::objects::number::{make_big, make_double};
}

/// Operators on immediate numbers.
pub mod operators {
    pub use crate::objects::operators::*;
}

/// Strings and symbols.
pub mod string {
    pub use crate::objects::string::{make_string, symbol_object};
}

/// The check at the end of an initializer.
pub mod values {
    pub use crate::concurrency::values::{check, is_checked, must_be_checked};
}

/// Tuples, lists and maps of typed code.
pub mod typed {
    pub use crate::objects::typed::{
        Registers, boxing, compare, lists, maps, position, scalars, tuples,
    };
}

/// Accesses to slots and elements, bare and guarded.
pub mod access {
    pub use crate::concurrency::transactions::access::{
        Element, Place, Slot, attempt_load, attempt_store, load, store, try_load, try_store,
    };
}

/// The beginning and end of a transaction without a slow path.
pub mod transaction {
    pub use crate::concurrency::transactions::transaction::{try_begin, try_commit};
}

/// What processes of typed code do with each other.
pub mod processes {
    pub use crate::concurrency::processes::{
        Waited, accept, accepted, choice, done, end_of, fall, faults, forks, give_way,
        make_barrier, make_channel, meet, notably, now, poison, read, registers, sleep, spawn,
        synchronize, write,
    };
}

/// Strands that go on in the place of others.
pub mod switches {
    pub use crate::concurrency::worker::Answer;
}

/// Channels of objects.
pub mod channels {
    pub use crate::concurrency::channels::release;
}

/// Barriers and buckets.
pub mod locks {
    pub use crate::concurrency::locks::{enrol, make, signal_all};
}
