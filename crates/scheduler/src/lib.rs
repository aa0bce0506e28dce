//! The scheduler of Squall: it decides which native thread runs which item, and when. The runtime makes one scheduler, and
//! its native threads join it as workers.
//!
//! A *worker* is a native thread that runs *items*. An item is a small value that the runtime pushes and takes; the
//! scheduler does not know its meaning. The runtime drives: its workers ask for the next item, run it, and park when
//! there is none.
//!
//! ```text
//!    push_next ─▶ [next slot]──┐
//!    push ──────▶ [queue] ─────┼─▶ try_next        a worker
//!                    │ steal   │
//!    inject ────▶ [injector] ──┘                   shared by all workers
//!                                 park             a worker without items waits here
//!    hand_to ───▶ [inbox] ──────▶ try_next        a bound worker
//!    timers ────▶ timer_due                        the monitor: timers, slices, help
//! ```
//!
//! The modules, from the lowest to the highest; a module imports only modules above it in this table:
//!
//! | module | contents |
//! |---|---|
//! | `sync`, `worker_id`, `options`, `hooks` | primitives; the numbers of workers; the embedder's choices; the calls to the runtime |
//! | `clock`, `timers` | time and deadlines |
//! | `outside`, `watch`, `gate` | the words that a worker shares with the monitor; the monitor's sleep |
//! | `parking` | waiting for work without losing a wake-up; stalls |
//! | `inbox` | the items that one bound worker alone may run |
//! | `seeded` | a seeded run: the ready items, the generator, the baton and its succession |
//! | `policies` | the pools of the policies other than stealing |
//! | `scheduler` | the state that all workers share; the monitor |
//! | `worker` | a worker: its queue, its next slot, its search for the items of other workers |
//!
//! `docs/internals/scheduler.md` has the reasons.

#![forbid(unsafe_code)]

mod clock;
mod gate;
mod hooks;
mod inbox;
mod options;
mod outside;
mod parking;
mod policies;
mod scheduler;
mod seeded;
mod sync;
#[cfg(all(test, not(feature = "loom")))]
mod tests;
mod timers;
mod watch;
mod worker;
mod worker_id;

pub use hooks::Hooks;
pub use options::{Policy, SchedulerOptions};
pub use outside::Return;
pub use parking::Parked;
pub use scheduler::Scheduler;
pub use seeded::Laying;
pub use timers::TimerId;
pub use worker::Worker;
pub use worker_id::WorkerId;
