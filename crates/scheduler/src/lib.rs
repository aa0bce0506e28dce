//! The scheduler of Squall: which native thread runs what, and when.
//!
//! A *worker* is a native thread that runs *items*. What an item is, the scheduler does not know: it
//! is a small value that the runtime pushes and takes. The runtime drives: its workers ask
//! for the next item, run it, and park when there is none.
//!
//! ```text
//!    push_next ─▶ [next slot]──┐
//!    push ──────▶ [queue] ─────┼─▶ try_next        a worker
//!                    │ steal   │
//!    inject ────▶ [injector] ──┘                   shared by all
//!                                 park             where a worker without work waits
//!    hand_to ───▶ [inbox] ──────▶ try_next        a bound worker
//!    timers ────▶ timer_due                        the monitor: timers, slices, who needs help
//! ```
//!
//! | module | what it is about |
//! |---|---|
//! | [`options`](SchedulerOptions), [`hooks`](Hooks) | what the embedder chooses and what the runtime is asked |
//! | `scheduler` | what all workers share; what any thread may do |
//! | `worker`, `search` | a worker: its queue, its next slot, looking for work elsewhere |
//! | `policies` | other places for ready items than slots and queues: [pools](Policy) |
//! | `bound`, `inbox` | native threads that run only what is handed to them |
//! | `seeded`, `decisions` | a seeded run: what is ready, and the generator |
//! | `relay`, `keeper` | a seeded run: the baton, which is both, and who has it |
//! | `parking` | waiting for work without losing a wake-up; stalls |
//! | `watch`, `gate`, `monitor` | slices, help and timers, by a thread that sleeps when it can |
//! | `outside` | items in foreign code, and who takes over |
//! | `timers`, `clock` | deadlines and time |
//!
//! `docs/internals/scheduler.md` has the reasons.

#![forbid(unsafe_code)]

mod bound;
mod clock;
mod decisions;
mod gate;
mod hooks;
mod inbox;
mod keeper;
mod monitor;
mod options;
mod outside;
mod parking;
mod policies;
mod relay;
mod scheduler;
mod search;
mod seeded;
mod sync;
#[cfg(all(test, not(feature = "loom")))]
mod tests;
mod timers;
mod watch;
mod worker;

pub use hooks::Hooks;
pub use keeper::Laying;
pub use options::{SchedulerOptions, WorkerId};
pub use outside::Return;
pub use policies::Policy;
pub use scheduler::Scheduler;
pub use timers::TimerId;
pub use worker::{Parked, Worker};
